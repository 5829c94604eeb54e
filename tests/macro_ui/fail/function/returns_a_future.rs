//! B85: the lock would end before the future starts.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a:<id>")]
fn opaque(id: u64) -> impl Future<Output = Answer> {
    async { Ok(()) }
}

#[distributed_lock(key = "a:<id>")]
fn ready(id: u64) -> std::pin::Pin<Box<dyn Future<Output = Answer> + Send>> {
    let future = async { Ok(()) };
    Box::pin(future)
}

fn main() {
    drop(opaque(1));
    drop(ready(1));
}
