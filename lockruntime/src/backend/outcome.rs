//! What comes out of a backend: plain data.

use std::time::Duration;

use super::{BackendError, HandOver};
use crate::options::Sharing;
use crate::token::FencingToken;

/// The result of an ask.
#[derive(Debug)]
#[non_exhaustive]
pub struct Asked {
    /// The answer, or why there is none.
    pub answer: Result<Answer, BackendError>,
    /// Until when, in milliseconds of the storage's clock, this ask may still be executed if it wasn't answered. A withdrawal
    /// executed later settles the ticket. Zero where an unanswered ask is never executed.
    pub last: u64,
}

impl Asked {
    /// For backends.
    #[must_use]
    pub fn new(answer: Result<Answer, BackendError>, last: u64) -> Self {
        Self { answer, last }
    }
}

/// The answer to an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// The ticket holds the lock for at least its lease from the execution on.
    Held {
        /// The token of this grant.
        token: FencingToken,
    },
    /// The ticket waits.
    Waiting {
        /// Its number; a hand-over is meant for it only under this number.
        number: u64,
        /// How many live or not yet examined tickets stand before it.
        rank: u64,
        /// What the present holder's lease has left.
        left: Duration,
    },
    /// Held by another, or others wait, or too many do; nothing of this ticket is stored.
    Busy {
        /// What the present holder's lease has left, where there is one.
        left: Option<Duration>,
        /// How many tickets wait, where they are too many for this one.
        waiting: Option<u64>,
    },
    /// Those who hold the lock share it otherwise than this ticket would; nothing of it is stored.
    Differs {
        /// How they share it.
        present: Sharing,
    },
}

/// The result of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Renewed {
    /// The lock has at least the asked lease from the execution on.
    Renewed,
    /// The lock is gone, another's, or another grant's.
    Lost,
}

/// The result of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Released {
    /// The lock is free.
    Free,
    /// The lock was handed to a waiter of another process, or to several where they share it.
    Passed,
    /// The lock was handed, for its whole lease, to a waiter of this process.
    Next(HandOver),
    /// The lock stays as long as it was to be kept.
    Kept,
    /// The lock was not this owner's any more.
    NotHeld,
}

/// The result of a withdrawal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Withdrawn {
    /// What became of the lock.
    pub released: Released,
    /// The storage's clock in milliseconds, to compare with [`Asked::last`].
    pub now: u64,
}

impl Withdrawn {
    /// For backends.
    #[must_use]
    pub fn new(released: Released, now: u64) -> Self {
        Self { released, now }
    }
}
