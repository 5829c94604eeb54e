//! A memory manager and a runtime for one test.

use std::future::Future;

use lockruntime::LockManager;

/// Runs a test on one thread, under a manager of its own.
pub(crate) fn alone<F: Future>(test: impl FnOnce(LockManager) -> F) -> F::Output {
    let locks = LockManager::memory();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(locks.scope(test(locks.clone())))
}

/// For the first line of a body: it runs under its lock.
#[track_caller]
pub(crate) fn held() {
    assert!(lockruntime::current().is_some_and(|hold| hold.is_held()));
}

/// Whether somebody has `key`, or waits for it.
pub(crate) async fn is_busy(locks: &LockManager, key: &str) -> bool {
    match locks.lock(key).try_acquire().await {
        Ok(guard) => {
            guard.release().await.unwrap();
            false
        }
        Err(error) => {
            assert!(error.is_busy(), "{error}");
            true
        }
    }
}
