//! Only functions can be locked.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a")]
struct Service;

#[distributed_lock(key = "a")]
impl Service {
    async fn pay(&self) -> Answer {
        Ok(())
    }
}

#[distributed_lock(key = "a")]
trait Pay {}

#[distributed_lock(key = "a")]
mod inner {
    pub fn there() {}
}

#[distributed_lock(key = "a")]
const LIMIT: u64 = 3;

fn main() {
    drop(Service.pay());
    inner::there();
    let _ = LIMIT;
}
