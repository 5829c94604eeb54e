//! What is known of a held lock, and what its body may do with it.

use std::future::poll_fn;
use std::iter::once;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::Part;
use crate::backend::{BackendError, BackendErrorKind};
use crate::clock;
use crate::error::{LockError, LossReason};
use crate::hold::Ending;
use crate::key::LockKey;
use crate::options::SHORTEST_LEASE;
use crate::token::{FencingToken, OwnerToken};
use crate::watchdog::{Watchdog, WeakWatchdog};

/// What is known of a held lock from inside its body, see [`current`](crate::current). Cheap to clone; it doesn't keep the
/// lock.
///
/// Where a call locks several keys, one hold speaks for all: it is held while all of them are, lost when one of them is. For one
/// of them there is [`each`](Self::each) and [`of`](Self::of).
///
/// ```
/// # async fn body() -> Result<(), lockruntime::LockError> {
/// use std::time::Duration;
///
/// let locks = lockruntime::LockManager::memory();
/// let work = async {
///     let hold = lockruntime::current().expect("the body has the lock");
///     if hold.remaining() < Duration::from_secs(60) {
///         hold.extend(Duration::from_secs(120)).await?; // a long step that blocks its thread comes now
///     }
///     hold.release().await // what follows needs no lock
/// };
/// locks.lock("boleto:42").run(work).await??;
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(body()).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Hold {
    first: Part,
    others: Option<Arc<[Part]>>,
    watchdog: WeakWatchdog,
}

impl Hold {
    pub(crate) fn new(part: Part, watchdog: WeakWatchdog) -> Self {
        Self {
            first: part,
            others: None,
            watchdog,
        }
    }

    /// Of one part or more.
    pub(crate) fn of_parts(mut parts: Vec<Part>, watchdog: WeakWatchdog) -> Self {
        let others = parts.split_off(1);
        Self {
            first: parts.remove(0),
            others: (!others.is_empty()).then(|| others.into()),
            watchdog,
        }
    }

    pub(crate) fn first(&self) -> &Part {
        &self.first
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        once(&self.first).chain(self.others.iter().flat_map(|others| others.iter()))
    }

    fn one(&self, part: &Part) -> Self {
        Self::new(part.clone(), self.watchdog.clone())
    }

    /// The key that is held, the first of several.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.first.life.key
    }

    /// The hold of each key alone, in the order in which they were given.
    pub fn each(&self) -> impl Iterator<Item = Self> + '_ {
        self.parts().map(|part| self.one(part))
    }

    /// The hold of this key alone; `None` when it isn't one of this hold's.
    #[must_use]
    pub fn of(&self, key: &str) -> Option<Self> {
        let part = self.parts().find(|part| part.life.key.as_str() == key)?;
        Some(self.one(part))
    }

    /// The token of this grant, greater than those of all earlier grants of the key. Of several keys it is that of the first:
    /// each has its own, see [`each`](Self::each), and each store compares that of its key.
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.first.token
    }

    /// The proof of ownership that stands in the lock's record, of several keys in that of the first.
    #[must_use]
    pub fn owner_token(&self) -> OwnerToken {
        self.first.life.ticket
    }

    /// How long the lock is held if no further renewal is confirmed, and no longer than `max_hold`; zero once it is lost or given
    /// back. Of several keys the shortest.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let now = clock::now();
        let left = self.parts().map(|part| part.life.deadline().since(now));
        left.min().unwrap_or_default()
    }

    /// Whether the lock is held now, judged by this machine's clock; of several, all.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let now = clock::now();
        self.parts().all(|part| part.life.is_live(now))
    }

    /// Completes when the lock is lost, of several the first; at once when it was given back. Cancel safe.
    pub async fn lost(&self) -> LossReason {
        poll_fn(|context| self.poll_lost(context)).await.1
    }

    /// The first loss among the parts.
    pub(crate) fn poll_lost(&self, context: &mut Context<'_>) -> Poll<(&Part, LossReason)> {
        let now = clock::now();
        for part in self.parts() {
            if let Poll::Ready(reason) = part.life.poll_lost(now, context.waker()) {
                return Poll::Ready((part, reason));
            }
        }
        Poll::Pending
    }

    /// Lengthens the hold (`KeepLock`, `DelayMutex`): when this returns, the lock is ours for `length` from the call on (less 1 %
    /// and 2 ms for the drift of clocks), whatever becomes of the storage or of this thread, and every later renewal asks for as
    /// much. It never shortens. Without a watchdog it is lengthened this once.
    ///
    /// `max_hold` stays the cap. Waits for the storage's answer: while it is out of reach, to the end of the present lease.
    /// Dropping the future doesn't take the wish back.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidLease`] when `length` is under 100 ms or over 24 h (on a quorum 60 s); [`LockError::Lost`] or
    /// [`LockError::HoldCapReached`] when the hold ended first.
    pub async fn extend(&self, length: Duration) -> Result<(), LockError> {
        let life = &self.first.life;
        let longest = life.bounds.longest;
        if !(SHORTEST_LEASE..=longest).contains(&length) {
            return Err(LockError::InvalidLease {
                key: life.key.clone(),
                mode: life.mode,
                what: "extend",
                lease: length,
                longest,
            });
        }
        let asked = clock::now();
        if let Some(watchdog) = self.watchdog.upgrade() {
            for part in self.parts() {
                watchdog.extend(&part.life, length);
            }
        }
        for part in self.parts() {
            let extended = poll_fn(|context| {
                part.life
                    .poll_extended(asked, clock::now(), context.waker())
            });
            extended.await.map_err(|reason| part.ended(reason))?;
        }
        Ok(())
    }

    /// Gives the lock back early and waits for the answer, at most the manager's `release_timeout`. The body runs on, without
    /// the lock, but nested calls that run under it are stopped; what gives back at its end finds nothing left to do. A second
    /// call does nothing. In a nested call of a key that
    /// its chain holds it does nothing either: the outermost gives back. Dropping the future half-way still releases.
    ///
    /// # Errors
    ///
    /// As [`LockGuard::release`](crate::LockGuard::release).
    pub async fn release(&self) -> Result<(), LockError> {
        let losses: Vec<_> = self.own().map(Part::noticed_loss).collect();
        match self.watchdog.upgrade() {
            Some(watchdog) => self.leave(&watchdog, true),
            // no keeper without a guard, and no lock without a keeper
            None => return Ok(()),
        }
        let endings = self.gone().await;
        self.own()
            .zip(losses.into_iter().zip(endings))
            .try_for_each(|(part, (loss, ending))| told(part, loss, ending))
    }

    fn own(&self) -> impl Iterator<Item = &Part> {
        self.parts().filter(|part| !part.borrowed)
    }

    /// Hands the parts over to be given back; what was handed over before isn't again.
    pub(crate) fn leave(&self, watchdog: &Watchdog, waits: bool) {
        self.own()
            .for_each(|part| watchdog.leave(&part.life, waits));
    }

    /// Waits until each has been given back, or is waited for no longer.
    pub(crate) async fn settled(&self) {
        for part in self.own() {
            poll_fn(|context| part.life.poll_gone(context.waker())).await;
        }
    }

    /// How each giving back ends.
    async fn gone(&self) -> Vec<Ending> {
        let mut endings = Vec::new();
        for part in self.own() {
            endings.push(poll_fn(|context| part.life.poll_gone(context.waker())).await);
        }
        endings
    }

    /// Tells the losses that nobody has told.
    pub(crate) fn notice_loss(&self) {
        for part in self.own() {
            part.noticed_loss();
        }
    }
}

/// What whoever gives back is told.
fn told(part: &Part, loss: Option<LossReason>, ending: Ending) -> Result<(), LockError> {
    let reason = match (ending, loss) {
        (_, Some(reason)) => reason,
        (Ending::Released, None) => return Ok(()),
        (Ending::NotHeld, None) => LossReason::Taken,
        (Ending::Unconfirmed, None) => {
            let source = BackendError::new(
                BackendErrorKind::Timeout,
                "the release was not confirmed in time; it is tried again until the lease is over",
            );
            return Err(LockError::Backend {
                key: part.life.key.clone(),
                mode: part.life.mode,
                source,
            });
        }
    };
    Err(part.ended(reason))
}
