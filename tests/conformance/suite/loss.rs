//! Keeping the lock for long, and losing it.

use std::sync::Arc;

use lockruntime::{LockError, LossReason};
use tests::timing;

use super::{Log, Place, Scene};

/// Ten leases long, with a rival queued throughout: the same token, held to the end.
pub(crate) async fn renewal_past_many_leases<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let lease = timing::millis(200);
    let guard = manager
        .lock(&scene.key)
        .lease(lease)
        .acquire()
        .await
        .unwrap();
    let rival = tokio::spawn({
        let key = scene.key.clone();
        async move { other.lock(&key).acquire().await }
    });
    scene.until_waiting(&manager, 1).await;
    for _ in 0..10 {
        timing::pass(lease).await;
        assert!(guard.is_held() && guard.remaining() <= lease);
        let held = manager.snapshot(&scene.key).await.unwrap().held.unwrap();
        assert_eq!(
            (held.owner, held.token),
            (guard.owner_token(), guard.fencing_token())
        );
        assert!(!rival.is_finished());
    }
    let token = guard.fencing_token();
    guard.release().await.unwrap();
    let rival = timing::soon("the rival enters", rival)
        .await
        .unwrap()
        .unwrap();
    assert!(rival.fencing_token() > token);
    rival.release().await.unwrap();
    scene.end(0).await;
}

/// Out of reach for longer than the lease: the body is stopped before the rival enters, and the call says so.
pub(crate) async fn lost_lease<P: Place>(scene: Scene<P>) {
    let (fragile, link) = scene.place.fragile();
    let other = scene.place.manager();
    let log = Arc::new(Log::default());
    let task = tokio::spawn({
        let (key, log) = (scene.key.clone(), Arc::clone(&log));
        async move {
            let body = async {
                log.note("first");
                loop {
                    timing::pass(timing::millis(1)).await;
                    log.note("first");
                }
            };
            fragile.lock(&key).run(body).await
        }
    });
    let begun = || !log.all().is_empty();
    timing::until("the body begins", timing::patience(), begun).await;
    link.cut();
    let second = timing::soon(
        "the rival enters",
        other.lock(&scene.key).run(async { log.note("second") }),
    )
    .await;
    second.unwrap();
    let error: LockError = timing::soon("the call returns", task)
        .await
        .unwrap()
        .map(|(): ()| ())
        .unwrap_err();
    assert!(
        matches!(
            error,
            LockError::Lost {
                reason: LossReason::LeaseOver,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.is_lost() && !error.is_busy());
    let log = log.all();
    assert_eq!(log.last().unwrap(), "second");
    assert_eq!(log.iter().filter(|line| *line == "second").count(), 1);
    link.heal();
    scene.end(1).await;
}

/// A holder whose lock is another's by now changes nothing when it gives back.
pub(crate) async fn owner_check<P: Place>(scene: Scene<P>) {
    let (fragile, link) = scene.place.fragile();
    let other = scene.place.manager();
    let guard = fragile.lock(&scene.key).acquire().await.unwrap();
    let another = fragile.lock(&scene.key);
    let waiting = another.clone().wait(timing::moment());
    assert!(waiting.acquire().await.unwrap_err().is_busy());
    link.cut();
    let second = timing::soon("the lease ends", other.lock(&scene.key).acquire())
        .await
        .unwrap();
    assert!(second.fencing_token() > guard.fencing_token() && !guard.is_held());
    link.heal();
    let error = guard.release().await.unwrap_err();
    assert!(error.is_lost(), "{error}");
    let held = other.snapshot(&scene.key).await.unwrap().held.unwrap();
    assert_eq!(
        (held.owner, held.token),
        (second.owner_token(), second.fencing_token())
    );
    assert!(second.is_held() && another.try_acquire().await.unwrap_err().is_busy());
    second.release().await.unwrap();
    scene.end(1).await;
}

/// The guard tells its holder.
pub(crate) async fn guard_learns_of_the_loss<P: Place>(scene: Scene<P>) {
    let (fragile, link) = scene.place.fragile();
    let guard = fragile.lock(&scene.key).acquire().await.unwrap();
    link.cut();
    let start = std::time::Instant::now();
    assert_eq!(
        timing::soon("the guard learns of it", guard.lost()).await,
        LossReason::LeaseOver
    );
    assert!(
        start.elapsed() < timing::lease() + timing::moment(),
        "{:?}",
        start.elapsed()
    );
    assert!(!guard.is_held() && guard.remaining().is_zero());
    link.heal();
    drop(guard);
    scene.end(1).await;
}
