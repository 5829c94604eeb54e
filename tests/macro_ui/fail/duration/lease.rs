//! B92: a lease has a number and a unit, and is neither too short nor too long.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", lease = "0s")]
async fn lease_0(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "1ms")]
async fn lease_1(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "99ms")]
async fn lease_2(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "-1s")]
async fn lease_3(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "")]
async fn lease_4(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "30")]
async fn lease_5(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "30 s")]
async fn lease_6(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "1.5s")]
async fn lease_7(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "30sec")]
async fn lease_8(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "30S")]
async fn lease_9(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "2 minutes")]
async fn lease_10(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "1m30s")]
async fn lease_11(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "10000y")]
async fn lease_12(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "25h")]
async fn lease_13(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "18446744073709551615ms")]
async fn lease_14(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "18446744073709551616ms")]
async fn lease_15(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "a", lease = "soon")]
async fn lease_16(id: u64) -> Answer {
    Ok(())
}

fn main() {
    drop(lease_0(1));
    drop(lease_1(1));
    drop(lease_2(1));
    drop(lease_3(1));
    drop(lease_4(1));
    drop(lease_5(1));
    drop(lease_6(1));
    drop(lease_7(1));
    drop(lease_8(1));
    drop(lease_9(1));
    drop(lease_10(1));
    drop(lease_11(1));
    drop(lease_12(1));
    drop(lease_13(1));
    drop(lease_14(1));
    drop(lease_15(1));
    drop(lease_16(1));
}
