//! What the attribute says reaches the lock; B92: a length that comes at run time is checked before anything is asked for.

use std::fmt;
use std::time::Duration;

use lockruntime::{LockError, distributed_lock};

use crate::support::{alone, held};

/// How long the lock is held from now, rounded up to the second.
fn lease() -> u64 {
    let remaining = lockruntime::current().unwrap().remaining();
    remaining.as_secs() + u64::from(remaining.subsec_nanos() > 0)
}

#[distributed_lock(key = "a", lease = "30s")]
async fn seconds() -> Result<u64, LockError> {
    Ok(lease())
}

#[distributed_lock(key = "a", lease = "30000ms")]
async fn milliseconds() -> Result<u64, LockError> {
    Ok(lease())
}

#[distributed_lock(key = "a", lease = lease_of)]
async fn computed(lease_of: Duration) -> Result<u64, LockError> {
    Ok(lease())
}

#[test]
fn b92_leases_are_what_they_say() {
    alone(|_| async {
        assert_eq!(seconds().await.unwrap(), 30);
        assert_eq!(milliseconds().await.unwrap(), 30);
        assert_eq!(computed(Duration::from_secs(7)).await.unwrap(), 7);
    });
}

#[test]
fn b92_a_computed_lease_is_checked_before_any_command() {
    alone(|locks| async move {
        for wrong in [
            Duration::ZERO,
            Duration::from_millis(1),
            Duration::from_secs(86_401),
            Duration::MAX,
        ] {
            let error = computed(wrong).await.unwrap_err();
            assert!(
                matches!(error, LockError::InvalidLease { lease, .. } if lease == wrong),
                "{error}"
            );
            assert!(locks.snapshot("a").await.unwrap().held.is_none());
        }
    });
}

#[distributed_lock(key = "a", wait = wait)]
async fn waiting(wait: Duration) -> Result<(), LockError> {
    held();
    Ok(())
}

#[test]
fn b92_a_wait_may_be_as_long_as_a_duration() {
    alone(|_| async { waiting(Duration::MAX).await.unwrap() });
}

#[distributed_lock(key = "order:<id>:<tag>")]
async fn filled(id: impl fmt::Display, tag: &str) -> Result<String, LockError> {
    Ok(lockruntime::current().unwrap().key().to_string())
}

#[test]
fn values_go_in_by_display() {
    alone(|_| async {
        assert_eq!(filled(7, "x").await.unwrap(), "order:7:x");
        assert_eq!(filled("é{}", "%").await.unwrap(), "order:é%7B%7D:%25");
        let error = filled(1, "").await.unwrap_err();
        assert!(matches!(error, LockError::InvalidKey { .. }), "{error}");
        assert!(error.to_string().contains("<tag>"), "{error}");
    });
}

/// A key is filled before the arguments move, and once.
struct Counted<'a>(&'a std::cell::Cell<u32>);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.set(self.0.get() + 1);
        f.write_str("x")
    }
}

#[distributed_lock(key = "counted:<counted>")]
async fn counted(counted: Counted<'_>) -> Result<u32, LockError> {
    Ok(counted.0.get())
}

#[test]
fn a_value_is_written_once() {
    alone(|_| async { assert_eq!(counted(Counted(&std::cell::Cell::new(0))).await.unwrap(), 1) });
}
