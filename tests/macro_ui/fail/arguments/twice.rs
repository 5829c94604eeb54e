//! An argument is given once.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", key = "b")]
async fn key(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(lease = "1s", key = "a", lease = "2s")]
async fn lease(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(key(1));
    drop(lease(1));
}
