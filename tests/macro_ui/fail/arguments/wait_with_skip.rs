//! A skipped call never waits, and never queues.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

#[distributed_lock(key = "a", wait = "5s", mode = "skip")]
async fn waits(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(key = "a", mode = "skip", max_waiters = 3)]
async fn queues(id: u64) {}

fn main() {
    drop(waits(1));
    drop(queues(1));
}
