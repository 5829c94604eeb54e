//! `when`: a bool expression decides, call by call, whether there is a lock at all.

use lockruntime::{LockError, LockManager, distributed_lock};

use crate::support::{alone, is_busy};

type Answer = Result<bool, LockError>;

/// Whether the body runs under a lock.
#[distributed_lock(key = "a", mode = "reject", when = !dry_run)]
async fn argument(dry_run: bool) -> Answer {
    Ok(lockruntime::current().is_some())
}

struct Order {
    amount: u64,
}

#[distributed_lock(key = "order:<name>", when = order.amount > 100 && !name.is_empty())]
async fn expression(order: &Order, name: &str) -> Answer {
    Ok(lockruntime::current().is_some())
}

#[distributed_lock(key = "a", when = locked)]
async fn pattern((locked, _): (bool, String)) -> Answer {
    Ok(lockruntime::current().is_some())
}

#[distributed_lock(key = "a", when = cfg!(any()), guard = hold)]
async fn never() -> Result<Option<u64>, LockError> {
    Ok(hold.map(|hold| hold.fencing_token().get()))
}

#[distributed_lock(key = "a", when = locked, guard = hold)]
async fn named(locked: bool) -> Answer {
    Ok(hold.is_some_and(|hold| hold.is_held()))
}

#[distributed_lock(key = "a", when = locked, or_else = |_| false)]
async fn with_or_else(locked: bool) -> bool {
    lockruntime::current().is_some()
}

#[test]
fn it_locks_if_true_and_else_just_runs() {
    alone(|locks| async move {
        let order = |amount| Order { amount };
        assert!(argument(false).await.unwrap());
        assert!(expression(&order(101), "x").await.unwrap());
        assert!(pattern((true, String::new())).await.unwrap());
        assert!(named(true).await.unwrap());
        assert!(with_or_else(true).await);

        let guard = locks.lock("a").acquire().await.unwrap();
        let error = argument(false).await.unwrap_err();
        assert!(error.is_busy(), "{error}");
        assert!(!argument(true).await.unwrap());
        assert!(!pattern((false, String::new())).await.unwrap());
        assert!(!named(false).await.unwrap());
        assert!(!with_or_else(false).await);
        assert_eq!(never().await.unwrap(), None);
        assert!(!expression(&order(1), "x").await.unwrap());
        guard.release().await.unwrap();
    });
}

/// What the key would have been doesn't matter then.
#[test]
fn a_key_that_is_not_used_is_not_filled() {
    alone(|_| async {
        let order = Order { amount: 101 };
        assert!(!expression(&order, "").await.unwrap());
    });
}

#[test]
fn without_a_lock_there_is_no_need_for_a_manager() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    assert!(!runtime.block_on(argument(true)).unwrap());
    let error = runtime.block_on(argument(false)).unwrap_err();
    assert!(matches!(error, LockError::NotConfigured { .. }), "{error}");
}

#[distributed_lock(key = "outer", manager = locks)]
async fn outer(locks: &LockManager) -> Answer {
    assert!(!named(false).await?, "the outer lock is not this one");
    assert!(is_busy(locks, "outer").await);
    named(true).await
}

/// `guard` is the call's own hold or none, never that of the body around it.
#[test]
fn without_a_lock_guard_names_nothing() {
    alone(|locks| async move { assert!(outer(&locks).await.unwrap()) });
}
