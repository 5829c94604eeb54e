//! A slip is told with the word that was meant.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", leese = "30s")]
async fn lease(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(Key = "a")]
async fn key(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", mdoe = "queue")]
async fn mode(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(lease(1));
    drop(key(1));
    drop(mode(1));
}
