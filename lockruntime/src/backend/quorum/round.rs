//! One question to all nodes at the same time, answered one by one.

use futures_util::stream::{FuturesUnordered, StreamExt};

use super::node::Said;
use crate::backend::{BackendError, BoxFuture};
use crate::clock::{self, Moment};

/// The answers that are still to come.
pub(super) struct Round<T>(FuturesUnordered<BoxFuture<(usize, Result<T, BackendError>)>>);

impl<T: Send + 'static> Round<T> {
    pub(super) fn new(calls: impl Iterator<Item = (usize, Said<T>)>) -> Self {
        Self(
            calls
                .map(|(node, call)| -> BoxFuture<_> { Box::pin(async move { (node, call.await) }) })
                .collect(),
        )
    }

    /// The next answer; `None` when all have answered, or none comes in time.
    pub(super) async fn next(&mut self, until: Moment) -> Option<(usize, Result<T, BackendError>)> {
        clock::within(until.since(clock::now()), self.0.next())
            .await
            .flatten()
    }

    /// The next answer, whenever it comes: each call ends by itself.
    pub(super) async fn rest(&mut self) -> Option<(usize, Result<T, BackendError>)> {
        self.0.next().await
    }
}
