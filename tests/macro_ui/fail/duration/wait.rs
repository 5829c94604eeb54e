//! A wait may be nothing, but not endless: then it is left out.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", wait = "9000h")]
async fn long(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", wait = "5")]
async fn unitless(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", wait = "forever")]
async fn word(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(long(1));
    drop(unitless(1));
    drop(word(1));
}
