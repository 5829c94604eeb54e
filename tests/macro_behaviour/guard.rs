//! `guard = name`: the body has the hold under that name.

use lockruntime::{Hold, LockError, distributed_lock};

use crate::support::{alone, is_busy};

#[distributed_lock(key = "a:<id>", guard = hold)]
async fn named(id: u64) -> Result<Hold, LockError> {
    let current = lockruntime::current().unwrap();
    assert_eq!(hold.fencing_token(), current.fencing_token());
    assert_eq!(hold.owner_token(), current.owner_token());
    assert_eq!(hold.key().as_str(), "a:7");
    assert!(hold.is_held() && !hold.remaining().is_zero());
    Ok(hold)
}

#[test]
fn it_is_the_hold_of_this_call() {
    alone(|locks| async move {
        let first = named(7).await.unwrap();
        assert!(!first.is_held(), "it doesn't keep the lock");
        let second = named(7).await.unwrap();
        assert!(second.fencing_token() > first.fencing_token());
        assert!(!is_busy(&locks, "a:7").await);
    });
}

#[distributed_lock(key = "outer", guard = outer)]
async fn nested(fence: u64) -> Result<(), LockError> {
    #[distributed_lock(key = "inner", guard = inner)]
    async fn within() -> Result<Hold, LockError> {
        Ok(inner)
    }
    let inner = within().await?;
    assert_eq!(
        (outer.key().as_str(), inner.key().as_str()),
        ("outer", "inner")
    );
    assert!(outer.is_held() && !inner.is_held());
    let _ = fence;
    Ok(())
}

#[test]
fn nested_calls_have_their_own() {
    alone(|_| async { nested(1).await.unwrap() });
}

macro_rules! made {
    ($name:ident, $hold:ident, $body:expr) => {
        #[distributed_lock(key = "made", guard = $hold)]
        async fn $name() -> Result<bool, LockError> {
            Ok($body)
        }
    };
}
made!(made, held, held.is_held());

macro_rules! hidden {
    ($name:ident) => {
        #[distributed_lock(key = "hidden", guard = hold)]
        async fn $name() -> Result<bool, LockError> {
            Ok(hold.is_held())
        }
    };
}
hidden!(hidden);

struct Service;

trait Pay {
    fn pay(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<bool, LockError>> + '_>>;
}

impl Pay for Service {
    #[distributed_lock(key = "boxed", guard = hold)]
    fn pay(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<bool, LockError>> + '_>> {
        Box::pin(async move { Ok(hold.is_held()) })
    }
}

#[test]
fn in_functions_that_macros_make() {
    alone(|_| async {
        assert!(made().await.unwrap() && hidden().await.unwrap());
        assert!(Service.pay().await.unwrap());
    });
}
