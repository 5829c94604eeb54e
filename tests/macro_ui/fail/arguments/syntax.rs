//! Arguments that are no `name = value`.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock("a:<id>")]
async fn nameless(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key("a"))]
async fn called(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key: "a")]
async fn colon(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key)]
async fn valueless(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key =)]
async fn half(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a" lease = "30s")]
async fn no_comma(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a"; lease = "30s")]
async fn semicolon(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a",, lease = "30s")]
async fn two_commas(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key == "a")]
async fn comparison(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease)]
async fn last(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = 3 +)]
async fn operator(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(nameless(1));
    drop(called(1));
    drop(colon(1));
    drop(valueless(1));
    drop(half(1));
    drop(no_comma(1));
    drop(semicolon(1));
    drop(two_commas(1));
    drop(comparison(1));
    drop(last(1));
    drop(operator(1));
}
