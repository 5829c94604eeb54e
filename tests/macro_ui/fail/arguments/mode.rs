//! The modes, and what looks like them.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", mode = "rejct")]
async fn slip(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", mode = "Queue")]
async fn case(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", mode = "fifo")]
async fn other(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", mode = "colour")]
async fn unknown(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", mode = queue)]
async fn ident(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", mode = Mode::Reject)]
async fn path(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", mode = 3)]
async fn number(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", mode = "")]
async fn empty(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(slip(1));
    drop(case(1));
    drop(other(1));
    drop(unknown(1));
    drop(ident(1));
    drop(path(1));
    drop(number(1));
    drop(empty(1));
}
