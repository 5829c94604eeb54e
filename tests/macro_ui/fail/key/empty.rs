//! An empty key would lock everything.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "")]
async fn empty(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(empty(1));
}
