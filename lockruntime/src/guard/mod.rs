//! A held lock, or several, in their caller's hands.

mod hold;
mod part;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

pub use hold::Hold;
pub(crate) use part::Part;

use crate::error::{LockError, LossReason};
use crate::hold::Life;
use crate::key::LockKey;
use crate::token::{FencingToken, OwnerToken};
use crate::watchdog::Watchdog;

/// A held lock, or several that were taken together. The leases are renewed until the guard goes.
///
/// Dropping it gives the lock back in the background: that never blocks, and works during a panic, in an aborted task and
/// outside of any runtime. [`release`](Self::release) does the same and waits for the answer.
///
/// The guard can't stop the code around it when the lock is lost, or held for as long as it may be: watch
/// [`lost`](Self::lost), or run the work with [`LockRequest::run`](crate::LockRequest::run) or the attribute, which do.
///
/// ```
/// # async fn body() -> Result<(), lockruntime::LockError> {
/// let locks = lockruntime::LockManager::memory();
/// let guard = locks.lock("boleto:42").acquire().await?;
/// println!("paying with token {}", guard.fencing_token());
/// guard.release().await?;
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(body()).unwrap();
/// ```
#[must_use = "dropping the guard releases the lock at once"]
#[derive(Debug)]
pub struct LockGuard {
    hold: Hold,
    watchdog: Watchdog,
}

impl LockGuard {
    /// For a life that has begun.
    pub(crate) fn new(life: Arc<Life>, watchdog: Watchdog) -> Self {
        Self {
            hold: Hold::new(Part::new(life), watchdog.downgrade()),
            watchdog,
        }
    }

    /// Takes on another life that has begun.
    pub(crate) fn add(&mut self, life: Arc<Life>) {
        let parts = self.hold.parts().cloned().chain([Part::new(life)]);
        self.hold = Hold::of_parts(parts.collect(), self.watchdog.downgrade());
    }

    /// The same with its keys in another order, a permutation of the present one.
    pub(crate) fn arranged(mut self, hold: Hold) -> Self {
        self.hold = hold;
        self
    }

    /// The work under the lock starts: its bounds count from now on.
    pub(crate) fn start(&self) {
        for part in self.hold.parts() {
            self.watchdog.work_starts(&part.life);
        }
    }

    /// What is known of the hold, to be passed around; it doesn't keep the lock.
    #[must_use]
    pub fn hold(&self) -> Hold {
        self.hold.clone()
    }

    /// The key that is held, the first of several.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        self.hold.key()
    }

    /// What is known of each key, in the order in which they were given.
    pub fn each(&self) -> impl Iterator<Item = Hold> + '_ {
        self.hold.each()
    }

    /// The token of this grant, greater than those of all earlier grants of the key; see [`Hold::fencing_token`].
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.hold.fencing_token()
    }

    /// The proof of ownership that stands in the lock's record.
    #[must_use]
    pub fn owner_token(&self) -> OwnerToken {
        self.hold.owner_token()
    }

    /// How long the lock is held if no further renewal is confirmed; zero once it is lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.hold.remaining()
    }

    /// Whether the lock is held now, judged by this machine's clock; of several, all.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.hold.is_held()
    }

    /// Completes when the lock is lost; see [`Hold::lost`]. Cancel safe.
    pub async fn lost(&self) -> LossReason {
        self.hold.lost().await
    }

    /// Lengthens the hold; see [`Hold::extend`]. Cancel safe.
    ///
    /// # Errors
    ///
    /// As [`Hold::extend`].
    pub async fn extend(&self, length: Duration) -> Result<(), LockError> {
        self.hold.extend(length).await
    }

    /// Gives the lock back and waits for the answer, at most the manager's `release_timeout` (1 s by default); after that the
    /// keeper goes on in the background until the release is confirmed or the lease is over. Dropping the future half-way
    /// does the same.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] when the lock was no longer held, [`LockError::HoldCapReached`] when it was held for as long as it
    /// may be, [`LockError::Backend`] when no answer came in time.
    pub async fn release(self) -> Result<(), LockError> {
        self.hold.release().await
    }

    /// Sends the release and waits until it is answered, or is waited for no longer.
    pub(crate) async fn finish(self) {
        self.hold.leave(&self.watchdog, true);
        self.hold.settled().await;
    }

    pub(crate) fn poll_lost(&self, context: &mut Context<'_>) -> Poll<(&Part, LossReason)> {
        self.hold.poll_lost(context)
    }

    pub(crate) fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.hold.notice_loss();
        self.hold.leave(&self.watchdog, false);
    }
}
