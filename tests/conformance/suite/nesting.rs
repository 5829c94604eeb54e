//! A nested body runs under its outer one's lock, and not a poll longer.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockruntime::{LockError, LockManager, LossReason, OnLost};
use tests::timing;
use tokio::sync::Notify;

use super::{Place, Scene};

#[track_caller]
fn assert_lost(error: &LockError, reason: LossReason, key: &str) {
    assert!(
        matches!(error, LockError::Lost { reason: told, .. } if *told == reason),
        "{error:?}"
    );
    assert_eq!(error.key(), key);
}

/// A call that has begun its body, and has to be polled for the rest.
async fn begun<T>(
    manager: &LockManager,
    keys: Vec<String>,
    body: impl Future<Output = T>,
) -> impl Future<Output = Result<T, LockError>> {
    let begun = Arc::new(Notify::new());
    let mut call = Box::pin({
        let (manager, begun) = (manager.clone(), Arc::clone(&begun));
        async move {
            let body = async {
                begun.notify_one();
                body.await
            };
            match &keys[..] {
                [key] => manager.lock(key).run(body).await,
                keys => {
                    let call = manager.lock_all(keys.iter().map(String::as_str));
                    call.run(body).await
                }
            }
        }
    });
    tokio::select! {
        biased;
        _ = &mut call => panic!("its body isn't over"),
        () = begun.notified() => call,
    }
}

/// A nested call that was moved out of its outer body is stopped before the poll that would be beside the next holder, also
/// where it has a lock of its own besides.
pub(crate) async fn outlives_its_outer<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let own = format!("{}:own", scene.key);
    for keys in [
        vec![scene.key.clone()],
        vec![own.clone(), scene.key.clone()],
    ] {
        let (go, ran) = (Notify::new(), AtomicBool::new(false));
        let body = async {
            go.notified().await;
            ran.store(true, Ordering::SeqCst);
        };
        let outer = begun(&manager, keys, body);
        let nested = manager.lock(&scene.key).run(outer).await.unwrap();
        let next = timing::soon("the next one enters", other.lock(&scene.key).acquire());
        let next = next.await.unwrap();
        go.notify_one();
        let error = timing::soon("it is stopped", nested).await.unwrap_err();
        assert_lost(&error, LossReason::GivenBack, &scene.key);
        assert!(!ran.load(Ordering::SeqCst), "it ran beside the next one");
        assert!(next.is_held());
        next.release().await.unwrap();
        let own = timing::soon("its own is given back", other.lock(&own).acquire());
        own.await.unwrap().release().await.unwrap();
    }
    scene.end(0).await;
}

/// The outer body gives its lock back while nested calls run, and wait for their turn, beside it.
pub(crate) async fn given_back_meanwhile<P: Place>(scene: Scene<P>) {
    let manager = scene.place.manager();
    let nested = || manager.lock(&scene.key).run(pending::<()>());
    let body = async {
        let hold = lockruntime::current().unwrap();
        let keys = vec![scene.key.clone()];
        let running = begun(&manager, keys, pending::<()>()).await;
        tokio::join!(running, nested(), hold.release())
    };
    let call = manager.lock(&scene.key).run(body);
    let (running, waiting, released) = timing::soon("both are stopped", call).await.unwrap();
    released.unwrap();
    for error in [running.unwrap_err(), waiting.unwrap_err()] {
        assert_lost(&error, LossReason::GivenBack, &scene.key);
    }
    scene.end(0).await;
}

/// An outer body that is to run on after a loss does; what it calls under the lock doesn't.
pub(crate) async fn lost_under_a_body_that_runs_on<P: Place>(scene: Scene<P>) {
    let (fragile, link) = scene.place.fragile();
    let body = async {
        let keys = vec![scene.key.clone()];
        let nested = begun(&fragile, keys, pending::<()>()).await;
        link.cut();
        let error = nested.await.unwrap_err();
        link.heal();
        error
    };
    let call = fragile.lock(&scene.key).on_lost(OnLost::Continue).run(body);
    let error = timing::soon("the nested one is stopped", call).await;
    assert_lost(&error.unwrap(), LossReason::LeaseOver, &scene.key);
    scene.end(1).await;
}
