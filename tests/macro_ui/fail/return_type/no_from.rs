//! An error type that can not be made from a `LockError`.
#![allow(unused_variables)]

use lockruntime::distributed_lock;

struct PayError;

#[distributed_lock(key = "a:<id>")]
async fn pay(id: u64) -> Result<u64, PayError> {
    Ok(id)
}

fn main() {
    drop(pay(1));
}
