//! A read-only picture of one key: who holds it, how long still, who waits.

use std::time::Duration;

use crate::options::Sharing;
use crate::token::{FencingToken, OwnerToken};

/// The version of the record that this library writes. A newer one is respected and shown, never deleted.
pub(crate) const RECORD_VERSION: u32 = 1;

/// Who asked for a lock: the founding record's fields about the caller. For people; nothing is decided by it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The number of the tokio task, 0 outside of one.
    pub thread_id: u64,
    /// The machine's name.
    pub host_name: String,
    /// The program's name.
    pub process_name: String,
    /// The process's id.
    pub process_id: u32,
    /// The annotated function, or what the caller gave as name.
    pub name_of: String,
    /// When the call asked for the lock, RFC 3339 in UTC.
    pub created: String,
}

/// The holder of what nobody holds.
#[cfg(feature = "quorum")]
pub(crate) fn nobody() -> Holder {
    Holder {
        thread_id: 0,
        host_name: String::new(),
        process_name: String::new(),
        process_id: 0,
        name_of: String::new(),
        created: String::new(),
    }
}

impl Holder {
    pub(crate) fn member(&self, ticket: OwnerToken) -> String {
        format!(
            "{}:{}:{}:{ticket}",
            self.host_name, self.thread_id, self.process_id
        )
    }
}

/// A read-only picture of one key at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Who holds the lock, if anybody; of several the one whose lease ends first.
    pub held: Option<Held>,
    /// Who else holds it, where it is shared; at most the first thousand.
    pub beside: Vec<Held>,
    /// The waiting tickets in order; at most the first thousand.
    pub waiting: Vec<WaitingTicket>,
}

/// The holder part of a [`Snapshot`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// The owner token.
    pub owner: OwnerToken,
    /// The fencing token of the grant.
    pub token: FencingToken,
    /// Who may hold the lock beside it.
    pub sharing: Sharing,
    /// What the lease has left.
    pub left: Duration,
    /// Who it is, where the record could be read.
    pub holder: Option<Holder>,
    /// The length of the lease that was asked for, where the record says it.
    pub lease: Option<Duration>,
    /// How long ago the lock was granted, by the storage's clock.
    pub age: Duration,
    /// The version of the record: greater than this library's while a newer one is being rolled out.
    pub version: u32,
}

/// After this a lock that was handed over has had its first renewal.
const SETTLED: Duration = Duration::from_secs(10);

impl Held {
    /// When the lock was granted, by the storage's clock: RFC 3339 in UTC. Tokens are moments of that clock, in microseconds.
    #[must_use]
    pub fn since(&self) -> String {
        let since = std::time::UNIX_EPOCH + Duration::from_micros(self.token.get());
        humantime::format_rfc3339_millis(since).to_string()
    }

    /// Whether it stands for several holders, as lists show those who share a lock: its owner is nobody then, and its lease is
    /// somebody's of them. [`LockManager::snapshot`](crate::LockManager::snapshot) shows each.
    #[must_use]
    pub fn is_of_several(&self) -> bool {
        self.owner == OwnerToken::ALL
    }

    /// How the holder's process is doing, as far as its renewals tell.
    #[must_use]
    pub fn pulse(&self) -> Pulse {
        let Some(lease) = self.lease.filter(|_| !self.is_of_several()) else {
            return Pulse::Unknown;
        };
        // one that was handed over has a short lease until its first renewal
        let settled = self.age >= (lease / 2).min(SETTLED);
        if settled && self.left < lease / 2 {
            Pulse::Overdue {
                unrenewed: lease - self.left,
            }
        } else {
            Pulse::Renewed
        }
    }
}

/// How a holder's process is doing, as far as its renewals tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pulse {
    /// It was granted or renewed when it should have been: the process is alive.
    Renewed,
    /// No renewal for more than half of the lease, where every third brings one: the process is dead, stopped or cut off, or its
    /// lease isn't renewed by choice (`watchdog = false`, what is left of a `min_hold`).
    #[non_exhaustive]
    Overdue {
        /// How long ago the last one was.
        unrenewed: Duration,
    },
    /// Its record doesn't say how long its lease is, or is [of several](Held::is_of_several).
    Unknown,
}

/// One waiting ticket of a [`Snapshot`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingTicket {
    /// Its name, `host:thread:process:ticket`.
    pub member: String,
    /// Its arrival number.
    pub number: u64,
    /// How long it lives without another ask; `None` when it is dead.
    pub alive_for: Option<Duration>,
    /// How long ago it came, by the storage's clock.
    pub waited: Duration,
    /// Who waits, where the storage knows more than the name.
    pub holder: Option<Holder>,
}
