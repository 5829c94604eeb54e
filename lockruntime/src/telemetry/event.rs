//! What can happen to a lock, for whoever wants to know.

use std::time::Duration;

use crate::error::{BackendError, LockError, LossReason};
use crate::health::Finding;
use crate::hold::Life;
use crate::key::LockKey;
use crate::options::Mode;
use crate::token::{FencingToken, OwnerToken};

/// The lock that an event is about, and the call that wants it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Subject<'a> {
    /// The filled key. It may be personal data: its `Debug` shows what [`Redact`](crate::Redact) allows, its `Display` all of it.
    pub key: &'a LockKey,
    /// The key as the attribute has it, placeholders and all: few enough to count by. `(none)` for a lock taken by hand.
    pub template: &'static str,
    /// The mode of the call.
    pub mode: Mode,
    /// The owner token of this acquisition, the same in all its events.
    pub owner: OwnerToken,
}

/// Something that happened, as [`LockManagerBuilder::on_event`](crate::LockManagerBuilder::on_event) is told it.
///
/// The enum and its variants grow: match with `..` and a last arm for the rest.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The lock is held; the body starts.
    #[non_exhaustive]
    Acquired {
        /// Which lock.
        lock: Subject<'a>,
        /// The token of the grant.
        token: FencingToken,
        /// How long it took from the call on.
        waited: Duration,
    },
    /// The call was refused: somebody has the lock, or too many wait.
    #[non_exhaustive]
    Busy {
        /// Which lock.
        lock: Subject<'a>,
        /// What the holder's lease has left, where known.
        remaining: Option<Duration>,
    },
    /// The call waits: told when it joins the queue and whenever its rank changes.
    #[non_exhaustive]
    Waiting {
        /// Which lock.
        lock: Subject<'a>,
        /// How many callers stand before it.
        rank: u64,
        /// It has just joined.
        joined: bool,
    },
    /// The turn didn't come within the call's `wait`.
    #[non_exhaustive]
    WaitTimedOut {
        /// Which lock.
        lock: Subject<'a>,
        /// How long it waited.
        waited: Duration,
        /// How many stood before it at the last look, where known.
        rank: Option<u64>,
    },
    /// The lock could not be had for another reason: the storage, a right, a shutdown.
    #[non_exhaustive]
    Failed {
        /// Which lock.
        lock: Subject<'a>,
        /// Why.
        error: &'a LockError,
    },
    /// A ticket has left the queue without its turn: its wait ended, or its caller went away.
    #[non_exhaustive]
    Withdrawn {
        /// Which lock.
        lock: Subject<'a>,
    },
    /// A renewal was confirmed.
    #[non_exhaustive]
    Renewed {
        /// Which lock.
        lock: Subject<'a>,
    },
    /// A renewal was not answered, or with an error; it is tried again while the lease lasts.
    #[non_exhaustive]
    RenewalFailed {
        /// Which lock.
        lock: Subject<'a>,
        /// What the storage said.
        error: &'a BackendError,
        /// How long the lock is still held without a confirmation.
        left: Duration,
    },
    /// The lock was given back.
    #[non_exhaustive]
    Released {
        /// Which lock.
        lock: Subject<'a>,
        /// How long it was held.
        held: Duration,
        /// Nobody waited for the answer: the guard was dropped, the call cancelled, or it releases in the background.
        dropped: bool,
    },
    /// The lock could not be given back at the first try; that goes on until its lease is over.
    #[non_exhaustive]
    ReleaseFailed {
        /// Which lock.
        lock: Subject<'a>,
        /// What the storage said.
        error: &'a BackendError,
    },
    /// The lock was no longer ours when it was given back, and nobody had noticed.
    #[non_exhaustive]
    NotOurs {
        /// Which lock.
        lock: Subject<'a>,
    },
    /// The lock was held and is no longer.
    #[non_exhaustive]
    Lost {
        /// Which lock.
        lock: Subject<'a>,
        /// The token of the grant, where it is still known.
        token: Option<FencingToken>,
        /// How it was noticed.
        reason: LossReason,
        /// How long it was held.
        held: Duration,
        /// The body runs on without the lock (`on_lost = "continue"`); else it is stopped.
        runs_on: bool,
    },
    /// The lock was held for as long as it may be; the body is stopped.
    #[non_exhaustive]
    CapReached {
        /// Which lock.
        lock: Subject<'a>,
        /// How long it was held.
        held: Duration,
    },
    /// The lock has been held for longer than `warn_after`; told once per hold.
    #[non_exhaustive]
    StuckHold {
        /// Which lock.
        lock: Subject<'a>,
        /// How long so far.
        held: Duration,
    },
    /// The call has waited for longer than `warn_after`; told once per call.
    #[non_exhaustive]
    StuckWait {
        /// Which lock.
        lock: Subject<'a>,
        /// How long so far.
        waited: Duration,
    },
    /// The call has joined a queue that is longer than `warn_queue`; told once a minute per manager.
    #[non_exhaustive]
    LongQueue {
        /// Which lock.
        lock: Subject<'a>,
        /// How many callers stand before it.
        rank: u64,
    },
    /// The storage can't be reached, or can be again.
    #[non_exhaustive]
    Backend {
        /// Where it is.
        address: &'a str,
        /// Whether it is reached.
        up: bool,
    },
    /// A look at the storage found something.
    #[non_exhaustive]
    Found {
        /// Where it is.
        address: &'a str,
        /// What was found.
        finding: &'a Finding,
    },
    /// A node of a quorum fails to do its part, or does it again.
    #[non_exhaustive]
    Node {
        /// Where it is.
        address: &'a str,
        /// What it said; `None` when it does its part.
        failure: Option<&'a BackendError>,
    },
}

impl<'a> Event<'a> {
    /// The end of a hold that didn't end by itself.
    pub(crate) fn ended(life: &'a Life, held: Duration) -> Self {
        let lock = life.subject();
        match life.lost() {
            Some(LossReason::CapReached) => Self::CapReached { lock, held },
            lost => {
                let reason = lost.unwrap_or(LossReason::LeaseOver);
                Self::Lost {
                    lock,
                    token: life.token(),
                    reason,
                    held,
                    runs_on: life.bounds.runs_on(reason),
                }
            }
        }
    }

    /// The end of a wait without the lock.
    pub(crate) fn refused(lock: Subject<'a>, error: &'a LockError) -> Self {
        match *error {
            LockError::Busy { remaining, .. } => Self::Busy { lock, remaining },
            LockError::WaitTimedOut { waited, rank, .. } => {
                Self::WaitTimedOut { lock, waited, rank }
            }
            LockError::Lost { .. }
            | LockError::HoldCapReached { .. }
            | LockError::PermitsDiffer { .. }
            | LockError::InvalidPermits { .. }
            | LockError::SelfDeadlock { .. }
            | LockError::InvalidKey { .. }
            | LockError::InvalidLease { .. }
            | LockError::NotConfigured { .. }
            | LockError::ShuttingDown { .. }
            | LockError::Backend { .. }
            | LockError::Permission { .. }
            | LockError::NoQuorum { .. }
            | LockError::NotReplicated { .. }
            | LockError::Unsupported { .. } => Self::Failed { lock, error },
        }
    }
}
