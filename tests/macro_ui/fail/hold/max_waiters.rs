//! The length of a queue is a number.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a", max_waiters = "3")]
async fn quoted(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", max_waiters = -3)]
async fn negative(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", max_waiters = id)]
async fn other_type(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", mode = "reject", max_waiters = 3)]
async fn with_reject(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(quoted(1));
    drop(negative(1));
    drop(other_type(1));
    drop(with_reject(1));
}
