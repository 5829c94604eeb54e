//! One at a time, and who is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lockruntime::LockError;
use tests::timing;
use tokio::task::JoinSet;

use super::{Place, Scene};

/// Two managers, ten tasks each, ten rounds each: one body at a time, and no update lost.
pub(crate) async fn exclusion<P: Place>(scene: Scene<P>) {
    let (inside, balance) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut tasks = JoinSet::new();
    for manager in [scene.place.manager(), scene.place.manager()] {
        for _ in 0..10 {
            let (manager, key, inside, balance) = (
                manager.clone(),
                scene.key.clone(),
                Arc::clone(&inside),
                Arc::clone(&balance),
            );
            tasks.spawn(async move {
                for _ in 0..10 {
                    let body = async {
                        assert_eq!(
                            inside.fetch_add(1, Ordering::SeqCst),
                            0,
                            "another body runs"
                        );
                        let before = balance.load(Ordering::SeqCst);
                        timing::pass(timing::micros(300)).await;
                        balance.store(before + 1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    };
                    manager.lock(&key).run(body).await.unwrap();
                }
            });
        }
    }
    timing::soon("all are through", tasks.join_all()).await;
    assert_eq!(balance.load(Ordering::SeqCst), 200);
    scene.end(0).await;
}

/// Tokens grow from grant to grant, over managers and over the time when nobody holds the lock.
pub(crate) async fn fencing_order<P: Place>(scene: Scene<P>) {
    let managers = [scene.place.manager(), scene.place.manager()];
    let mut last = 0;
    for round in 0..20 {
        let guard = managers[round % 2]
            .lock(&scene.key)
            .acquire()
            .await
            .unwrap();
        let token = guard.fencing_token().get();
        assert!(token > last, "{token} after {last}");
        last = token;
        guard.release().await.unwrap();
    }
    scene.end(0).await;
}

/// A reject caller is refused at once, without having run, and gets in when the lock is free.
pub(crate) async fn reject<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let guard = manager.lock(&scene.key).acquire().await.unwrap();
    for manager in [&manager, &other] {
        let error = manager.lock(&scene.key).try_acquire().await.unwrap_err();
        let LockError::Busy { remaining, .. } = &error else {
            panic!("{error}")
        };
        assert!(
            remaining.is_some_and(|left| left <= timing::lease()),
            "{remaining:?}"
        );
        assert!(error.is_busy() && error.is_retryable() && !error.is_lost());
        assert_eq!(error.key(), scene.key);
    }
    guard.release().await.unwrap();
    other
        .lock(&scene.key)
        .try_acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    scene.end(0).await;
}

/// While somebody waits, a reject caller is refused, whoever holds the lock.
pub(crate) async fn reject_behind_a_live_queue<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let guard = manager.lock(&scene.key).acquire().await.unwrap();
    let waiter = tokio::spawn({
        let (other, key) = (other.clone(), scene.key.clone());
        async move { other.lock(&key).acquire().await }
    });
    scene.until_waiting(&manager, 1).await;
    guard.release().await.unwrap();
    // handed over, whether or not the waiter knows already
    assert!(
        manager
            .lock(&scene.key)
            .try_acquire()
            .await
            .unwrap_err()
            .is_busy()
    );
    timing::soon("the waiter enters", waiter)
        .await
        .unwrap()
        .unwrap()
        .release()
        .await
        .unwrap();
    scene.assert_free(&manager).await;
    scene.end(0).await;
}

/// A skip caller doesn't run while somebody has the lock or waits for it, and runs when it is free.
pub(crate) async fn skip<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let skips = async || {
        let skipped = manager
            .lock(&scene.key)
            .run_or_skip(async {})
            .await
            .unwrap();
        assert!(skipped.is_none());
    };
    let guard = other.lock(&scene.key).acquire_or_skip().await.unwrap();
    let guard = guard.expect("nobody has it");
    skips().await;
    let waiter = tokio::spawn({
        let (other, key) = (other.clone(), scene.key.clone());
        async move { other.lock(&key).acquire().await }
    });
    scene.until_waiting(&manager, 1).await;
    skips().await;
    guard.release().await.unwrap();
    let waited = timing::soon("the waiter enters", waiter).await;
    waited.unwrap().unwrap().release().await.unwrap();
    let ran = manager.lock(&scene.key).run_or_skip(async { 7 }).await;
    assert_eq!(ran.unwrap(), Some(7));
    scene.end(0).await;
}

/// Another key is another lock.
pub(crate) async fn different_keys<P: Place>(scene: Scene<P>) {
    let manager = scene.place.manager();
    let guard = manager.lock(&scene.key).acquire().await.unwrap();
    let another = manager
        .lock(&format!("{}:2", scene.key))
        .try_acquire()
        .await
        .unwrap();
    another.release().await.unwrap();
    guard.release().await.unwrap();
    scene.end(0).await;
}
