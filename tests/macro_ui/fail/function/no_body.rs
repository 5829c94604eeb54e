//! A method without a body has nothing to lock.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

trait Pay {
    #[distributed_lock(key = "a:<id>")]
    async fn pay(&self, id: u64) -> Answer;
}

struct Service;

impl Pay for Service {
    async fn pay(&self, id: u64) -> Answer {
        Ok(())
    }
}

fn main() {
    drop(Service.pay(1));
}
