//! Errors of the body are told in the body.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a:<id>")]
async fn tail(id: u64) -> Answer {
    id
}

#[distributed_lock(key = "a:<id>")]
async fn early(id: u64) -> Answer {
    if id == 1 {
        return 5;
    }
    Ok(())
}

#[distributed_lock(key = "a:<id>")]
async fn no_tail(id: u64) -> Answer {
    drop(id);
}

#[distributed_lock(key = "a:<id>")]
async fn question(id: u64) -> Answer {
    "5".parse::<u8>()?;
    Ok(())
}

#[distributed_lock(key = "a:<id>")]
async fn moved(id: u64, text: String) -> Answer {
    drop(text);
    drop(text);
    Ok(())
}

fn main() {
    drop((tail(1), early(1), no_tail(1), question(1), moved(1, String::new())));
}
