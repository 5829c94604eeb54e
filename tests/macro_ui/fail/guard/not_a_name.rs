//! `guard` is a name.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", guard = "hold")]
async fn quoted(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", guard = true)]
async fn literal(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", guard = _)]
async fn wild(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", guard = mut hold)]
async fn pattern(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", guard = locks::hold)]
async fn path(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", guard = self)]
async fn keyword(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop((quoted(1), literal(1), wild(1), pattern(1), path(1), keyword(1)));
}
