//! Where `when` decides, there may be no hold.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", when = id > 1, guard = hold)]
async fn pay(id: u64) -> Answer {
    println!("{}", hold.fencing_token());
    Ok(())
}

fn main() {
    drop(pay(1));
}
