//! One acquisition through the guard API.

use std::future::Future;
use std::time::Duration;

use crate::error::LockError;
use crate::guard::LockGuard;
use crate::key::LockKey;
use crate::manager::{LockManager, run};
use crate::options::Mode;
use crate::watchdog::Order;

/// A lock that is about to be asked for; see [`LockManager::lock`].
///
/// Nothing happens until one of its three verbs is awaited. All of them are cancel safe: dropping the future gives back the
/// ticket, or the lock if it was just won, in the background.
#[derive(Clone, Debug)]
#[must_use = "call acquire, try_acquire or run"]
pub struct LockRequest<'a> {
    manager: &'a LockManager,
    key: &'a str,
    lease: Option<Duration>,
    wait: Option<Duration>,
    name_of: &'a str,
}

impl<'a> LockRequest<'a> {
    pub(crate) fn new(manager: &'a LockManager, key: &'a str) -> Self {
        Self {
            manager,
            key,
            lease: None,
            wait: None,
            name_of: "",
        }
    }

    /// How long the lock lives without a renewal, 100 ms to 24 h; it is renewed every third of it.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// How long to wait for the turn; zero is one try. Only [`acquire`](Self::acquire) and [`run`](Self::run) wait.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// A name for people who read the lock's record, its field `nameOf`.
    pub fn name_of(mut self, name: &'a str) -> Self {
        self.name_of = name;
        self
    }

    /// Waits for the turn and takes the lock.
    ///
    /// # Errors
    ///
    /// [`LockError`] with the reason why the lock isn't held; [`LockError::SelfDeadlock`] inside of a body that has it.
    pub async fn acquire(self) -> Result<LockGuard, LockError> {
        self.take(Mode::Queue).await
    }

    /// Takes the lock if it is free and nobody waits for it.
    ///
    /// # Errors
    ///
    /// [`LockError::Busy`] when somebody has it or waits for it, else the reason why it isn't held.
    pub async fn try_acquire(self) -> Result<LockGuard, LockError> {
        self.take(Mode::Reject).await
    }

    /// Waits for the turn, runs `body` under the lock, and releases. Inside of a body that has the lock already, `body` goes on
    /// under it. The body is dropped at its next await if the lock is lost.
    ///
    /// # Errors
    ///
    /// [`LockError`] when the lock could not be had, and then the body has not been polled; or [`LockError::Lost`].
    pub async fn run<F: Future>(self, body: F) -> Result<F::Output, LockError> {
        // boxed before acquiring: the future is smaller for it, and the body's address is its own
        let body = Box::pin(body);
        let order = self.order(Mode::Queue)?;
        run::run_ordered(self.manager, order, body).await
    }

    async fn take(self, mode: Mode) -> Result<LockGuard, LockError> {
        let order = self.order(mode)?;
        if mode == Mode::Queue && self.manager.held(&order).is_some() {
            let key = order.life.key.clone();
            return Err(LockError::SelfDeadlock { key, mode });
        }
        self.manager.acquire(order).await
    }

    fn order(&self, mode: Mode) -> Result<Box<Order>, LockError> {
        let invalid = |reason: crate::key::InvalidKey| LockError::InvalidKey {
            template: self.key.to_owned(),
            mode,
            reason: reason.to_string(),
        };
        let key = LockKey::from_text(self.key, self.manager.key_limit()).map_err(invalid)?;
        // a wait is for those who wait
        let wait = self.wait.filter(|_| mode == Mode::Queue);
        self.manager
            .order(key, mode, self.lease, wait, self.name_of)
    }
}
