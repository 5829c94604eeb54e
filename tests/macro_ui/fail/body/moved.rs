//! A value that moved is told by its name.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a")]
async fn pay(text: String, (left, right): (String, String)) -> Answer {
    drop(left);
    drop(left);
    Ok(())
}

fn main() {
    drop(pay(String::new(), (String::new(), String::new())));
}
