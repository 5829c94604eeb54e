//! A key reads fields and does nothing else.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a:<id.to_string()>")]
async fn call(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:<ids[0]>")]
async fn index(ids: [u64; 2]) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:<Self::ID>")]
async fn path(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:{id:?}")]
async fn format(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:{id:>5}")]
async fn align(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:{0}")]
async fn position(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:<&id>")]
async fn reference(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:<id + 1>")]
async fn sum(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:<id.>")]
async fn no_field(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:< id >")]
async fn spaces(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:<_>")]
async fn wild(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a:<id?>")]
async fn question(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(call(1));
    drop(index([1, 2]));
    drop(path(1));
    drop(format(1));
    drop(align(1));
    drop(position(1));
    drop(reference(1));
    drop(sum(1));
    drop(no_field(1));
    drop(spaces(1));
    drop(wild(1));
    drop(question(1));
}
