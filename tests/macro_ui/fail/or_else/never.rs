//! Even with `or_else` the function must be able to end.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", or_else = |_| panic!())]
async fn pay(id: u64) -> ! {
    panic!()
}

fn main() {
    drop(pay(1));
}
