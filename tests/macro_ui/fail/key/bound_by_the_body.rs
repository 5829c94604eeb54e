//! A key is filled before the body runs, so it can't name what the body binds.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "boleto:<number>")]
async fn pay(id: u64) -> Answer {
    let number = id + 1;
    drop(number);
    Ok(())
}

fn main() {
    drop(pay(1));
}
