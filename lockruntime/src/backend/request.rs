//! What goes into a backend: plain data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{BackendError, Holder, Renewed};
use crate::options::{Mode, Sharing};
use crate::token::{FencingToken, OwnerToken};

/// Tries to take the lock, or keeps the place in its queue.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ask {
    /// The record's whole key, `lib_lock:app:env:key`.
    pub record: Arc<str>,
    /// The ticket; it owns the lock once granted.
    pub ticket: OwnerToken,
    /// Queue or reject.
    pub mode: Mode,
    /// Who may hold the lock beside it.
    pub sharing: Sharing,
    /// In queue mode: where so many living tickets wait already, this one is refused instead of joining them.
    pub max_waiters: Option<u32>,
    /// How long a grant in the answer lasts, and a hold after a renewal.
    pub lease: Duration,
    /// How long a handed-over grant lasts until its first renewal.
    pub claim: Duration,
    /// How long the ticket lives without another ask.
    pub beat: Duration,
    /// How long the answer may take; executed later, the ask must not change anything.
    pub valid: Duration,
    /// Where to announce a hand-over.
    pub channel: Arc<str>,
    /// Who asks, for people who read the record.
    pub holder: Arc<Holder>,
}

impl Ask {
    /// The ticket's name in the queue: `host:thread:process:ticket`.
    #[must_use]
    pub fn member(&self) -> String {
        self.holder.member(self.ticket)
    }
}

/// Lengthens one hold.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Renew {
    /// The record's whole key.
    pub record: Arc<str>,
    /// Who holds it.
    pub ticket: OwnerToken,
    /// As in its ask.
    pub sharing: Sharing,
    /// The grant that is renewed.
    pub token: FencingToken,
    /// What the lock shall have at least.
    pub lease: Duration,
    /// How long the answer may take.
    pub timeout: Duration,
}

/// Takes the results of a batch of renewals, one by one.
pub struct Renewals(Box<dyn Fn(usize, Result<Renewed, BackendError>) + Send + Sync>);

impl Renewals {
    pub(crate) fn new(
        report: impl Fn(usize, Result<Renewed, BackendError>) + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(report))
    }

    /// Reports the result of the renewal at this place in the batch. One that is never reported counts as timed out; one that was
    /// reported as timed out may be reported once more when it is answered after all.
    pub fn report(&self, index: usize, result: Result<Renewed, BackendError>) {
        (self.0)(index, result);
    }
}

impl fmt::Debug for Renewals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Renewals")
    }
}

/// Gives the lock back.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Release {
    /// The record's whole key.
    pub record: Arc<str>,
    /// Who gives it back.
    pub ticket: OwnerToken,
    /// As in its ask.
    pub sharing: Sharing,
    /// The channel of this process: its own waiters are named in the answer instead of being announced.
    pub channel: Arc<str>,
    /// Not yet: the lock stays with its owner for exactly so long from the execution on, then it ends like a lease. It was held
    /// for less than its minimum.
    pub keep: Option<Duration>,
    /// How long the answer may take.
    pub timeout: Duration,
}

/// Leaves the queue, and gives the lock back if it was granted meanwhile.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Withdraw {
    /// The record's whole key.
    pub record: Arc<str>,
    /// Who leaves.
    pub ticket: OwnerToken,
    /// As in its ask.
    pub sharing: Sharing,
    /// The channel of this process.
    pub channel: Arc<str>,
    /// How long the answer may take.
    pub timeout: Duration,
    /// Who asked, for the ticket's name.
    pub holder: Arc<Holder>,
}

impl Withdraw {
    /// The ticket's name in the queue.
    #[must_use]
    pub fn member(&self) -> String {
        self.holder.member(self.ticket)
    }
}
