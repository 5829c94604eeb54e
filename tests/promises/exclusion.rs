//! Per key, no two bodies run at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tests::{RedisServer, tidy, timing};
use tokio::task::JoinSet;

use super::long_lived;

/// Two managers, both modes, tight loops: nobody meets anybody inside.
///
/// Taken out, in `ask.lua`: `redis.call('EXISTS', L, Q) == 0`, the look whether somebody has the lock or waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_body_at_a_time() {
    let server = RedisServer::start();
    let managers = [long_lived(&server), long_lived(&server)];
    let inside = Arc::new(AtomicBool::new(false));
    let bodies = Arc::new(AtomicU64::new(0));
    let mut callers = JoinSet::new();
    for caller in 0..8 {
        let locks = managers[caller % 2].clone();
        let (inside, bodies) = (Arc::clone(&inside), Arc::clone(&bodies));
        callers.spawn(async move {
            for _ in 0..25 {
                let lock = locks.lock("boleto:exclusion");
                let guard = if caller < 4 {
                    lock.acquire().await.unwrap()
                } else {
                    match lock.try_acquire().await {
                        Ok(guard) => guard,
                        Err(error) if error.is_busy() => continue,
                        Err(error) => panic!("{error}"),
                    }
                };
                assert!(!inside.swap(true, Ordering::SeqCst), "two bodies at once");
                timing::pass(timing::micros(300)).await;
                inside.store(false, Ordering::SeqCst);
                bodies.fetch_add(1, Ordering::SeqCst);
                guard.release().await.unwrap();
            }
        });
    }
    timing::soon("all had their turns", callers.join_all()).await;
    assert!(bodies.load(Ordering::SeqCst) >= 100);
    tidy::end(&server, "boleto:exclusion", timing::lease(), 0).await;
}
