//! No return type leaves no room for a refusal.
#![allow(unused_variables)]

use lockruntime::distributed_lock;

#[distributed_lock(key = "a:<id>")]
async fn nothing(id: u64) {}

#[distributed_lock(key = "a:<id>")]
async fn unit(id: u64) -> () {}

#[distributed_lock(key = "a:<id>")]
async fn never(id: u64) -> ! {
    panic!()
}

fn main() {
    drop((nothing(1), unit(1), never(1)));
}
