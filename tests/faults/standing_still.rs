//! A waiter whose task stands still (its runtime is blocked, or its task waits for something else first) is given the lock and
//! doesn't take it. That may keep others out for as long as a grant lasts, not for as long as it stands still.

use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use lockruntime::LockManager;
use lockruntime::backend::memory::MemoryBackend;
use tests::server::RedisServer;
use tests::timing;

/// A future's first step, after which nobody looks at it any more.
fn begin<F: Future>(future: Pin<&mut F>) {
    let begun = future.poll(&mut Context::from_waker(Waker::noop()));
    assert!(begun.is_pending(), "the lock is held by another");
}

async fn until_waiting(locks: &LockManager, count: usize) {
    timing::soon("the tickets stand in the queue", async {
        while locks.snapshot("k").await.expect("an answer").waiting.len() != count {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// `still` gets the turn after the holder and doesn't take it; `next` must enter within `limit`.
async fn is_passed_over(still: &LockManager, next: &LockManager, limit: Duration) {
    let holder = next.lock("k").acquire().await.expect("the lock is free");
    let mut stands_still = Box::pin(still.lock("k").acquire());
    begin(stands_still.as_mut());
    until_waiting(next, 1).await;
    let call = {
        let next = next.clone();
        tokio::spawn(async move { next.lock("k").acquire().await })
    };
    until_waiting(next, 2).await;
    holder.release().await.expect("the lock is held");
    let entered = tokio::time::timeout(limit, call).await;
    let seen = next.snapshot("k").await;
    assert!(entered.is_ok(), "kept out for {limit:?}: {seen:?}");
    drop(stands_still);
}

/// In one process the hand-over is for the whole lease.
fn within_a_process() -> Duration {
    timing::lease() + timing::heartbeat() * 2 + timing::moment()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_passed_over_in_its_own_process() {
    let redis = RedisServer::start();
    let locks = redis.manager();
    is_passed_over(&locks, &locks, within_a_process()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_passed_over_in_memory() {
    let locks = LockManager::builder()
        .backend(MemoryBackend::new())
        .lease(timing::lease())
        .heartbeat(timing::heartbeat())
        .grace(timing::grace())
        .build()
        .expect("valid settings");
    is_passed_over(&locks, &locks, within_a_process()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_costs_another_process_one_grace() {
    let redis = RedisServer::start();
    let limit = timing::grace() + timing::heartbeat() * 2 + timing::moment();
    is_passed_over(&redis.manager(), &redis.manager(), limit).await;
}
