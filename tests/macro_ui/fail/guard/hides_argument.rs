//! The guard's name would hide an argument.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a:<id>", guard = id)]
async fn pay(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", guard = left)]
async fn pattern((left, right): (u64, u64)) -> Answer {
    Ok(())
}

fn main() {
    drop((pay(1), pattern((1, 2))));
}
