//! The key is a literal string.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = 3)]
async fn number(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = b"a")]
async fn bytes(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = KEY)]
async fn constant(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = format!("a:{id}"))]
async fn formatted(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = id)]
async fn argument(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(number(1));
    drop(bytes(1));
    drop(constant(1));
    drop(formatted(1));
    drop(argument(1));
}
