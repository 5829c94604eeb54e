//! `when` is an expression.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", when = "!dry_run")]
async fn quoted(dry_run: bool) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", when = 1)]
async fn number(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop((quoted(true), number(1)));
}
