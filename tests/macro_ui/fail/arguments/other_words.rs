//! Words of other libraries are told with ours.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", timeout = "5s")]
async fn timeout(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", ttl = "30s")]
async fn ttl(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(resource = "a")]
async fn resource(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(name = "a")]
async fn name(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", wait_timeout = "5s")]
async fn wait_timeout(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(timeout(1));
    drop(ttl(1));
    drop(resource(1));
    drop(name(1));
    drop(wait_timeout(1));
}
