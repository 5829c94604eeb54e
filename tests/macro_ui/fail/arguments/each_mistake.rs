//! All mistakes are told at once, each where it is.
//! Mistakes: 6.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a:<nothing>", leese = "1s", wait = "5", permits = 0, mode = "x")]
fn all(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(all(1));
}
