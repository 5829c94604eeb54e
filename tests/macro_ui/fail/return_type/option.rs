//! B81: an `Option` or a plain value has no room for a refusal.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a")]
async fn option(id: u64) -> Option<u64> {
    Some(id)
}

#[distributed_lock(key = "a")]
async fn value(id: u64) -> String {
    id.to_string()
}

#[distributed_lock(key = "a")]
async fn boolean(id: u64) -> bool {
    id == 1
}

#[distributed_lock(key = "a")]
async fn list(id: u64) -> Vec<Result<u64, LockError>> {
    vec![Ok(id)]
}

fn main() {
    drop((option(1), value(1), boolean(1), list(1)));
}
