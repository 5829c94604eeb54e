//! B81: an alias is judged by what it stands for.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

type Receipt = (u64, String);

#[distributed_lock(key = "a")]
async fn pay(id: u64) -> Receipt {
    (id, String::new())
}

fn main() {
    drop(pay(1));
}
