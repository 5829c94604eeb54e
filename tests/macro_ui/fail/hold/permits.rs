//! Permits are counted, one at least; readers aren't.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a", permits = 0)]
async fn none(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", permits = "3")]
async fn quoted(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", permits = id)]
async fn other_type(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", permits = 3, access = "read")]
async fn with_access(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(none(1));
    drop(quoted(1));
    drop(other_type(1));
    drop(with_access(1));
}
