//! B81: an error type of the standard library's needs a `Result` of another type.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a")]
async fn text(id: u64) -> Result<u64, String> {
    Ok(id)
}

#[distributed_lock(key = "a")]
async fn io(id: u64) -> std::io::Result<u64> {
    Ok(id)
}

fn main() {
    drop((text(1), io(1)));
}
