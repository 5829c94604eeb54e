//! `impl Trait` in arguments and return types.

#[path = "../rival.rs"]
mod rival;

use std::fmt::Display;

use lockruntime::{LockError, distributed_lock};

#[distributed_lock(key = "in:<id>")]
async fn argument(id: impl Display, list: impl IntoIterator<Item = u64>) -> Result<u64, LockError> {
    rival::refused("in:1").await;
    Ok(list.into_iter().sum())
}

#[distributed_lock(key = "out")]
async fn iterator(list: &[u64]) -> Result<impl Iterator<Item = &u64>, LockError> {
    rival::refused("out").await;
    Ok(list.iter().skip(1))
}

#[distributed_lock(key = "deep")]
async fn deep() -> Result<(impl Fn(u64) -> Vec<u64>, Option<impl Display + Clone>), LockError> {
    rival::refused("deep").await;
    Ok((|n| vec![n], Some("x")))
}

#[distributed_lock(key = "whole")]
async fn whole(fails: bool) -> impl IntoIterator<Item = u64> {
    rival::refused("whole").await;
    if fails { Err(LockFailed) } else { Ok(3) }
}

struct LockFailed;

impl From<LockError> for LockFailed {
    fn from(_: LockError) -> Self {
        Self
    }
}

async fn case() -> Result<(), LockError> {
    assert_eq!(argument(1, [1, 2]).await?, 3);
    assert_eq!(iterator(&[1, 2]).await?.collect::<Vec<_>>(), [&2]);
    let (function, value) = deep().await?;
    assert_eq!(
        (function(4), value.unwrap().to_string()),
        (vec![4], "x".to_owned())
    );
    assert_eq!(whole(false).await.into_iter().collect::<Vec<_>>(), [3]);
    Ok(())
}

fn main() {
    rival::run(case()).unwrap();
}
