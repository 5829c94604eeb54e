//! What the body gets wrong is told where it stands.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a:<id>")]
async fn pay(id: u64) -> Answer {
    charge(idd).await
}

async fn charge(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(pay(1));
}
