//! A const function can't wait.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a")]
const fn constant() -> Answer {
    Ok(())
}

fn main() {
    drop(constant());
}
