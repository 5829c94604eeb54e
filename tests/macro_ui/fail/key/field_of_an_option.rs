//! B26: fields end where an `Option` begins.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

struct Owner {
    name: String,
}

#[distributed_lock(key = "boleto:<owner.name>")]
async fn pay(owner: Option<Owner>) -> Answer {
    Ok(())
}

fn main() {
    drop(pay(None));
}
