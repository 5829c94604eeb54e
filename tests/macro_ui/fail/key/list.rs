//! A list of keys is a list of templates.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = [])]
async fn empty(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = ["a:<id>", "b", "a:<id>"])]
async fn twice(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = ["a:<id>", 3])]
async fn number(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = [KEY])]
async fn constant(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = ("a", "b"))]
async fn tuple(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = ["a:<id>", "b:<idd>"])]
async fn unknown(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(empty(1));
    drop(twice(1));
    drop(number(1));
    drop(constant(1));
    drop(tuple(1));
    drop(unknown(1));
}
