//! A field that can't be seen is told at the key.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

mod bank {
    #[derive(Default)]
    pub struct Order {
        id: u64,
    }
}

#[distributed_lock(key = "order:<order.id>")]
async fn pay(order: bank::Order) -> Answer {
    Ok(())
}

fn main() {
    drop(pay(bank::Order::default()));
}
