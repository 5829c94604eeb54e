//! Two values need a separator that values never hold.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "<a><b>")]
async fn adjacent(a: u64, b: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "<a>-<b>")]
async fn dash(a: u64, b: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(adjacent(1, 1));
    drop(dash(1, 1));
}
