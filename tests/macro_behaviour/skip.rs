//! `mode = "skip"`: not run where the lock isn't free, which is no error; everything else still is one.

use std::cell::Cell;
use std::time::Duration;

use lockruntime::{LockError, LockManager, distributed_lock};
use tests::logs;

use crate::support::{alone, held, is_busy};

#[derive(Debug, PartialEq)]
enum JobError {
    Lock,
    Own,
}

impl From<LockError> for JobError {
    fn from(_: LockError) -> Self {
        Self::Lock
    }
}

#[distributed_lock(key = "job", mode = "skip")]
async fn nothing(runs: &Cell<u32>) {
    held();
    runs.set(runs.get() + 1);
}

#[distributed_lock(key = "job", mode = "skip")]
async fn option() -> Option<u64> {
    held();
    Some(7)
}

#[distributed_lock(key = "job", mode = "skip")]
async fn result(fails: bool) -> Result<(), JobError> {
    held();
    if fails { Err(JobError::Own) } else { Ok(()) }
}

#[distributed_lock(key = "job", mode = "skip")]
async fn result_of_option() -> Result<Option<u64>, JobError> {
    held();
    Ok(Some(7))
}

#[test]
fn a_held_lock_is_no_error() {
    alone(|locks| async move {
        let runs = Cell::new(0);
        let guard = locks.lock("job").acquire().await.unwrap();
        nothing(&runs).await;
        assert_eq!(runs.get(), 0, "skipped");
        assert_eq!(option().await, None);
        assert_eq!(result(true).await, Ok(()));
        assert_eq!(result_of_option().await, Ok(None));
        guard.release().await.unwrap();

        nothing(&runs).await;
        assert_eq!(runs.get(), 1, "run");
        assert_eq!(option().await, Some(7));
        assert_eq!(result(true).await, Err(JobError::Own));
        assert_eq!(result_of_option().await, Ok(Some(7)));
    });
}

/// A skipped call leaves no ticket behind, and isn't run by somebody's release later.
#[test]
fn a_skipped_call_is_over() {
    alone(|locks| async move {
        let runs = Cell::new(0);
        let guard = locks.lock("job").acquire().await.unwrap();
        nothing(&runs).await;
        guard.release().await.unwrap();
        assert!(!is_busy(&locks, "job").await);
        assert_eq!(runs.get(), 0);
    });
}

/// Whoever shuts down, or has no manager, is told, where there is room; else it is logged.
#[test]
fn every_other_refusal_is_told() {
    logs::listen();
    let runs = Cell::new(0);
    alone(|locks| async move {
        locks.shutdown(Duration::ZERO).await;
        assert_eq!(result(false).await, Err(JobError::Lock));
        assert_eq!(result_of_option().await, Err(JobError::Lock));
        let before = logs::warnings_about(&["job"]).len();
        nothing(&runs).await;
        assert_eq!(option().await, None);
        let warnings = logs::warnings_about(&["job"]);
        assert_eq!(runs.get(), 0);
        assert_eq!(warnings.len() - before, 2, "{warnings:#?}");
        assert!(warnings[before].contains("shutting down"), "{warnings:#?}");
    });
}

#[distributed_lock(key = "job", mode = "skip", min_hold = "80ms")]
async fn with_a_minimum(runs: &Cell<u32>) {
    runs.set(runs.get() + 1);
}

/// What makes one run of many starts: the lock stays taken for longer than the starts are apart.
#[test]
fn the_minimum_keeps_late_comers_out() {
    alone(|_| async {
        let runs = Cell::new(0);
        for _ in 0..3 {
            with_a_minimum(&runs).await;
        }
        assert_eq!(runs.get(), 1);
        tokio::time::sleep(Duration::from_millis(120)).await;
        with_a_minimum(&runs).await;
        assert_eq!(runs.get(), 2);
    });
}

#[distributed_lock(key = "job", manager = locks)]
async fn outer(locks: &LockManager) -> Result<Option<u64>, LockError> {
    Ok(locks.scope(option()).await)
}

/// A job that calls itself goes on under its own lock.
#[test]
fn inside_of_the_same_lock_it_runs() {
    alone(|locks| async move { assert_eq!(outer(&locks).await.unwrap(), Some(7)) });
}

#[test]
fn by_hand() {
    alone(|locks| async move {
        let guard = locks.lock("job").acquire_or_skip().await.unwrap();
        let guard = guard.expect("nobody has it");
        let request = || locks.lock("job");
        assert!(request().acquire_or_skip().await.unwrap().is_none());
        assert_eq!(request().run_or_skip(async { 7 }).await.unwrap(), None);
        let both = locks.lock_all(["other", "job"]).acquire_or_skip().await;
        assert!(both.unwrap().is_none());
        assert!(!is_busy(&locks, "other").await, "all or none");
        guard.release().await.unwrap();
        assert_eq!(request().run_or_skip(async { 7 }).await.unwrap(), Some(7));
        let error = locks.lock("").acquire_or_skip().await.unwrap_err();
        assert!(matches!(error, LockError::InvalidKey { .. }), "{error}");
    });
}
