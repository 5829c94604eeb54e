//! Which manager a call talks to, and which lock the running body holds.

use std::fmt;
use std::future::Future;
use std::sync::OnceLock;

use crate::guard::Hold;
use crate::manager::LockManager;

tokio::task_local! {
    static MANAGER: LockManager;

}

static DEFAULT: OnceLock<LockManager> = OnceLock::new();

/// The process already has a default lock manager.
#[derive(Debug)]
pub struct InstallError(());

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a lock manager is already installed in this process; run the call in LockManager::scope to use another")
    }
}

impl std::error::Error for InstallError {}

pub(crate) fn install(manager: LockManager) -> Result<(), InstallError> {
    DEFAULT.set(manager).map_err(|_second| InstallError(()))
}

/// The manager for a call here: the task's own, else the process's default.
pub(crate) fn manager() -> Option<LockManager> {
    MANAGER
        .try_with(LockManager::clone)
        .ok()
        .or_else(|| DEFAULT.get().cloned())
}

pub(crate) async fn scope<F: Future>(manager: LockManager, future: F) -> F::Output {
    MANAGER.scope(manager, future).await
}

/// A future that has a name, for services; `make` is called inside of the scope, too.
#[cfg(any(feature = "actix", feature = "axum"))]
pub(crate) fn scoped<F: Future>(
    manager: &LockManager,
    make: impl FnOnce() -> F,
) -> tokio::task::futures::TaskLocalFuture<LockManager, F> {
    let future = MANAGER.sync_scope(manager.clone(), make);
    MANAGER.scope(manager.clone(), future)
}

/// The lock that the running body holds, the innermost where calls are nested; `None` outside of one, and in a task that the
/// body spawned.
///
/// ```
/// # async fn body() -> Result<(), lockruntime::LockError> {
/// let locks = lockruntime::LockManager::memory();
/// let token = locks
///     .lock("boleto:42")
///     .run(async { lockruntime::current().map(|hold| hold.fencing_token()) })
///     .await?;
/// assert!(token.is_some());
/// assert!(lockruntime::current().is_none());
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(body()).unwrap();
/// ```
#[must_use]
pub fn current() -> Option<Hold> {
    crate::reentry::current()
}
