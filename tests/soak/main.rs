//! Nothing grows: a process that has locked for long, or a great many keys, is as large as it was, and leaves nothing behind.
//!
//! Scaled in the short run; ten minutes and a million keys with `LOCK_TEST_LONG=1`. Memory is the process's own, so the tests
//! run one after the other.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

mod keys;
mod load;

use lockruntime::LockManager;
use tests::server::Raw;
use tests::wire::{APP, ENVIRONMENT};
use tests::{RedisServer, timing};
use tokio::sync::{Mutex, MutexGuard};

/// Held while a test looks at the memory of the process.
async fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::const_new(());
    ALONE.lock().await
}

/// A manager whose warnings nobody keeps, as the kit's listener does: their list would grow. Its
/// leases and waits outlast a machine that stands still for a while.
fn quiet(server: &RedisServer, protocol: u32) -> LockManager {
    let names = format!("app={APP}&env={ENVIRONMENT}");
    let url = format!("redis://{}?{names}&protocol={protocol}", server.address());
    LockManager::builder()
        .url(&url)
        .lease(timing::long_lease())
        .wait(timing::patience())
        .heartbeat(timing::heartbeat())
        .grace(timing::grace())
        .build()
        .unwrap()
}

/// What a server knows of its clients, ours left out: connections, and channels with a subscription.
fn clients(raw: &Raw) -> (usize, usize) {
    let list: String = raw.run(&["CLIENT", "LIST"]);
    let channels: Vec<String> = raw.run(&["PUBSUB", "CHANNELS"]);
    (list.lines().count() - 1, channels.len())
}

/// No task is left in this runtime; the test itself is none. One that was joined may yet be on its way out.
async fn no_tasks() {
    let metrics = tokio::runtime::Handle::current().metrics();
    timing::until("no task is left", timing::patience(), || {
        metrics.num_alive_tasks() == 0
    })
    .await;
}
