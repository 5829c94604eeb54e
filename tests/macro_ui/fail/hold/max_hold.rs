//! A cap is a duration that some body fits in.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a", max_hold = "0s")]
async fn zero(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", max_hold = "5")]
async fn no_unit(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", max_hold = 5)]
async fn number(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", max_hold = id)]
async fn no_duration(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(zero(1));
    drop(no_unit(1));
    drop(number(1));
    drop(no_duration(1));
}
