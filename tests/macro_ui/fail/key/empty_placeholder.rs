//! Nothing between the brackets.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a:<>")]
async fn angles(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:{}")]
async fn braces(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:< >")]
async fn blank(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(angles(1));
    drop(braces(1));
    drop(blank(1));
}
