//! B81: a type parameter as error needs its bound.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a")]
async fn pay<E: std::error::Error>(fails: Option<E>) -> Result<(), E> {
    fails.map_or(Ok(()), Err)
}

fn main() {
    drop(pay::<std::fmt::Error>(None));
}
