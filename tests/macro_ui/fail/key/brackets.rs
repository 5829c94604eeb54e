//! Brackets that open or close nothing.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a:<id")]
async fn unclosed(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:{id")]
async fn unclosed_brace(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:id>")]
async fn unopened(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:<id}")]
async fn mixed(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:<a<id>>")]
async fn nested(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:{{id}")]
async fn half_escape(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(unclosed(1));
    drop(unclosed_brace(1));
    drop(unopened(1));
    drop(mixed(1));
    drop(nested(1));
    drop(half_escape(1));
}
