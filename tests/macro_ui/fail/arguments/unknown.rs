//! An unknown word is told with all that there are.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", colour = 3)]
async fn colour(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(colour(1));
}
