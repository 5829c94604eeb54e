//! `lockctl`: what it shows, what it does, and how it ends.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

mod inspecting;
mod program;
mod releasing;
mod servers;
mod topologies;

use lockruntime::{LockGuard, LockManager};
use tests::timing;
use tokio::task::JoinHandle;

/// Somebody who waits for `key`, and is seen in its queue.
async fn waiter(locks: &LockManager, key: &'static str) -> JoinHandle<LockGuard> {
    let before = locks.snapshot(key).await.unwrap().waiting.len();
    let waiting = locks.clone();
    let task = tokio::spawn(async move {
        waiting
            .lock(key)
            .name_of("tests::wait")
            .acquire()
            .await
            .unwrap()
    });
    while locks.snapshot(key).await.unwrap().waiting.len() == before {
        timing::pass(timing::millis(2)).await;
    }
    task
}
