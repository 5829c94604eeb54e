//! `crate` is a path, and one that leads somewhere.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", crate = "lockruntime")]
async fn quoted(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", crate = 3)]
async fn number(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", crate = nowhere::locks)]
async fn nowhere(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(quoted(1));
    drop(number(1));
    drop(nowhere(1));
}
