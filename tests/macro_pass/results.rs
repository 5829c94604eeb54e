//! Return types that have room for a refusal, aliases included, and what their bodies coerce to.

use std::convert::Infallible;
use std::error::Error;
use std::fmt::Display;
use std::num::ParseIntError;

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, here, locks, refused};

type Answer<T, E = LockError> = Result<T, E>;

#[derive(Debug)]
enum PayError {
    Lock,
    Number,
}

impl From<LockError> for PayError {
    fn from(_: LockError) -> Self {
        Self::Lock
    }
}

impl From<ParseIntError> for PayError {
    fn from(_: ParseIntError) -> Self {
        Self::Number
    }
}

#[test]
fn plain() {
    #[distributed_lock(key = "a")]
    async fn locked() -> Result<u8, LockError> {
        refused("a").await;
        Ok(3)
    }
    case(async { assert_eq!(locked().await.unwrap(), 3) });
}

#[test]
fn alias() {
    #[distributed_lock(key = "a")]
    async fn locked() -> Answer<u8> {
        refused("a").await;
        Ok(3)
    }
    case(async { assert_eq!(locked().await.unwrap(), 3) });
}

#[test]
fn alias_without_parameters() {
    type Nothing = Result<(), PayError>;

    #[distributed_lock(key = "a")]
    async fn locked() -> Nothing {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn qualified_path() {
    #[distributed_lock(key = "a")]
    async fn locked() -> ::std::result::Result<u8, self::PayError> {
        refused("a").await;
        Ok(3)
    }
    case(async { assert_eq!(locked().await.unwrap(), 3) });
}

#[test]
fn associated_type() {
    trait Outcome {
        type Of;
    }
    impl Outcome for u8 {
        type Of = Result<u8, LockError>;
    }

    #[distributed_lock(key = "a")]
    async fn locked() -> <u8 as Outcome>::Of {
        refused("a").await;
        Ok(3)
    }
    case(async { assert_eq!(locked().await.unwrap(), 3) });
}

#[test]
fn question_mark_and_early_return() {
    #[distributed_lock(key = "a")]
    async fn locked(text: &str) -> Result<u8, PayError> {
        refused("a").await;
        if text == "early" {
            return Ok(1);
        }
        Ok(text.parse()?)
    }
    case(async {
        assert_eq!(locked("7").await.unwrap(), 7);
        assert_eq!(locked("early").await.unwrap(), 1);
        assert!(matches!(locked("x").await, Err(PayError::Number)));
    });
}

#[test]
fn boxed_error() {
    #[distributed_lock(key = "a")]
    async fn locked(text: &str) -> Answer<u8, Box<dyn Error + Send + Sync>> {
        refused("a").await;
        let number = text.parse()?;
        if number == 0 {
            return Err("zero".into());
        }
        Ok(number)
    }
    case(async {
        assert_eq!(locked("4").await.unwrap(), 4);
        assert_eq!(locked("0").await.unwrap_err().to_string(), "zero");
    });
}

#[test]
fn boxed_functions() {
    type Function = Box<dyn Fn(u64) -> u64 + Send>;

    #[distributed_lock(key = "a")]
    async fn locked(early: bool) -> Answer<Function> {
        refused("a").await;
        if early {
            return Ok(Box::new(|n| n + 1));
        }
        Ok(Box::new(|n| n + 2))
    }
    case(async {
        assert_eq!(locked(true).await.unwrap()(1), 2);
        assert_eq!(locked(false).await.unwrap()(1), 3);
    });
}

#[test]
fn slices_of_two_lengths() {
    #[distributed_lock(key = "a")]
    async fn locked(early: bool) -> Answer<&'static [u8]> {
        refused("a").await;
        if early {
            return Ok(&[1]);
        }
        Ok(&[])
    }
    case(async {
        assert_eq!(locked(true).await.unwrap(), [1]);
        assert_eq!(locked(false).await.unwrap(), [0; 0]);
    });
}

#[test]
fn never_well() {
    #[distributed_lock(key = "a")]
    async fn locked(text: &str) -> Result<Infallible, PayError> {
        refused("a").await;
        loop {
            text.parse::<u8>()?;
        }
    }
    case(async { assert!(matches!(locked("x").await, Err(PayError::Number))) });
}

#[test]
fn panics_only() {
    #[distributed_lock(key = "a")]
    async fn locked() -> Answer<u8> {
        refused("a").await;
        std::panic::panic_any(7_u8)
    }
    case(async {
        let call = tokio::spawn(locks().scope(here().scope(locked())));
        let payload = call.await.unwrap_err().into_panic();
        assert_eq!(payload.downcast_ref(), Some(&7_u8));
    });
}

#[test]
fn semicolon_after_a_return() {
    #[distributed_lock(key = "a")]
    async fn locked() -> Answer<u8> {
        refused("a").await;
        return Ok(3);
    }
    case(async { assert_eq!(locked().await.unwrap(), 3) });
}

#[test]
fn iterator_in_a_result() {
    #[distributed_lock(key = "out")]
    async fn locked(list: &[u64]) -> Answer<impl Iterator<Item = &u64>> {
        refused("out").await;
        Ok(list.iter().skip(1))
    }
    case(async { assert_eq!(locked(&[1, 2]).await.unwrap().collect::<Vec<_>>(), [&2]) });
}

#[test]
fn impl_trait_at_depth() {
    #[distributed_lock(key = "deep")]
    async fn locked() -> Answer<(impl Fn(u64) -> Vec<u64>, Option<impl Display + Clone>)> {
        refused("deep").await;
        Ok((|n| vec![n], Some("x")))
    }
    case(async {
        let (function, value) = locked().await.unwrap();
        assert_eq!(function(4), [4]);
        assert_eq!(value.unwrap().to_string(), "x");
    });
}

#[test]
fn impl_trait_alone_that_is_a_result() {
    #[distributed_lock(key = "whole")]
    async fn locked(fails: bool) -> impl IntoIterator<Item = u64> {
        refused("whole").await;
        if fails { Err(PayError::Lock) } else { Ok(3) }
    }
    case(async { assert_eq!(locked(false).await.into_iter().collect::<Vec<_>>(), [3]) });
}

#[test]
fn impl_trait_arguments() {
    #[distributed_lock(key = "in:<id>")]
    async fn locked(id: impl Display, list: impl IntoIterator<Item = u64>) -> Answer<u64> {
        refused("in:1").await;
        Ok(list.into_iter().sum())
    }
    case(async { assert_eq!(locked(1, [1, 2]).await.unwrap(), 3) });
}

#[test]
fn anything_with_or_else() {
    #[distributed_lock(key = "a", or_else = |_| "refused")]
    async fn locked() -> &'static str {
        refused("a").await;
        "well"
    }
    case(async { assert_eq!(locked().await, "well") });
}

#[test]
fn nothing_with_or_else() {
    #[distributed_lock(key = "a", or_else = drop)]
    async fn locked() {
        refused("a").await;
    }
    case(async { locked().await });
}

#[test]
fn own_type_by_trait() {
    enum Job {
        Done,
        Refused,
    }
    impl lockruntime::FromLockError for Job {
        fn from_lock_error(_: LockError) -> Self {
            Self::Refused
        }
    }

    #[distributed_lock(key = "a")]
    async fn locked() -> Job {
        refused("a").await;
        Job::Done
    }
    case(async { assert!(matches!(locked().await, Job::Done)) });
}
