//! The call returns what the body returned, or panics with what it panicked with; the lock is free afterwards.

use lockruntime::{LockError, LockManager, distributed_lock};

use crate::support::{alone, held, is_busy};

#[derive(Debug, PartialEq)]
enum PayError {
    Refused,
    NoNumber,
}

impl From<LockError> for PayError {
    fn from(_: LockError) -> Self {
        Self::Refused
    }
}

impl From<std::num::ParseIntError> for PayError {
    fn from(_: std::num::ParseIntError) -> Self {
        Self::NoNumber
    }
}

#[distributed_lock(key = "a")]
async fn outcome(text: &str) -> Result<u64, PayError> {
    held();
    if text == "early" {
        return Ok(1);
    }
    if text == "panic" {
        std::panic::panic_any(vec![1, 2, 3]);
    }
    let number = text.parse::<u64>()?;
    tokio::task::yield_now().await;
    Ok(number)
}

#[test]
fn values_and_errors_are_the_bodys() {
    alone(|locks| async move {
        assert_eq!(outcome("7").await, Ok(7));
        assert!(!is_busy(&locks, "a").await);
        assert_eq!(outcome("early").await, Ok(1));
        assert!(!is_busy(&locks, "a").await);
        assert_eq!(outcome("x").await, Err(PayError::NoNumber));
        assert!(!is_busy(&locks, "a").await);
    });
}

#[test]
fn a_refusal_becomes_the_functions_error() {
    alone(|locks| async move {
        locks.shutdown(std::time::Duration::ZERO).await;
        assert_eq!(outcome("7").await, Err(PayError::Refused));
    });
}

#[test]
fn panics_keep_their_payload() {
    alone(|locks| async move {
        let call = locks.scope(async { outcome("panic").await });
        let payload = tokio::spawn(call).await.unwrap_err().into_panic();
        assert_eq!(payload.downcast_ref::<Vec<i32>>(), Some(&vec![1, 2, 3]));
        // released in the background: the next in line gets it
        locks
            .lock("a")
            .acquire()
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
    });
}

#[test]
fn without_a_manager_the_body_does_not_run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    assert_eq!(runtime.block_on(outcome("7")), Err(PayError::Refused));
}

#[test]
fn each_scope_has_its_own_locks() {
    alone(|locks| async move {
        let guard = locks.lock("a").acquire().await.unwrap();
        let elsewhere = LockManager::memory();
        assert_eq!(elsewhere.scope(async { outcome("7").await }).await, Ok(7));
        guard.release().await.unwrap();
    });
}
