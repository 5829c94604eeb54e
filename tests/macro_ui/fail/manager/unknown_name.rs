//! A name that isn't there is told where it stands.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", manager = locks)]
async fn pay(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(pay(1));
}
