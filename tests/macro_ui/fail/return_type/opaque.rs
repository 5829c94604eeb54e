//! B81: an opaque type is judged by what it is.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a")]
async fn display(id: u64) -> impl std::fmt::Display {
    id
}

fn main() {
    drop(display(1));
}
