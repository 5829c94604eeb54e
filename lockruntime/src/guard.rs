//! A held lock in its caller's hands.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{BackendError, BackendErrorKind};
use crate::clock;
use crate::error::{LockError, LossReason};
use crate::hold::{Ending, Life};
use crate::key::LockKey;
use crate::telemetry::{self, Event};
use crate::token::{FencingToken, OwnerToken};
use crate::watchdog::Watchdog;

/// A held lock. Its lease is renewed until the guard goes.
///
/// Dropping it gives the lock back in the background: that never blocks, and works during a panic, in an aborted task and
/// outside of any runtime. [`release`](Self::release) does the same and waits for the answer.
///
/// The guard can't stop the code around it when the lock is lost: watch [`lost`](Self::lost), or run the work with
/// [`LockRequest::run`](crate::LockRequest::run) or the attribute, which do.
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
        let token = life.token().expect("a hold that began has its token");
        Self {
            hold: Hold { life, token },
            watchdog,
        }
    }

    /// What is known of the hold, to be passed around; it doesn't keep the lock.
    #[must_use]
    pub fn hold(&self) -> Hold {
        self.hold.clone()
    }

    /// The key that is held.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        self.hold.key()
    }

    /// The token of this grant, greater than those of all earlier grants of the key.
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

    /// Whether the lock is held now, judged by this machine's clock.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.hold.is_held()
    }

    /// Completes when the lock is lost. Cancel safe.
    pub async fn lost(&self) -> LossReason {
        self.hold.lost().await
    }

    /// Gives the lock back and waits for the answer, at most the manager's `release_timeout` (1 s by default); after that the
    /// keeper goes on in the background until the release is confirmed or the lease is over. Dropping the future half-way
    /// does the same.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] when the lock was no longer held, [`LockError::Backend`] when no answer came in time.
    pub async fn release(self) -> Result<(), LockError> {
        let (key, mode) = (self.key().clone(), self.hold.life.mode);
        let lost = self.noticed_loss();
        match (self.finish().await, lost) {
            (_, Some(reason)) => Err(LockError::Lost { key, mode, reason }),
            (Ending::Released, None) => Ok(()),
            (Ending::NotHeld, None) => {
                let reason = LossReason::Taken;
                Err(LockError::Lost { key, mode, reason })
            }
            (Ending::Unconfirmed, None) => {
                let source = BackendError::new(
                    BackendErrorKind::Timeout,
                    "the release was not confirmed in time; it is tried again until the lease is over",
                );
                Err(LockError::Backend { key, mode, source })
            }
        }
    }

    /// Sends the release and waits for how it ends.
    pub(crate) async fn finish(self) -> Ending {
        self.watchdog.leave(&self.hold.life, true);
        poll_fn(|context| self.hold.life.poll_gone(context.waker())).await
    }

    pub(crate) fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    pub(crate) fn life(&self) -> &Life {
        &self.hold.life
    }

    /// The loss of the lock, if there was one by now; tells it, unless somebody has.
    pub(crate) fn noticed_loss(&self) -> Option<LossReason> {
        let life = &self.hold.life;
        if life.is_live(clock::now()) {
            return None;
        }
        let reason = life.lose(LossReason::LeaseOver);
        if life.report_loss() {
            telemetry::emit(&Event::Lost { life });
        }
        reason
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.noticed_loss();
        self.watchdog.leave(&self.hold.life, false);
    }
}

/// What is known of a held lock from inside its body, see [`current`](crate::current). Cheap to clone; it doesn't keep the
/// lock.
#[derive(Clone, Debug)]
pub struct Hold {
    life: Arc<Life>,
    token: FencingToken,
}

impl Hold {
    /// The key that is held.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.life.key
    }

    /// The token of this grant, greater than those of all earlier grants of the key.
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.token
    }

    /// The proof of ownership that stands in the lock's record.
    #[must_use]
    pub fn owner_token(&self) -> OwnerToken {
        self.life.ticket
    }

    /// How long the lock is held if no further renewal is confirmed; zero once it is lost or given back.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.life.deadline().since(clock::now())
    }

    /// Whether the lock is held now, judged by this machine's clock.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.life.is_live(clock::now())
    }

    pub(crate) fn lost_error(&self, reason: LossReason) -> LockError {
        LockError::Lost {
            key: self.life.key.clone(),
            mode: self.life.mode,
            reason,
        }
    }

    /// Completes when the lock is lost; at once when it was given back. Cancel safe.
    pub async fn lost(&self) -> LossReason {
        poll_fn(|context| self.life.poll_lost(clock::now(), context.waker())).await
    }
}
