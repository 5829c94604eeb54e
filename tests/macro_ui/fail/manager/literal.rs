//! `manager` is an expression.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", manager = "self.locks")]
async fn quoted(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", manager = "redis://localhost")]
async fn url(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", manager = 3)]
async fn number(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop((quoted(1), url(1), number(1)));
}
