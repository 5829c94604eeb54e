//! A body stops or goes on.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a", on_lost = "contniue")]
async fn slip(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", on_lost = "abort")]
async fn other(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", on_lost = cancel)]
async fn ident(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(slip(1));
    drop(other(1));
    drop(ident(1));
}
