//! Where locks are stored: the verbs of the queue protocol, and what every backend promises.
//!
//! # The contract
//!
//! Every verb is atomic, and harmless when it is executed twice or late:
//!
//! * **ask** is heartbeat, poll and try at once. It grants the lock if it is free and no living ticket stands before this one;
//!   else, in queue mode, it puts the ticket at the end of the queue or keeps it alive where it stands; it doesn't join a queue
//!   of more living tickets than [`Ask::max_waiters`] allows (dead ones may count for a few asks). A reject caller is
//!   refused while somebody holds the lock or a living ticket waits, and leaves nothing behind. Asking again for a lock that
//!   the ticket holds lengthens it, never shortens it. An ask that is executed later than [`Ask::valid`] after it was sent
//!   changes nothing.
//! * **renew** lengthens a lock that this owner holds under this fencing token, and nothing else: it never creates one.
//! * **release** gives a lock that this owner holds to the first living ticket, or frees it. Somebody else's lock is untouched.
//!   With [`Release::keep`] it only sets when the lock ends.
//! * **withdraw** takes the ticket out of the queue, then releases.
//!
//! A lock may be shared, as [`Ask::sharing`] says: by any number of readers, or by so many as there are permits. All stand in one
//! line, and only its head is looked at: whoever gives the lock back, leaves the line or asks gives it to the head as long as the
//! head may have it beside those who have it. So nobody passes, neither readers a waiting writer nor a writer them. Each hold has
//! its own token and its own lease. An ask that would share the lock otherwise than its holders do is refused with
//! [`Answer::Differs`].
//!
//! Numbers (places in the queue and fencing tokens) grow strictly per key and are never given twice, even after the storage
//! lost its data. Which ticket is alive is judged by the storage's clock alone. A granted lock ends with its lease: nothing
//! stays for ever.
//!
//! A hand-over is announced to the [`Wakeups`] of the channel named in the ticket, at most once and perhaps never; it is a
//! hint, the waiter's next ask is what finds the grant.
//!
//! Every call returns within the time its request gives, plus the time to connect where there is no connection. An error means
//! that the outcome is unknown, unless its kind says that nothing was sent; the keeper asks again or undoes it.
//!
//! The conformance suite in `tests/conformance` runs over every backend.

mod capability;
mod listing;
pub mod memory;
mod outcome;
#[cfg(feature = "quorum")]
pub mod quorum;
#[cfg(feature = "redis")]
pub mod redis;
mod request;
mod snapshot;
mod wakeup;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

pub use capability::Capabilities;
pub use listing::{Eviction, Inventory, Listed, Listing, Point, Standing, State, Survey};
pub use outcome::{Answer, Asked, Released, Renewed, Withdrawn};
pub use request::{Ask, Release, Renew, Renewals, Withdraw};
pub(crate) use snapshot::RECORD_VERSION;
pub use snapshot::{Held, Holder, Pulse, Snapshot, WaitingTicket};
pub(crate) use wakeup::Notice;
pub use wakeup::{HandOver, Wakeups};

pub use crate::error::{BackendError, BackendErrorKind};
use crate::health::Health;

/// What the verbs return: a boxed future that owns what it needs.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// Where locks are stored. See the module's documentation for what an implementation promises.
///
/// All methods are called on the keeper's thread, inside its tokio runtime (with time and I/O), and their futures are polled
/// and dropped there.
pub trait Backend: fmt::Debug + Send + Sync + 'static {
    /// What this backend can do.
    fn capabilities(&self) -> Capabilities;

    /// Called once, before any verb: the work of the backend itself (connecting, listening for wake-ups on this process's
    /// `channel`). The keeper polls the future until the manager is gone, then drops it.
    fn run(&self, channel: &str, wakeups: Wakeups) -> BoxFuture<()>;

    /// Tries, polls or keeps the place in the queue.
    fn ask(&self, ask: Ask) -> BoxFuture<Asked>;

    /// Lengthens holds; each result is reported as soon as it is known, so that one slow node delays no other.
    fn renew(&self, batch: Vec<Renew>, renewals: Renewals) -> BoxFuture<()>;

    /// Hands the lock over or frees it.
    fn release(&self, release: Release) -> BoxFuture<Result<Released, BackendError>>;

    /// Leaves the queue, and releases the lock if it was just given to this ticket.
    fn withdraw(&self, withdraw: Withdraw) -> BoxFuture<Result<Withdrawn, BackendError>>;

    /// A look at the storage: whether it can hold locks, and will keep them. By default nothing is wrong.
    ///
    /// An error means that it could not be looked at.
    fn health(&self) -> BoxFuture<Result<Health, BackendError>> {
        Box::pin(std::future::ready(Ok(Health::new())))
    }

    /// Ready when nothing is left that the backend does by itself for earlier calls; asked for in the end. A backend that does
    /// nothing by itself needs no such method.
    fn finish(&self) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    /// The locks that somebody holds or waits for, in the order of their keys. Reads only, in small steps: nobody waits for it. Of
    /// several servers with their own keys those that give no answer leave a gap; an error means that there was no answer at all.
    fn list(&self, listing: Listing) -> BoxFuture<Result<Inventory, BackendError>> {
        drop(listing);
        Box::pin(std::future::ready(Err(unsupported("list of its locks"))))
    }

    /// What there is to know of each server, for its operator. `listing`: whose keys are looked at. By default nothing.
    fn survey(&self, listing: Listing) -> BoxFuture<Result<Vec<Survey>, BackendError>> {
        drop(listing);
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Takes a lock from the owner that is named, as a release by that owner: atomic, handed to the next in line. Anybody else's is
    /// untouched.
    fn evict(&self, eviction: Eviction) -> BoxFuture<Result<Released, BackendError>> {
        drop(eviction);
        Box::pin(std::future::ready(Err(unsupported(
            "release by an operator",
        ))))
    }

    /// A read-only picture of one key.
    fn snapshot(&self, record: &str) -> BoxFuture<Result<Snapshot, BackendError>>;
}

fn unsupported(what: &str) -> BackendError {
    let message = format!("this storage has no {what}");
    BackendError::new(BackendErrorKind::Unsupported, message)
}
