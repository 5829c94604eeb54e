//! `or_else` takes a `LockError`.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

fn busy(status: u16) -> u64 {
    u64::from(status)
}

#[distributed_lock(key = "a", or_else = busy)]
async fn path(id: u64) -> u64 {
    id
}

#[distributed_lock(key = "a", or_else = || 0)]
async fn closure(id: u64) -> u64 {
    id
}

fn main() {
    drop((path(1), closure(1)));
}
