//! Turns, limits, and leaving the queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lockruntime::LockError;
use tests::timing;
use tokio::task::JoinSet;

use super::{Log, Place, Scene};

/// Waiters of two managers enter in the order in which they came.
pub(crate) async fn fifo<P: Place>(scene: Scene<P>) {
    let managers = [scene.place.manager(), scene.place.manager()];
    let log = Arc::new(Log::default());
    let guard = managers[0].lock(&scene.key).acquire().await.unwrap();
    let mut tasks = JoinSet::new();
    for place in 0..12 {
        let (manager, key, log) = (
            managers[place % 2].clone(),
            scene.key.clone(),
            Arc::clone(&log),
        );
        tasks.spawn(async move {
            let body = async {
                log.note(place.to_string());
                timing::pass(timing::millis(1)).await;
            };
            manager.lock(&key).run(body).await.unwrap();
        });
        scene.until_waiting(&managers[0], place + 1).await;
    }
    guard.release().await.unwrap();
    timing::soon("all are through", tasks.join_all()).await;
    assert_eq!(
        log.all(),
        (0..12).map(|place| place.to_string()).collect::<Vec<_>>()
    );
    scene.end(0).await;
}

/// The wait ends at its limit, not before; the body doesn't run, and no ticket stays.
pub(crate) async fn wait_limit<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let guard = manager.lock(&scene.key).acquire().await.unwrap();
    let (limit, ran, start) = (timing::millis(150), AtomicBool::new(false), Instant::now());
    let call = other
        .lock(&scene.key)
        .wait(limit)
        .run(async { ran.store(true, Ordering::SeqCst) });
    let error = timing::soon("the wait ends", call).await.unwrap_err();
    let took = start.elapsed();
    assert!(took >= limit && took < limit + timing::moment(), "{took:?}");
    let LockError::WaitTimedOut { waited, .. } = &error else {
        panic!("{error}")
    };
    assert!(
        *waited >= limit && *waited <= took,
        "{waited:?} of {took:?}"
    );
    assert!(error.is_busy() && !ran.load(Ordering::SeqCst));
    scene.until_waiting(&manager, 0).await;
    guard.release().await.unwrap();
    scene.end(0).await;
}

/// A wait of zero is one try: in if it is free, else out at once.
pub(crate) async fn no_wait<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let guard = manager
        .lock(&scene.key)
        .wait(Duration::ZERO)
        .acquire()
        .await
        .unwrap();
    let start = Instant::now();
    let error = other
        .lock(&scene.key)
        .wait(Duration::ZERO)
        .acquire()
        .await
        .unwrap_err();
    assert!(matches!(error, LockError::WaitTimedOut { .. }), "{error:?}");
    assert!(start.elapsed() < timing::moment(), "{:?}", start.elapsed());
    scene.until_waiting(&manager, 0).await;
    guard.release().await.unwrap();
    scene.end(0).await;
}

/// A waiter that is dropped gives its place back, and the next one doesn't notice.
pub(crate) async fn cancelled_waiter<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let guard = manager.lock(&scene.key).acquire().await.unwrap();
    let mut waiters = Vec::new();
    for count in 1..=2 {
        let (other, key) = (other.clone(), scene.key.clone());
        waiters.push(tokio::spawn(
            async move { other.lock(&key).acquire().await },
        ));
        scene.until_waiting(&manager, count).await;
    }
    waiters[0].abort();
    scene.until_waiting(&manager, 1).await;
    guard.release().await.unwrap();
    let second = waiters.pop().unwrap();
    timing::soon("the second enters", second)
        .await
        .unwrap()
        .unwrap()
        .release()
        .await
        .unwrap();
    scene.end(0).await;
}

/// Reject callers in a tight loop never get between the waiters.
pub(crate) async fn nobody_barges<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let log = Arc::new(Log::default());
    let guard = manager.lock(&scene.key).acquire().await.unwrap();
    let mut tasks = JoinSet::new();
    for place in 0..10 {
        let (other, key, log) = (other.clone(), scene.key.clone(), Arc::clone(&log));
        tasks.spawn(async move {
            let body = async {
                log.note("waiter");
                timing::pass(timing::millis(1)).await;
            };
            other.lock(&key).run(body).await.unwrap();
        });
        scene.until_waiting(&manager, place + 1).await;
    }
    let barger = tokio::spawn({
        let (manager, key, log) = (manager.clone(), scene.key.clone(), Arc::clone(&log));
        async move {
            let mut refused = 0;
            loop {
                match manager.lock(&key).try_acquire().await {
                    Ok(guard) => {
                        log.note("barger");
                        return (refused, guard.release().await.unwrap());
                    }
                    Err(error) => assert!(error.is_busy(), "{error}"),
                }
                refused += 1;
            }
        }
    });
    guard.release().await.unwrap();
    timing::soon("all waiters are through", tasks.join_all()).await;
    let (refused, ()) = timing::soon("the reject caller enters", barger)
        .await
        .unwrap();
    let mut expected = vec!["waiter"; 10];
    expected.push("barger");
    assert_eq!(log.all(), expected);
    assert!(refused > 0, "the reject caller never met the queue");
    scene.end(0).await;
}

/// Hand-overs between two managers are announced: twenty of them take far less than twenty waits for the next ask would.
pub(crate) async fn woken_at_once<P: Place>(scene: Scene<P>) {
    const HAND_OVERS: u32 = 20;
    let managers = [scene.place.manager(), scene.place.manager()];
    let guard = managers[1].lock(&scene.key).acquire().await.unwrap();
    let mut tasks = JoinSet::new();
    for place in 0..HAND_OVERS {
        let (manager, key) = (managers[place as usize % 2].clone(), scene.key.clone());
        tasks.spawn(async move { manager.lock(&key).run(async {}).await.unwrap() });
        scene.until_waiting(&managers[0], place as usize + 1).await;
    }
    let start = Instant::now();
    guard.release().await.unwrap();
    timing::soon("all are through", tasks.join_all()).await;
    let (took, bound) = (start.elapsed(), timing::heartbeat() * HAND_OVERS / 4);
    assert!(took < bound, "{took:?}, allowed are {bound:?}");
    scene.end(0).await;
}
