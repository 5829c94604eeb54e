//! Every argument of the attribute, and every way to write it.

use std::time::Duration;

use lockruntime::{LockError, LockManager, distributed_lock};
use tests::rival::{case, locks, refused};

const LEASE: Duration = Duration::from_secs(5);

type Answer = Result<(), LockError>;

/// The README's example, word for word.
#[test]
fn readme() {
    #[derive(Debug)]
    struct Receipt(u64);
    #[derive(Debug)]
    struct PayError;
    impl From<LockError> for PayError {
        fn from(_: LockError) -> Self {
            Self
        }
    }

    #[distributed_lock(key = "boleto:<id>", lease = "30s", mode = "queue")]
    async fn pay(id: u64) -> Result<Receipt, PayError> {
        refused("boleto:42").await;
        Ok(Receipt(id))
    }
    case(async { assert_eq!(pay(42).await.unwrap().0, 42) });
}

#[test]
fn in_any_order_with_a_last_comma() {
    #[distributed_lock(wait = "1s", mode = "queue", lease = "2s", key = "a")]
    async fn locked() -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn reject() {
    #[distributed_lock(key = "a", mode = "reject")]
    async fn locked() -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn shortest_lease() {
    #[distributed_lock(key = "a", lease = "100ms", wait = "0s")]
    async fn locked() -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn longest_lease() {
    #[distributed_lock(key = "a", lease = "24h", wait = "1h")]
    async fn locked() -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn lengths_from_constants() {
    #[distributed_lock(key = "a", lease = LEASE, wait = LEASE / 2)]
    async fn locked() -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn lengths_from_arguments() {
    struct Limits {
        wait: Duration,
    }
    #[distributed_lock(key = "a", lease = Duration::from_secs(seconds), wait = limits.wait)]
    async fn locked(seconds: u64, limits: &Limits) -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked(3, &Limits { wait: LEASE }).await.unwrap() });
}

#[test]
fn lengths_from_patterns_and_blocks() {
    #[distributed_lock(key = "a:<id>", lease = Duration::from_secs(seconds), wait = { let half = seconds / 2; Duration::from_secs(half) })]
    async fn locked((id, seconds): (String, u64)) -> Answer {
        refused("a:x").await;
        Ok(())
    }
    case(async { locked(("x".to_owned(), 3)).await.unwrap() });
}

#[test]
fn lengths_from_generic_calls() {
    fn pick<A, B>(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }
    #[distributed_lock(key = "a", lease = pick::<u8, u16>(seconds))]
    async fn locked(seconds: u64) -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked(3).await.unwrap() });
}

#[test]
fn lengths_that_are_awaited() {
    async fn configured() -> Result<Duration, LockError> {
        Ok(LEASE)
    }
    #[distributed_lock(key = "a", lease = configured().await?)]
    async fn locked() -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn bounds_of_the_hold() {
    #[distributed_lock(key = "a", max_hold = "1m", min_hold = "1ms", watchdog = true)]
    async fn locked() -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn bounds_from_arguments() {
    #[distributed_lock(key = "a", max_hold = most, min_hold = most / 1_000_000, max_waiters = waiters)]
    async fn locked(most: Duration, waiters: u32) -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked(LEASE, 3).await.unwrap() });
}

#[test]
fn without_watchdog() {
    #[distributed_lock(key = "a", watchdog = false, on_lost = "cancel", reentrant = true)]
    async fn locked() -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn not_reentrant_and_going_on() {
    #[distributed_lock(key = "a", reentrant = false, on_lost = "continue")]
    async fn locked() -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn release_in_background() {
    #[distributed_lock(key = "a", release = "background")]
    async fn locked() -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn several_keys() {
    #[distributed_lock(key = ["account:<from>", "account:<to>"])]
    async fn locked(from: u64, to: u64) -> Answer {
        refused("account:1").await;
        refused("account:2").await;
        Ok(())
    }
    case(async { locked(2, 1).await.unwrap() });
}

#[test]
fn a_list_of_one_key() {
    #[distributed_lock(key = ["account:<id>"],)]
    async fn locked(id: u64) -> Answer {
        refused("account:1").await;
        Ok(())
    }
    case(async { locked(1).await.unwrap() });
}

#[test]
fn manager() {
    #[distributed_lock(key = "a", manager = manager)]
    async fn locked(manager: &LockManager) -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked(&locks()).await.unwrap() });
}

#[test]
fn when() {
    #[distributed_lock(key = "a", when = amount > 100)]
    async fn locked(amount: u64) -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked(101).await.unwrap() });
}

#[test]
fn or_else() {
    #[distributed_lock(key = "a", or_else = move |_| amount)]
    async fn locked(amount: u64) -> u64 {
        refused("a").await;
        amount
    }
    case(async { assert_eq!(locked(101).await, 101) });
}

mod prelude {
    pub(super) use lockruntime as locks;
}

#[test]
fn crate_path() {
    use prelude::locks::LockError;

    #[prelude::locks::distributed_lock(key = "a", crate = self::prelude::locks)]
    async fn locked() -> Result<(), LockError> {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

mod elsewhere {
    #[super::prelude::locks::distributed_lock(key = "b", crate = super::prelude::locks)]
    pub(super) async fn locked() -> Result<(), super::LockError> {
        super::refused("b").await;
        Ok(())
    }
}

#[test]
fn crate_path_from_a_parent() {
    case(async { elsewhere::locked().await.unwrap() });
}
