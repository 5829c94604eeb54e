//! Permits, readers and writers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tests::{RedisServer, tidy, timing};
use tokio::task::JoinSet;

use super::{long_lived, until_waiting};

/// Twelve callers of two managers, three permits: three bodies at once, and never more.
///
/// Taken out, in `shared/prelude.lua`: `redis.call('ZCARD', H) < limit` in `fits`, how many hold the lock already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_bodies_than_permits() {
    let server = RedisServer::start();
    let managers = [long_lived(&server), long_lived(&server)];
    let key = "boleto:permits";
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut callers = JoinSet::new();
    for caller in 0..12 {
        let locks = managers[caller % 2].clone();
        let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
        callers.spawn(async move {
            let body = async {
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                timing::pass(timing::millis(20)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
            };
            locks.lock(key).permits(3).run(body).await.unwrap();
        });
    }
    timing::soon("all are through", callers.join_all()).await;
    assert_eq!(most.load(Ordering::SeqCst), 3);
    tidy::end(&server, key, timing::lease(), 0).await;
}

/// Readers hold the lock, one after the other, without an end: a writer that waits enters all the same, since the readers that come
/// after it wait behind it.
///
/// Taken out, in `shared/ask.lua`: `(not first or first == me)`, whether it is this caller's turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_writer_is_not_passed() {
    let server = RedisServer::start();
    let locks = long_lived(&server);
    let key = "boleto:writer";
    let reader = locks.lock(key).read().acquire().await.unwrap();
    let writer = tokio::spawn({
        let locks = locks.clone();
        async move { locks.lock(key).write().acquire().await }
    });
    until_waiting(&locks, key, 1).await;
    let slips = locks.lock(key).read().try_acquire().await;
    assert!(
        slips.unwrap_err().is_busy(),
        "it could share with the reader"
    );
    reader.release().await.unwrap();
    let writer = timing::soon("the writer enters", writer).await;
    writer.unwrap().unwrap().release().await.unwrap();
    tidy::end(&server, key, timing::lease(), 0).await;
}
