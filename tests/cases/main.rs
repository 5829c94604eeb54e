//! Faults that other lock projects had reported to them, each as a test by the id it has in our list of cases.
//!
//! Every test ends with `tidy::end`: nothing of the lock's is left, nothing panicked, nothing warned that shouldn't.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

mod attribute;
mod bad_input;
mod causes;
mod cluster;
mod crowds;
mod exits;
mod holding;
mod loss;
mod names;
mod operating;
mod queueing;
mod quorum;
mod renewing;
mod resources;
mod sentinel;
mod server_states;
mod tls;
mod turns;
mod unknown_outcome;
mod watchdog;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lockruntime::{LockError, distributed_lock};

const HOLDER: &str = env!("CARGO_BIN_EXE_holder");

/// Counts how often the body ran.
#[distributed_lock(key = "boleto:<id>", mode = "queue", wait = "300ms")]
async fn count_in_turn(id: &str, count: Arc<AtomicU64>) -> Result<(), LockError> {
    count.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

/// The same in reject mode.
#[distributed_lock(key = "boleto:<id>", mode = "reject")]
async fn count_or_not(id: &str, count: Arc<AtomicU64>) -> Result<(), LockError> {
    count.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

/// The variant's name.
fn variant(error: &LockError) -> String {
    format!("{error:?}")
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect()
}
