//! What is on or off is `true` or `false`.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a", watchdog = "false")]
async fn quoted(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", watchdog = 0)]
async fn number(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", reentrant = id == 1)]
async fn argument(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(quoted(1));
    drop(number(1));
    drop(argument(1));
}
