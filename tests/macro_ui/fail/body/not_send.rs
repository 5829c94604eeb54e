//! Where `Send` is asked for, the body's own value is named.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a")]
async fn pay() -> Answer {
    let shared = std::rc::Rc::new(1);
    std::future::ready(()).await;
    drop(shared);
    Ok(())
}

fn is_send<T: Send>(_: T) {}

fn main() {
    is_send(pay());
}
