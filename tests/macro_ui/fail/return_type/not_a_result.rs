//! A type without room for a refusal, known only to the compiler.
#![allow(unused_variables)]

use lockruntime::distributed_lock;

#[distributed_lock(key = "a:<id>")]
async fn number(id: u64) -> u64 {
    id
}

#[distributed_lock(key = "a:<id>")]
async fn optional(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {
    drop((number(1), optional(1)));
}
