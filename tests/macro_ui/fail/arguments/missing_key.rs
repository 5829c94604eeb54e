//! Without a key there is nothing to lock.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock]
async fn bare(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock()]
async fn empty() -> Answer {
    Ok(())
}

#[distributed_lock(lease = "30s")]
async fn others(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(bare(1));
    drop(empty());
    drop(others(1));
}
