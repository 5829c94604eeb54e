//! One test for each promise of the crate's page "What is guaranteed", in the order of that page. Each is thin: the other themes
//! show a promise under every fault. What it shows here is that the promise stands or falls with the line that keeps it.
//!
//! The documentation of each test names that line. `mutants/run` takes it out, and shows that the test fails then.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

mod bounded;
mod everywhere;
mod exclusion;
mod fencing;
mod holding;
mod lines;
mod queue;
mod reentry;
mod release;
mod rights;
mod several;
mod sharing;
mod stopped;
mod unlocked;

use std::time::Duration;

use lockruntime::LockManager;
use tests::{RedisServer, timing};

/// Far less than what happens without the line, and more than a busy machine takes. How fast it is elsewhere is measured there.
fn soon() -> Duration {
    timing::millis(3_000)
}

/// Waits until so many tickets stand in the queue of `key`.
async fn until_waiting(locks: &LockManager, key: &str, count: usize) {
    timing::soon("the tickets stand in the queue", async {
        while locks.snapshot(key).await.unwrap().waiting.len() != count {
            timing::pass(timing::tick()).await;
        }
    })
    .await;
}

/// A manager whose locks outlive the test: what goes was given back.
fn long_lived(server: &RedisServer) -> LockManager {
    server
        .manager_builder()
        .lease(timing::long_lease())
        .build()
        .unwrap()
}
