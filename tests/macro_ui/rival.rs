//! For the cases under `pass/`: a rival of the function under test.
#![allow(dead_code)] // every case uses its part of it

use std::sync::OnceLock;

use lockruntime::LockManager;

static MANAGER: OnceLock<LockManager> = OnceLock::new();

/// The manager of the case.
pub(crate) fn manager() -> &'static LockManager {
    MANAGER.get_or_init(LockManager::memory)
}

/// Runs a case on its manager.
pub(crate) fn run<T>(case: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(manager().scope(case))
}

/// To be called in a body: panics unless the body holds `key`.
#[track_caller]
pub(crate) fn refused(key: &str) -> impl Future<Output = ()> + Send + use<> {
    let caller = std::panic::Location::caller();
    let key = key.to_owned();
    async move {
        let error = manager()
            .lock(&key)
            .try_acquire()
            .await
            .map(drop)
            .expect_err("a rival entered");
        assert!(error.is_busy(), "{error} at {caller}");
    }
}
