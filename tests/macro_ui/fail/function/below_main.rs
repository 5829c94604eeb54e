//! Below the attributes that take the `async` away.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[tokio::main(flavor = "current_thread")]
#[distributed_lock(key = "a")]
async fn start() -> Answer {
    Ok(())
}

fn main() {
    drop(start());
}
