//! `or_else` gives what the function returns.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

fn busy(_: LockError) -> String {
    String::new()
}

#[distributed_lock(key = "a", or_else = busy)]
async fn path(id: u64) -> u64 {
    id
}

#[distributed_lock(key = "a", or_else = |error| error.to_string())]
async fn closure(id: u64) -> u64 {
    id
}

fn main() {
    drop((path(1), closure(1)));
}
