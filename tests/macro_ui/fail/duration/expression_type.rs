//! An expression is a `Duration`.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", lease = id + 30)]
async fn integer(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", wait = Some(std::time::Duration::ZERO))]
async fn optional(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(integer(1));
    drop(optional(1));
}
