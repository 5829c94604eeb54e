//! Readers and writers, and what looks like them.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a", access = "reed")]
async fn slip(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", access = "exclusive")]
async fn unknown(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", access = read)]
async fn ident(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", shared = true)]
async fn other_word(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(slip(1));
    drop(unknown(1));
    drop(ident(1));
    drop(other_word(1));
}
