//! `or_else` is an expression.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", or_else = "busy")]
async fn quoted(id: u64) -> u64 {
    id
}

#[distributed_lock(key = "a", or_else = 409)]
async fn number(id: u64) -> u64 {
    id
}

fn main() {
    drop((quoted(1), number(1)));
}
