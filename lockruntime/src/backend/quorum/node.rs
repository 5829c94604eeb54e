//! One of the masters of a quorum: what it is asked, and what it answers.
//!
//! A node knows nothing of the others. Every verb is atomic on it, and returns within the time that it is given, plus the time
//! to connect where there is no connection.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{
    BackendError, BoxFuture, Holder, Listed, Listing, Renewed, Snapshot, Survey, Wakeups,
};
use crate::health::Health;
use crate::token::{FencingToken, OwnerToken};

/// One try to win the lock on a majority.
#[derive(Debug)]
pub(crate) struct Bid {
    /// The record's whole key.
    pub(crate) record: Arc<str>,
    /// Owns what the nodes grant, until the token is written back. Never used for a second bid: a late write-back of an earlier
    /// one would count for it.
    pub(crate) id: OwnerToken,
    /// Owns the lock with the token, from then on.
    pub(crate) ticket: OwnerToken,
    /// The ticket's name in the queue.
    pub(crate) member: String,
    pub(crate) lease: Duration,
    pub(crate) holder: Arc<Holder>,
    /// How long a grant may take; executed later it must not change anything.
    pub(crate) valid: Duration,
    /// How long a node that lost its data is not counted.
    pub(crate) quarantine: Duration,
}

/// The answer to the first round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granting {
    /// The bid owns the lock on this node.
    Granted {
        /// The greatest token that this node knows, 0 if none.
        last: u64,
        /// Its clock, microseconds since 1970.
        micros: u64,
    },
    /// Another bid owns it.
    Held { left: Duration },
    /// Others wait here; what its holder has left, if anybody holds it.
    Queued { left: Duration },
    /// The node has no data: it is new, or it lost them and may have forgotten a lock. It counts after `left`.
    Newborn { left: Duration },
}

/// The answer to the second round, and to topping up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Committed {
    Done,
    /// The bid doesn't own the lock here, or a greater token has been seen.
    Refused,
}

/// A place in the courtesy queue.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) record: Arc<str>,
    pub(crate) member: String,
    /// How long the place lives without being asked for again.
    pub(crate) beat: Duration,
    /// Where to give a sign when the lock is free.
    pub(crate) channel: Arc<str>,
    /// How long the answer may take.
    pub(crate) valid: Duration,
    /// How many tickets may wait.
    pub(crate) most: Option<u32>,
}

/// Where a ticket stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lined {
    At {
        number: u64,
        rank: u64,
    },
    /// Nowhere: so many wait already.
    Full {
        waiting: u64,
    },
}

/// The bid's lock is to have this from now on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    pub(crate) token: FencingToken,
    pub(crate) lease: Duration,
    pub(crate) timeout: Duration,
}

pub(crate) type Said<T> = BoxFuture<Result<T, BackendError>>;

pub(crate) trait Node: fmt::Debug + Send + Sync + 'static {
    /// Its address, for people.
    fn name(&self) -> &str;

    /// As [`Backend::run`](crate::backend::Backend::run).
    fn run(&self, channel: &str, wakeups: Wakeups) -> BoxFuture<()>;

    /// First round: own the lock if it is free and nobody waits before this ticket.
    fn grant(&self, bid: &Arc<Bid>) -> Said<Granting>;

    /// Second round: write the token back, if the bid still owns the lock.
    fn commit(&self, bid: &Arc<Bid>, keep: Keep) -> Said<Committed>;

    /// Lengthens the bid's lock; never creates one.
    fn renew(&self, bid: &Arc<Bid>, keep: Keep) -> Said<Renewed>;

    /// Takes the lock for a bid that holds it on a majority, where it is free and no greater token has been seen.
    fn top_up(&self, bid: &Arc<Bid>, keep: Keep) -> Said<Committed>;

    /// Frees the lock if this bid owns it, by its id or under this token, and gives the first in the queue a sign; or lets it end
    /// after `keep`. Whether it was the bid's.
    fn free(
        &self,
        bid: &Arc<Bid>,
        token: FencingToken,
        keep: Option<Duration>,
        timeout: Duration,
    ) -> Said<bool>;

    /// Takes or keeps a place in the queue.
    fn line_up(&self, place: &Place) -> Said<Lined>;

    /// Leaves the queue; the first in it gets a sign if the lock is free.
    fn leave(&self, record: &Arc<str>, member: &str, timeout: Duration) -> Said<()>;

    /// The node is counted from now on, if it has been without data for less than `young`: no node of the quorum has any data, so
    /// nothing was lost.
    fn establish(&self, record: &Arc<str>, young: Duration, timeout: Duration) -> Said<()>;

    /// As [`Backend::health`](crate::backend::Backend::health).
    fn health(&self) -> Said<Health>;

    /// As [`Backend::list`](crate::backend::Backend::list).
    fn list(&self, listing: &Listing) -> Said<Vec<Listed>>;

    /// As [`Backend::survey`](crate::backend::Backend::survey), of this node.
    fn survey(&self, listing: &Listing) -> Said<Survey>;

    /// A read-only picture of one key.
    fn snapshot(&self, record: &str) -> Said<Snapshot>;
}
