//! B92: a number without a unit is no duration.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", lease = 30)]
async fn integer(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = 1.5)]
async fn float(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = -30)]
async fn negative(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = true)]
async fn boolean(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", wait = '5')]
async fn character(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", wait = 5)]
async fn wait(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(integer(1));
    drop(float(1));
    drop(negative(1));
    drop(boolean(1));
    drop(character(1));
    drop(wait(1));
}
