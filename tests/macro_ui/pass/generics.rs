//! Type parameters, const generics, lifetimes, where clauses.

#[path = "../rival.rs"]
mod rival;

use std::fmt::{Debug, Display};

use lockruntime::{LockError, distributed_lock};

#[distributed_lock(key = "generic:<value>")]
async fn generic<T>(value: T) -> Result<T, LockError>
where
    T: Display + Debug,
{
    rival::refused("generic:7").await;
    Ok(value)
}

#[distributed_lock(key = "sum:<name>")]
async fn sum<const N: usize>(name: &str, numbers: [u64; N]) -> Result<u64, LockError> {
    rival::refused("sum:n").await;
    Ok(numbers.iter().sum())
}

#[distributed_lock(key = "longer:<a>:<b>")]
async fn longer<'a, 'b: 'a>(a: &'a str, b: &'b str) -> Result<&'a str, LockError> {
    rival::refused("longer:x:yy").await;
    Ok(if a.len() > b.len() { a } else { b })
}

struct Words<'a>(&'a [&'a str]);

impl<'w> Words<'w> {
    #[distributed_lock(key = "first")]
    async fn first(&self) -> Result<Option<&'w str>, LockError> {
        rival::refused("first").await;
        Ok(self.0.first().copied())
    }

    #[distributed_lock(key = "rest")]
    async fn rest(&self) -> Result<Words<'_>, LockError> {
        rival::refused("rest").await;
        Ok(Words(self.0.get(1..).unwrap_or_default()))
    }
}

#[distributed_lock(key = "unsized:<value>")]
async fn unsized_value<T: Display + ?Sized>(value: &T) -> Result<String, LockError> {
    rival::refused("unsized:str").await;
    Ok(value.to_string())
}

#[distributed_lock(key = "error")]
async fn own_error<E: From<LockError>>(fails: Option<E>) -> Result<(), E> {
    rival::refused("error").await;
    fails.map_or(Ok(()), Err)
}

async fn case() -> Result<(), LockError> {
    assert_eq!(generic(7_u8).await?, 7);
    assert_eq!(sum("n", [1, 2, 3]).await?, 6);
    assert_eq!(longer("x", "yy").await?, "yy");
    let words = Words(&["a", "b"]);
    assert_eq!(words.first().await?, Some("a"));
    assert_eq!(words.rest().await?.0, ["b"]);
    assert_eq!(unsized_value("str").await?, "str");
    own_error(None).await
}

fn main() {
    rival::run(case()).unwrap();
}
