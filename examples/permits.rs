//! At most two scans at a time, over all processes.
//!
//! ```text
//! cargo run -p examples --example permits
//! LOCK_URL=redis://127.0.0.1:6379 cargo run -p examples --example permits
//! ```
//!
//! The scanner's licence allows two scans. Six documents arrive at once: two are scanned, the others wait in the order in which they
//! came. With `LOCK_URL`, copies of this program share the two.

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lockruntime::{LockError, LockManager, distributed_lock};

const LICENSED: u32 = 2;

static RUNNING: AtomicU32 = AtomicU32::new(0);

#[distributed_lock(key = "scanner:<scanner>", permits = LICENSED)]
async fn scan(scanner: &str, document: u32) -> Result<(), LockError> {
    let running = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
    say(&format!(
        "document {document} is scanned, {running} at the same time"
    ));
    tokio::time::sleep(Duration::from_millis(80 + 20 * u64::from(document))).await;
    RUNNING.fetch_sub(1, Ordering::SeqCst);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let locks = match std::env::var_os("LOCK_URL") {
        Some(_) => LockManager::from_env()?,
        None => LockManager::memory(),
    };
    locks.install()?;
    let scan = |document| scan("east", document);
    tokio::try_join!(scan(1), scan(2), scan(3), scan(4), scan(5), scan(6))?;

    // whoever counts otherwise is told so, instead of scanning beside too many others
    let _held = locks
        .lock("scanner:east")
        .permits(LICENSED)
        .acquire()
        .await?;
    match locks.lock("scanner:east").permits(5).acquire().await {
        Err(error @ LockError::PermitsDiffer { .. }) => say(&error.to_string()),
        outcome => return Err(format!("five permits beside two: {outcome:?}").into()),
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the program shows what happens")]
fn say(line: &str) {
    println!("{line}");
}
