//! Where the body may not run there may be no value: each type without room for that says what to write.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Count = u64;

#[distributed_lock(key = "a", mode = "skip")]
async fn count(id: u64) -> u64 {
    id
}

#[distributed_lock(key = "a", mode = "skip")]
async fn alias(id: u64) -> Count {
    id
}

#[distributed_lock(key = "a", mode = "skip")]
async fn fallible(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[distributed_lock(key = "a", mode = "skip")]
async fn never(id: u64) -> ! {
    std::future::pending().await
}

#[distributed_lock(key = "a", mode = "skip")]
async fn opaque(id: u64) -> impl std::fmt::Display {
    id
}

fn main() {
    drop(count(1));
    drop(alias(1));
    drop(fallible(1));
    drop(never(1));
    drop(opaque(1));
}
