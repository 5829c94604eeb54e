//! A read-only picture of one key: who holds it, how long still, who waits.

use std::time::Duration;

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
    /// Who holds the lock, if anybody.
    pub held: Option<Held>,
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
    /// What the lease has left.
    pub left: Duration,
    /// Who it is, where the record could be read.
    pub holder: Option<Holder>,
    /// The version of the record: greater than this library's while a newer one is being rolled out.
    pub version: u32,
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
}
