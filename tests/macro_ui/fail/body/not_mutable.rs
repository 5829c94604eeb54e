//! What isn't declared as mutable is told at its declaration.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a")]
async fn pay(list: Vec<u8>) -> Answer {
    list.push(1);
    Ok(())
}

fn main() {
    drop(pay(vec![]));
}
