//! B85: a function that only starts asynchronous work would give the lock back at once.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a")]
fn starts(id: u64) -> Answer {
    drop(async { id });
    Ok(())
}

struct Service;

impl Service {
    #[distributed_lock(key = "a")]
    pub fn method(&self) -> Answer {
        Ok(())
    }
}

fn main() {
    drop((starts(1), Service.method()));
}
