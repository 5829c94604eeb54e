//! `when` is a bool.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", when = amount)]
async fn number(amount: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", when = dry_run.as_ref())]
async fn option(dry_run: Option<bool>) -> Answer {
    Ok(())
}

fn main() {
    drop((number(1), option(None)));
}
