//! A body that doesn't parse is the compiler's to tell; without the attribute it says the same three things.
//! Mistakes: 3.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a:<id>")]
async fn pay(id: u64) -> Answer {
    let receipt = id.
}

fn main() {
    drop(pay(1));
}
