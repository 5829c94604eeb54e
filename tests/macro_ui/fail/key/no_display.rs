//! A value needs a `Display`.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

struct Order;

#[distributed_lock(key = "order:<order>")]
async fn pay(order: Order) -> Answer {
    Ok(())
}

fn main() {
    drop(pay(Order));
}
