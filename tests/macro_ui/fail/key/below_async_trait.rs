//! Below `#[async_trait]` a parameter that is a pattern has lost its names.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[async_trait::async_trait]
trait Pay {
    #[distributed_lock(key = "boleto:<id>")]
    async fn pay(&self, (id, _): (u64, u64)) -> Answer {
        Ok(())
    }

    #[distributed_lock(key = "boleto:<ids>")]
    async fn slip(&self, id: u64) -> Answer {
        Ok(())
    }
}

impl Pay for () {}

fn main() {
    drop((().pay((1, 2)), ().slip(1)));
}
