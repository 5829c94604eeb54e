//! Arguments of a later version are refused, never ignored.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", max_hold = "5m")]
async fn max_hold(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", min_hold = "1s")]
async fn min_hold(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", watchdog = false)]
async fn watchdog(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", on_lost = "continue")]
async fn on_lost(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", reentrant = false)]
async fn reentrant(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", permits = 3)]
async fn permits(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", access = "read")]
async fn access(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", max_waiters = 10)]
async fn max_waiters(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", release = "background")]
async fn release(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", mode = "skip")]
async fn skip(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = ["a:<id>", "b:<id>"])]
async fn keys(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(max_hold(1));
    drop(min_hold(1));
    drop(watchdog(1));
    drop(on_lost(1));
    drop(reentrant(1));
    drop(permits(1));
    drop(access(1));
    drop(max_waiters(1));
    drop(release(1));
    drop(skip(1));
    drop(keys(1));
}
