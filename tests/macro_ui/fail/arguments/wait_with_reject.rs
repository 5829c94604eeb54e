//! A rejected call never waits: one error that names both.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", wait = "5s", mode = "reject")]
async fn before(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", mode = "reject", wait = "5s")]
async fn after(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(before(1));
    drop(after(1));
}
