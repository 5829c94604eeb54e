//! B81: the return type of a boxed method is judged as well.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[async_trait::async_trait]
trait Pay {
    #[distributed_lock(key = "a")]
    async fn pay(&self) -> u64 {
        1
    }
}

impl Pay for () {}

fn main() {
    drop(().pay());
}
