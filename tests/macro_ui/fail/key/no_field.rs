//! A field that is not there is told at the key.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

struct Order {
    id: u64,
}

#[distributed_lock(key = "order:<order.number>")]
async fn pay(order: Order) -> Answer {
    drop(order.id);
    Ok(())
}

fn main() {
    drop(pay(Order { id: 1 }));
}
