//! A backend whose storage can be put out of reach.

use std::time::Duration;

use lockruntime::backend::{
    Ask, Asked, Backend, BackendError, BackendErrorKind, BoxFuture, Capabilities, Release,
    Released, Renew, Renewals, Snapshot, Wakeups, Withdraw, Withdrawn,
};
use tokio::sync::watch;

/// Any backend, behind a connection that can be cut. While it is cut, nothing reaches the storage and nothing is answered.
#[derive(Clone, Debug)]
pub struct FaultyBackend<B> {
    inner: B,
    cut: watch::Sender<bool>,
}

impl<B: Backend + Clone> FaultyBackend<B> {
    /// A working one.
    pub fn around(inner: B) -> Self {
        Self {
            inner,
            cut: watch::Sender::new(false),
        }
    }

    /// Puts the storage out of reach.
    pub fn cut(&self) {
        self.cut.send_replace(true);
    }

    /// Brings it back.
    pub fn heal(&self) {
        self.cut.send_replace(false);
    }

    /// An error after `timeout` if the storage is out of reach.
    fn reach(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = Result<(), BackendError>> + Send + 'static {
        let cut = *self.cut.borrow();
        async move {
            if !cut {
                return Ok(());
            }
            tokio::time::sleep(timeout).await;
            Err(BackendError::new(
                BackendErrorKind::Timeout,
                "the test has put the storage out of reach",
            ))
        }
    }
}

impl<B: Backend + Clone> Backend for FaultyBackend<B> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn run(&self, channel: &str, wakeups: Wakeups) -> BoxFuture<()> {
        self.inner.run(channel, wakeups)
    }

    fn ask(&self, ask: Ask) -> BoxFuture<Asked> {
        let (reach, inner) = (self.reach(ask.valid), self.inner.clone());
        Box::pin(async move {
            match reach.await {
                Ok(()) => inner.ask(ask).await,
                Err(error) => Asked::new(Err(error), 0),
            }
        })
    }

    fn renew(&self, batch: Vec<Renew>, renewals: Renewals) -> BoxFuture<()> {
        let timeout = batch
            .iter()
            .map(|renew| renew.timeout)
            .max()
            .unwrap_or_default();
        let (reach, inner) = (self.reach(timeout), self.inner.clone());
        Box::pin(async move {
            // a renewal that is never reported counts as timed out
            if reach.await.is_ok() {
                inner.renew(batch, renewals).await;
            }
        })
    }

    fn release(&self, release: Release) -> BoxFuture<Result<Released, BackendError>> {
        let (reach, inner) = (self.reach(release.timeout), self.inner.clone());
        Box::pin(async move {
            reach.await?;
            inner.release(release).await
        })
    }

    fn withdraw(&self, withdraw: Withdraw) -> BoxFuture<Result<Withdrawn, BackendError>> {
        let (reach, inner) = (self.reach(withdraw.timeout), self.inner.clone());
        Box::pin(async move {
            reach.await?;
            inner.withdraw(withdraw).await
        })
    }

    fn snapshot(&self, record: &str) -> BoxFuture<Result<Snapshot, BackendError>> {
        let (reach, inner, record) = (
            self.reach(Duration::ZERO),
            self.inner.clone(),
            record.to_owned(),
        );
        Box::pin(async move {
            reach.await?;
            inner.snapshot(&record).await
        })
    }
}
