//! A release is awaited, or handed over.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a", release = "await")]
async fn other(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", release = true)]
async fn switch(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(other(1));
    drop(switch(1));
}
