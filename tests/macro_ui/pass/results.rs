//! Return types that have room for a refusal, aliases included, and what their bodies coerce to.

#[path = "../rival.rs"]
mod rival;

use std::convert::Infallible;
use std::error::Error;
use std::num::ParseIntError;

use lockruntime::{LockError, distributed_lock};

type Answer<T, E = LockError> = Result<T, E>;
type BoxError = Box<dyn Error + Send + Sync>;
type Function = Box<dyn Fn(u64) -> u64 + Send>;

#[derive(Debug)]
enum PayError {
    Lock(LockError),
    Number(ParseIntError),
}

impl From<LockError> for PayError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

impl From<ParseIntError> for PayError {
    fn from(error: ParseIntError) -> Self {
        Self::Number(error)
    }
}

#[distributed_lock(key = "a")]
async fn alias() -> Answer<u8> {
    rival::refused("a").await;
    Ok(3)
}

#[distributed_lock(key = "a")]
async fn boxed(text: &str) -> Answer<u8, BoxError> {
    rival::refused("a").await;
    let number = text.parse()?;
    if number == 0 {
        return Err("zero".into());
    }
    Ok(number)
}

#[distributed_lock(key = "a")]
async fn question(text: &str) -> Result<u8, PayError> {
    rival::refused("a").await;
    Ok(text.parse()?)
}

#[distributed_lock(key = "a")]
async fn functions(early: bool) -> Answer<Function> {
    rival::refused("a").await;
    if early {
        return Ok(Box::new(|n| n + 1));
    }
    Ok(Box::new(|n| n + 2))
}

#[distributed_lock(key = "a")]
async fn slices(early: bool) -> Result<&'static [u8], LockError> {
    rival::refused("a").await;
    if early {
        return Ok(&[1]);
    }
    Ok(&[])
}

#[distributed_lock(key = "a")]
async fn never_well(text: &str) -> Result<Infallible, PayError> {
    rival::refused("a").await;
    loop {
        text.parse::<u8>()?;
    }
}

#[distributed_lock(key = "a")]
async fn diverges() -> Answer<u8> {
    rival::refused("a").await;
    std::process::exit(0)
}

async fn case() {
    assert_eq!(alias().await.unwrap(), 3);
    assert_eq!(boxed("4").await.unwrap(), 4);
    assert_eq!(boxed("0").await.unwrap_err().to_string(), "zero");
    assert!(matches!(question("x").await, Err(PayError::Number(_))));
    assert_eq!(
        (
            functions(true).await.unwrap()(1),
            functions(false).await.unwrap()(1)
        ),
        (2, 3)
    );
    assert_eq!(
        (slices(true).await.unwrap(), slices(false).await.unwrap()),
        (&[1][..], &[][..])
    );
    assert!(matches!(never_well("x").await, Err(PayError::Number(_))));
    drop(diverges().await);
    std::process::abort();
}

fn main() {
    rival::run(case());
}
