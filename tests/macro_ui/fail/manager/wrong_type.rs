//! `manager` gives a `LockManager`.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", manager = name)]
async fn text(name: String) -> Answer {
    Ok(())
}

struct Service {
    locks: Option<lockruntime::LockManager>,
}

impl Service {
    #[distributed_lock(key = "a", manager = self.locks)]
    async fn optional(&self) -> Answer {
        Ok(())
    }
}

fn main() {
    drop(text(String::new()));
    drop(Service { locks: None }.optional());
}
