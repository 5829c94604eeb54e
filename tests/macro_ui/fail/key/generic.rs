//! B26: a type parameter needs a `Display` to stand in a key.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "value:<value>")]
async fn pay<T>(value: T) -> Answer {
    Ok(())
}

fn main() {
    drop(pay(1));
}
