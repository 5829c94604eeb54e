//! A minimum is no longer than a day, and no longer than the cap.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a", min_hold = "0s")]
async fn zero(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", min_hold = "25h")]
async fn too_long(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", max_hold = "1s", min_hold = "2s")]
async fn over_the_cap(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(zero(1));
    drop(too_long(1));
    drop(over_the_cap(1));
}
