//! Bodies that have a name for their hold. Without the lock nobody binds that name, so none of these would compile.

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, refused};

type Answer<T> = Result<T, LockError>;

#[test]
fn function() {
    #[distributed_lock(key = "a:<id>", guard = hold)]
    async fn locked(id: u64) -> Answer<u64> {
        refused("a:1").await;
        assert_eq!(hold.key().as_str(), "a:1");
        Ok(id)
    }
    case(async { assert_eq!(locked(1).await.unwrap(), 1) });
}

#[test]
fn method() {
    struct Service;
    impl Service {
        #[distributed_lock(key = "a", guard = guard)]
        async fn locked(&mut self) -> Answer<bool> {
            refused("a").await;
            Ok(guard.is_held())
        }
    }
    case(async { assert!(Service.locked().await.unwrap()) });
}

#[test]
fn under_async_trait() {
    #[async_trait::async_trait]
    trait Pay {
        #[distributed_lock(key = "a", guard = hold)]
        async fn pay(&self, id: u64) -> Answer<bool> {
            refused("a").await;
            Ok(id == 1 && hold.is_held())
        }
    }
    impl Pay for () {}
    case(async { assert!(().pay(1).await.unwrap()) });
}

#[test]
fn named_by_a_macro() {
    macro_rules! made {
        ($name:ident, $hold:ident, $body:expr) => {
            #[distributed_lock(key = "a", guard = $hold)]
            async fn $name() -> Answer<bool> {
                refused("a").await;
                Ok($body)
            }
        };
    }
    made!(locked, held, held.is_held());
    case(async { assert!(locked().await.unwrap()) });
}

#[test]
fn optional_under_when() {
    #[distributed_lock(key = "a", when = locks, guard = hold)]
    async fn locked(locks: bool) -> Answer<bool> {
        refused("a").await;
        Ok(hold.is_some())
    }
    case(async { assert!(locked(true).await.unwrap()) });
}

#[test]
fn with_every_other_argument() {
    #[distributed_lock(
        key = "a:<id>", lease = "2s", mode = "queue", wait = "1s", manager = tests::rival::locks(), or_else = move |_| id,
        guard = hold, crate = ::lockruntime
    )]
    async fn locked(id: u64) -> u64 {
        refused("a:1").await;
        hold.fencing_token().get()
    }
    case(async { assert!(locked(1).await > 1) });
}

/// The hold's name is that of a constant elsewhere, and of an argument of the call.
#[test]
fn among_other_names() {
    #[distributed_lock(key = "a:<key>", guard = manager)]
    async fn locked(key: u64) -> Answer<u64> {
        refused("a:1").await;
        let _ = manager.remaining();
        Ok(key)
    }
    case(async { assert_eq!(locked(1).await.unwrap(), 1) });
}

/// A hold that nobody looks at is an unused variable like any other.
#[test]
fn unused() {
    #[distributed_lock(key = "a", guard = hold)]
    #[expect(unused_variables)]
    async fn locked() -> Answer<()> {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}
