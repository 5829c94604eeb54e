//! A path that isn't there is told where it stands.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", or_else = busy)]
async fn pay(id: u64) -> u64 {
    id
}

fn main() {
    drop(pay(1));
}
