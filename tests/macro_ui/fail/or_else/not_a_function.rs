//! `or_else` is a function.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", or_else = id)]
async fn value(id: u64) -> u64 {
    id
}

fn main() {
    drop(value(1));
}
