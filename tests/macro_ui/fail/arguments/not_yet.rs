//! Arguments of a later version are refused, never ignored.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", permits = 3)]
async fn permits(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", access = "read")]
async fn access(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(permits(1));
    drop(access(1));
}
