//! In skip mode a `Result` still has to have room for what isn't a skip: an outage, a lost lock.
#![allow(unused_variables)]

use lockruntime::distributed_lock;

struct JobError;

#[distributed_lock(key = "a", mode = "skip")]
async fn job(id: u64) -> Result<(), JobError> {
    Ok(())
}

fn main() {
    drop(job(1));
}
