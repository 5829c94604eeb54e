//! B85: only an async function waits.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a:<id>")]
fn plain(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:<id>")]
const fn constant(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:<id>")]
pub unsafe extern "C" fn foreign(id: u64) -> u64 {
    id
}

fn main() {
    drop(plain(1));
    drop(constant(1));
    drop(unsafe { foreign(1) });
}
