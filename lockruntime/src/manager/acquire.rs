//! One acquisition through the guard API.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::error::LockError;
use crate::guard::LockGuard;
use crate::key::LockKey;
use crate::manager::{LockManager, Named, Wanted, run, several};
use crate::options::{Mode, OnLost, Sharing, Terms};
use crate::telemetry::NO_TEMPLATE;

/// A lock that is about to be asked for, or several; see [`LockManager::lock`] and [`LockManager::lock_all`].
///
/// Nothing happens until one of its verbs is awaited. All of them are cancel safe: dropping the future gives back the
/// ticket, or the lock if it was just won, in the background.
#[derive(Clone, Debug)]
#[must_use = "call acquire, try_acquire or run"]
pub struct LockRequest<'a> {
    manager: &'a LockManager,
    keys: Keys<'a>,
    terms: Terms,
    name_of: &'a str,
    template: &'static str,
}

#[derive(Clone, Debug)]
enum Keys<'a> {
    One(&'a str),
    Several(Vec<&'a str>),
}

impl<'a> LockRequest<'a> {
    pub(crate) fn new(manager: &'a LockManager, key: &'a str) -> Self {
        Self::of(manager, Keys::One(key))
    }

    pub(crate) fn several(manager: &'a LockManager, keys: Vec<&'a str>) -> Self {
        Self::of(manager, Keys::Several(keys))
    }

    fn of(manager: &'a LockManager, keys: Keys<'a>) -> Self {
        Self {
            manager,
            keys,
            terms: Terms::default(),
            name_of: "",
            template: NO_TEMPLATE,
        }
    }

    /// How long the lock lives without a renewal, 100 ms to 24 h; it is renewed every third of it.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.terms.lease = Some(lease);
        self
    }

    /// How long to wait for the turn, for several keys in all; zero is one try. Only [`acquire`](Self::acquire) and
    /// [`run`](Self::run) wait.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.terms.wait = Some(wait);
        self
    }

    /// Where so many callers wait for the key already, refuse with [`LockError::Busy`] instead of joining them; zero is never to
    /// wait. Callers that died count until their tickets are dropped, a few asks later.
    pub fn max_waiters(mut self, most: u32) -> Self {
        self.terms.max_waiters = Some(most);
        self
    }

    /// How long the lock may be held at the most. [`run`](Self::run) drops its body then and returns
    /// [`LockError::HoldCapReached`]; a guard is no longer renewed and says so by [`LockGuard::lost`]. Counted from the start of
    /// the work, when all keys are held.
    pub fn max_hold(mut self, most: Duration) -> Self {
        self.terms.max_hold = Some(most);
        self
    }

    /// How long the lock stays taken at least, however short the work is, at most 24 h. Whoever gives it back doesn't wait for
    /// that; nothing renews it meanwhile, and if this process dies it isn't for longer. A lock that was lost isn't kept.
    pub fn min_hold(mut self, least: Duration) -> Self {
        self.terms.min_hold = Some(least);
        self
    }

    /// `false`: the lease isn't renewed, its end is the cap of the hold ([`LockError::HoldCapReached`]).
    pub fn watchdog(mut self, renews: bool) -> Self {
        self.terms.watchdog = renews;
        self
    }

    /// What becomes of the body of [`run`](Self::run) when the lock is lost; it is stopped by default.
    pub fn on_lost(mut self, on_lost: OnLost) -> Self {
        self.terms.on_lost = on_lost;
        self
    }

    /// `false`: [`run`](Self::run) inside of a body that has the lock is [`LockError::SelfDeadlock`], instead of going on under it.
    pub fn reentrant(mut self, reentrant: bool) -> Self {
        self.terms.reentrant = reentrant;
        self
    }

    /// [`run`](Self::run) hands the release over and returns at once, instead of waiting for the storage's answer.
    pub fn release_in_background(mut self) -> Self {
        self.terms.in_background = true;
        self
    }

    /// So many callers may hold the lock beside each other, over all processes; all callers of the key must say the same number,
    /// else they are refused with [`LockError::PermitsDiffer`]. One of [`read`](Self::read) or [`write`](Self::write) said later
    /// takes its place.
    pub fn permits(mut self, permits: u32) -> Self {
        self.terms.sharing = Sharing::Permits(permits);
        self
    }

    /// Holds the lock beside other readers.
    pub fn read(mut self) -> Self {
        self.terms.sharing = Sharing::Read;
        self
    }

    /// Holds the lock alone, where others may be readers. A lock of which nothing of this is said excludes readers and permits
    /// just the same.
    pub fn write(mut self) -> Self {
        self.terms.sharing = Sharing::Write;
        self
    }

    /// A name for people who read the lock's record, its field `nameOf`.
    pub fn name_of(mut self, name: &'a str) -> Self {
        self.name_of = name;
        self
    }

    /// What events, spans and metrics count this lock under: the key without its values, such as `"boleto:<id>"`.
    pub fn template(mut self, template: &'static str) -> Self {
        self.template = template;
        self
    }

    /// Waits for the turn and takes the lock.
    ///
    /// # Errors
    ///
    /// [`LockError`] with the reason why the lock isn't held; [`LockError::SelfDeadlock`] inside of a body that has it. Of several
    /// keys none is held then.
    pub async fn acquire(self) -> Result<LockGuard, LockError> {
        self.take(Mode::Queue).await
    }

    /// Takes the lock if it is free and nobody waits for it; of several keys all, or none.
    ///
    /// # Errors
    ///
    /// [`LockError::Busy`] when somebody has it or waits for it, else the reason why it isn't held.
    pub async fn try_acquire(self) -> Result<LockGuard, LockError> {
        self.take(Mode::Reject).await
    }

    /// Like [`try_acquire`](Self::try_acquire), with `None` where somebody has the lock or waits for it.
    ///
    /// ```
    /// # async fn body() -> Result<(), lockruntime::LockError> {
    /// let locks = lockruntime::LockManager::memory();
    /// let first = locks.lock("report").acquire_or_skip().await?;
    /// assert!(first.is_some());
    /// assert!(locks.lock("report").acquire_or_skip().await?.is_none());
    /// # Ok(()) }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(body()).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Every other reason why the lock isn't held.
    pub async fn acquire_or_skip(self) -> Result<Option<LockGuard>, LockError> {
        unless_busy(self.take(Mode::Skip).await)
    }

    /// Waits for the turn, runs `body` under the lock, and releases. Inside of a body that has the lock already, `body` goes on
    /// under it, on the terms of that one. The body is dropped at its next await if the lock is lost.
    ///
    /// # Errors
    ///
    /// [`LockError`] when the lock could not be had, and then the body has not been polled; or [`LockError::Lost`] or
    /// [`LockError::HoldCapReached`].
    pub async fn run<F: Future>(self, body: F) -> Result<F::Output, LockError> {
        // boxed before acquiring: the future is smaller for it, and the body's address is its own
        let body = Box::pin(body);
        self.run_boxed(Mode::Queue, body).await
    }

    /// Like [`run`](Self::run), but `body` isn't run, and the answer is `None`, where somebody has the lock or waits for it.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn run_or_skip<F: Future>(self, body: F) -> Result<Option<F::Output>, LockError> {
        let body = Box::pin(body);
        unless_busy(self.run_boxed(Mode::Skip, body).await)
    }

    async fn run_boxed<F: Future>(
        self,
        mode: Mode,
        body: Pin<Box<F>>,
    ) -> Result<F::Output, LockError> {
        let in_background = self.terms.in_background;
        let wanted = self.want(mode)?;
        run::run_wanted(self.manager.clone(), wanted, body, in_background).await
    }

    async fn take(self, mode: Mode) -> Result<LockGuard, LockError> {
        let order = match self.want(mode)? {
            Wanted::One(order) => order,
            Wanted::Several(wanted) => {
                return Box::pin(several::acquire(self.manager, wanted)).await;
            }
        };
        if mode == Mode::Queue
            && let Some(link) = self.manager.held(&order.record)
        {
            return Err(order.self_deadlock(link.sharing));
        }
        self.manager.acquire(order).await
    }

    fn want(&self, mode: Mode) -> Result<Wanted, LockError> {
        let terms = Terms { mode, ..self.terms };
        let invalid = |text: &str, reason: String| {
            let shown = self.manager.redaction().shown(text, self.template);
            LockError::InvalidKey {
                template: shown.map_or_else(|| text.to_owned(), |shown| shown.text.clone()),
                mode,
                reason,
            }
        };
        let key = |text: &&str| {
            let key = LockKey::from_text(text, self.manager.key_limit())
                .map_err(|reason| invalid(text, reason.to_string()))?;
            let template = self.template;
            Ok(Named { key, template })
        };
        match &self.keys {
            Keys::One(text) => self.manager.want(key(text)?, terms, self.name_of),
            Keys::Several(texts) if texts.is_empty() => {
                Err(invalid("", "there is no key; give one at least".to_owned()))
            }
            Keys::Several(texts) => {
                let keys = texts.iter().map(key).collect::<Result<_, _>>()?;
                self.manager.want_all(keys, terms, self.name_of)
            }
        }
    }
}

/// `None` where somebody else has the lock, or waits for it.
fn unless_busy<T>(outcome: Result<T, LockError>) -> Result<Option<T>, LockError> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(LockError::Busy { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
