//! A manager for the requests of an application.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::task::futures::TaskLocalFuture;

use crate::current;
use crate::manager::LockManager;

/// Gives the handlers of an application their lock manager: a layer for axum, a middleware for actix-web.
///
/// Annotated functions that a request calls find this manager, whatever the process's default is, as in
/// [`LockManager::scope`]. Tasks that a handler spawns, and a response's body that is streamed after the handler has returned, are
/// outside.
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// use axum::{Router, routing::post};
/// use lockruntime::web::WithManager;
/// use lockruntime::{LockError, LockManager, distributed_lock};
///
/// #[distributed_lock(key = "close", mode = "reject")]
/// async fn close() -> Result<&'static str, LockError> {
///     Ok("closed")
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let locks = LockManager::from_url("memory://")?;
/// let router: Router = Router::new().route("/close", post(close)).layer(WithManager::new(locks));
/// # Ok(()) }
/// ```
#[cfg_attr(feature = "actix", doc = "```")]
#[cfg_attr(not(feature = "actix"), doc = "```ignore")]
/// use actix_web::App;
/// use lockruntime::LockManager;
/// use lockruntime::web::WithManager;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let locks = LockManager::from_url("memory://")?;
/// let app = App::new().wrap(WithManager::new(locks));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct WithManager {
    locks: LockManager,
}

impl WithManager {
    /// For every request, `locks`.
    #[must_use]
    pub fn new(locks: LockManager) -> Self {
        Self { locks }
    }

    pub(super) fn around<S>(&self, inner: S) -> ScopedService<S> {
        let locks = self.locks.clone();
        ScopedService { inner, locks }
    }
}

/// What [`WithManager`] makes of a service.
#[derive(Clone, Debug)]
pub struct ScopedService<S> {
    pub(super) inner: S,
    pub(super) locks: LockManager,
}

pin_project! {
    /// One request's answer, worked out with the manager of its [`WithManager`]. Dropping it drops the handler.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Scoped<F> {
        #[pin]
        future: TaskLocalFuture<LockManager, F>,
    }
}

impl<F: Future> Scoped<F> {
    pub(super) fn new(locks: &LockManager, call: impl FnOnce() -> F) -> Self {
        let future = current::scoped(locks, call);
        Self { future }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().future.poll(context)
    }
}
