//! What can go wrong, and the questions one may ask of it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::key::LockKey;
use crate::options::{Mode, SHORTEST_LEASE, Sharing};

/// Why a call doesn't have the lock, or has it no longer.
///
/// A body never runs, and never runs on, without its lock. Every variant carries the key and the mode of the call.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// Somebody else holds the lock, or others queue for it, and the mode is [`Mode::Reject`] or [`Mode::Skip`]; or in queue mode as many callers
    /// wait already as `max_waiters` allows.
    #[non_exhaustive]
    Busy {
        /// The key that is held.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// What the holder's lease has left, where known; a renewal may lengthen it.
        remaining: Option<Duration>,
        /// How many callers wait already, where that is the reason: `max_waiters` was reached.
        waiting: Option<u64>,
    },
    /// The turn didn't come within the `wait` of the call.
    #[non_exhaustive]
    WaitTimedOut {
        /// The key that was waited for.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// How long the call waited.
        waited: Duration,
        /// How many callers stood before this one at the last look, where known.
        rank: Option<u64>,
    },
    /// The lock was held and is no longer: the body was stopped.
    #[non_exhaustive]
    Lost {
        /// The key that was held.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// How the loss was noticed.
        reason: LossReason,
    },
    /// The lock was held for as long as `max_hold` allows, or to the end of a lease that nothing renews (`watchdog = false`):
    /// the body was dropped. The lock was not lost: it was ours to the end, and is given back.
    #[non_exhaustive]
    HoldCapReached {
        /// The key that was held.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// How long the lock may be held.
        cap: Duration,
    },
    /// This call chain holds the key already: waiting for it would never end. No command was sent.
    #[non_exhaustive]
    SelfDeadlock {
        /// The key that is held.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// How it is held: a reader can't become a writer.
        held: Sharing,
    },
    /// Those who hold the key share it otherwise: by another number of permits, or as readers. The callers of one key must agree.
    #[non_exhaustive]
    PermitsDiffer {
        /// The key of the call.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// How this call would share it.
        asked: Sharing,
        /// How those share it who hold it.
        present: Sharing,
    },
    /// Nobody can hold a lock with no permits at all; no command was sent.
    #[non_exhaustive]
    InvalidPermits {
        /// The key of the call.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
    },
    /// The filled key can't be used; no command was sent.
    #[non_exhaustive]
    InvalidKey {
        /// The template or text of the key, as written.
        template: String,
        /// The mode of the call.
        mode: Mode,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The lease, or another length of time that the storage is asked for, is too short or too long; no command was sent.
    #[non_exhaustive]
    InvalidLease {
        /// The key of the call.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// What is too short or too long: `lease`, `min_hold`, or `extend`.
        what: &'static str,
        /// The length that was asked for.
        lease: Duration,
        /// The longest that this manager's storage takes: 24 h, on a quorum 60 s.
        longest: Duration,
    },
    /// No lock manager is set for this call.
    #[non_exhaustive]
    NotConfigured {
        /// The template of the key, as written.
        template: String,
        /// The mode of the call.
        mode: Mode,
    },
    /// The lock manager is shutting down.
    #[non_exhaustive]
    ShuttingDown {
        /// The key of the call.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
    },
    /// The storage could not be asked; whether it did anything is unknown, and is undone in the background.
    #[non_exhaustive]
    Backend {
        /// The key of the call.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// What happened.
        source: BackendError,
    },
    /// The storage refused this user or password, or lacks a right that the lock needs.
    #[non_exhaustive]
    Permission {
        /// The key of the call.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// What the storage said.
        source: BackendError,
    },
    /// Too few nodes of a quorum answered; what the others did is undone in the background.
    #[non_exhaustive]
    NoQuorum {
        /// The key of the call.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// How many answered, and why the others didn't.
        source: BackendError,
    },
    /// The lock was granted, and too few replicas had it in time (`confirm_replicas`); the grant is undone in the background.
    #[non_exhaustive]
    NotReplicated {
        /// The key of the call.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// How many replicas had it.
        source: BackendError,
    },
    /// The backend of this manager can't do what was asked for.
    #[non_exhaustive]
    Unsupported {
        /// The key of the call.
        key: LockKey,
        /// The mode of the call.
        mode: Mode,
        /// What it can't do.
        what: &'static str,
    },
}

/// How the loss of a held lock was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// The lease ran out before a renewal was confirmed: the storage was out of reach, or this process stood still.
    LeaseOver,
    /// A renewal found the lock gone or in other hands: it was deleted, evicted, or the storage lost its data.
    Taken,
    /// The manager was shut down and its time for running bodies was over.
    ShutDown,
    /// The keeper, the thread that renews leases, ended unexpectedly.
    KeeperEnded,
    /// It was held for as long as `max_hold` allows, or to the end of a lease that nothing renews: no loss of the lock, but the
    /// end of the hold. A call says [`LockError::HoldCapReached`] then.
    CapReached,
    /// Nothing was lost: it was given back before.
    GivenBack,
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeaseOver => "its lease ran out before a renewal was confirmed",
            Self::Taken => "a renewal found it gone or in other hands (deleted, evicted, or the storage lost its data)",
            Self::ShutDown => "the manager was shut down",
            Self::KeeperEnded => "the thread that renews leases ended",
            Self::CapReached => "it was held for as long as it may be",
            Self::GivenBack => "it was given back before",
        })
    }
}

impl LockError {
    /// The key of the call; the template where it could not be filled.
    #[must_use]
    pub fn key(&self) -> &str {
        if let Self::InvalidKey { template, .. } | Self::NotConfigured { template, .. } = self {
            return template;
        }
        self.filled_key().map_or("", LockKey::as_str)
    }

    /// The filled key, where there is one.
    pub(crate) fn filled_key(&self) -> Option<&LockKey> {
        match self {
            Self::Busy { key, .. }
            | Self::WaitTimedOut { key, .. }
            | Self::Lost { key, .. }
            | Self::HoldCapReached { key, .. }
            | Self::SelfDeadlock { key, .. }
            | Self::PermitsDiffer { key, .. }
            | Self::InvalidPermits { key, .. }
            | Self::InvalidLease { key, .. }
            | Self::ShuttingDown { key, .. }
            | Self::Backend { key, .. }
            | Self::Permission { key, .. }
            | Self::NoQuorum { key, .. }
            | Self::NotReplicated { key, .. }
            | Self::Unsupported { key, .. } => Some(key),
            Self::InvalidKey { .. } | Self::NotConfigured { .. } => None,
        }
    }

    /// The mode of the call.
    #[must_use]
    pub fn mode(&self) -> Mode {
        match self {
            Self::Busy { mode, .. }
            | Self::WaitTimedOut { mode, .. }
            | Self::Lost { mode, .. }
            | Self::HoldCapReached { mode, .. }
            | Self::SelfDeadlock { mode, .. }
            | Self::PermitsDiffer { mode, .. }
            | Self::InvalidPermits { mode, .. }
            | Self::InvalidLease { mode, .. }
            | Self::ShuttingDown { mode, .. }
            | Self::Backend { mode, .. }
            | Self::Permission { mode, .. }
            | Self::NoQuorum { mode, .. }
            | Self::NotReplicated { mode, .. }
            | Self::Unsupported { mode, .. }
            | Self::InvalidKey { mode, .. }
            | Self::NotConfigured { mode, .. } => *mode,
        }
    }

    /// Whether somebody else has the lock: refused at once, or not our turn within the wait.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::WaitTimedOut { .. })
    }

    /// Whether the lock was held and lost: the body may have done part of its work.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Whether the same call may succeed later without a change of code or configuration.
    ///
    /// A lost lock and a reached cap count as retryable for the lock; whether the half-done work may be repeated is the caller's
    /// to know.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Busy { .. }
            | Self::WaitTimedOut { .. }
            | Self::Lost { .. }
            | Self::HoldCapReached { .. } => true,
            Self::Backend { source, .. }
            | Self::NoQuorum { source, .. }
            | Self::NotReplicated { source, .. } => source.kind().is_transient(),
            Self::InvalidKey { .. }
            | Self::SelfDeadlock { .. }
            | Self::PermitsDiffer { .. }
            | Self::InvalidPermits { .. }
            | Self::InvalidLease { .. }
            | Self::NotConfigured { .. }
            | Self::ShuttingDown { .. }
            | Self::Permission { .. }
            | Self::Unsupported { .. } => false,
        }
    }

    pub(crate) fn from_backend(key: LockKey, mode: Mode, source: BackendError) -> Self {
        let source = source.about(&key);
        if source.kind() == BackendErrorKind::Permission {
            Self::Permission { key, mode, source }
        } else if source.kind() == BackendErrorKind::NoQuorum {
            Self::NoQuorum { key, mode, source }
        } else if source.kind() == BackendErrorKind::NotReplicated {
            Self::NotReplicated { key, mode, source }
        } else {
            Self::Backend { key, mode, source }
        }
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy {
                key,
                remaining,
                waiting,
                ..
            } => {
                write!(f, "lock {key:?} is busy")?;
                if let Some(waiting) = waiting {
                    write!(f, ": {waiting} callers wait already, and no more may")?;
                }
                match remaining {
                    Some(left) => write!(f, "; its lease has {} ms left", left.as_millis()),
                    None => Ok(()),
                }
            }
            Self::WaitTimedOut { key, waited, .. } => {
                write!(
                    f,
                    "lock {key:?} was not free within the wait of {} ms",
                    waited.as_millis()
                )
            }
            Self::Lost { key, reason, .. } => write!(f, "lock {key:?} was lost: {reason}"),
            Self::HoldCapReached { key, cap, .. } => write!(
                f,
                "lock {key:?} was held for {} ms, as long as it may be; the body was stopped",
                cap.as_millis()
            ),
            Self::SelfDeadlock {
                key,
                held: Sharing::Read,
                ..
            } => write!(
                f,
                "lock {key:?} is held by this call itself as a reader, which can't become a writer; take it with access = \"write\" \
                 from the start, or release it first"
            ),
            Self::PermitsDiffer {
                key,
                asked,
                present,
                ..
            } => write!(
                f,
                "lock {key:?} is held with {present}, and this call says {asked}; all callers of one key must say the same"
            ),
            Self::InvalidPermits { key, .. } => {
                write!(f, "lock {key:?} has no permits; it must have one at least")
            }
            Self::SelfDeadlock { key, .. } => write!(
                f,
                "lock {key:?} is held by this call itself; call an annotated function or run, which go on under it, or release it first"
            ),
            Self::InvalidKey {
                template, reason, ..
            } => write!(f, "lock key {template:?} can't be used: {reason}"),
            Self::InvalidLease {
                key,
                what,
                lease,
                longest,
                ..
            } => {
                write!(f, "lock {key:?} asks for ")?;
                match *what {
                    // a minimum of nothing is one, and said by leaving it out
                    "min_hold" => write!(f, "a min_hold of {lease:?}; it must be at most ")?,
                    "extend" => write!(
                        f,
                        "an extension to {lease:?}; it must be {} ms to ",
                        SHORTEST_LEASE.as_millis()
                    )?,
                    _ => write!(
                        f,
                        "a lease of {lease:?}; it must be {} ms to ",
                        SHORTEST_LEASE.as_millis()
                    )?,
                }
                write!(f, "{}", humantime::format_duration(*longest))
            }
            Self::NotConfigured { template, .. } => write!(
                f,
                "lock {template:?} has no manager: call LockManager::from_env()?.install() at start-up, or run the call in \
                 LockManager::scope"
            ),
            Self::ShuttingDown { key, .. } => write!(
                f,
                "lock {key:?} was not taken: the lock manager is shutting down"
            ),
            Self::Backend { key, source, .. } => {
                write!(f, "lock {key:?} could not be had: {source}")
            }
            Self::Permission { key, source, .. } => {
                write!(f, "lock {key:?} was not permitted: {source}")
            }
            Self::NoQuorum { key, source, .. } => {
                write!(f, "lock {key:?} could not be decided: {source}")
            }
            Self::NotReplicated { key, source, .. } => {
                write!(f, "lock {key:?} is not safe from a failover: {source}")
            }
            Self::Unsupported { key, what, .. } => {
                write!(f, "lock {key:?}: this backend has no {what}")
            }
        }
    }
}

impl Error for LockError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Backend { source, .. }
            | Self::Permission { source, .. }
            | Self::NoQuorum { source, .. }
            | Self::NotReplicated { source, .. } => Some(source),
            Self::Busy { .. }
            | Self::WaitTimedOut { .. }
            | Self::Lost { .. }
            | Self::HoldCapReached { .. }
            | Self::InvalidKey { .. }
            | Self::SelfDeadlock { .. }
            | Self::PermitsDiffer { .. }
            | Self::InvalidPermits { .. }
            | Self::InvalidLease { .. }
            | Self::NotConfigured { .. }
            | Self::ShuttingDown { .. }
            | Self::Unsupported { .. } => None,
        }
    }
}

/// What kind of failure a backend met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendErrorKind {
    /// No connection could be made, or it broke.
    Unreachable,
    /// No answer came in time; the request may have been executed.
    Timeout,
    /// Too few nodes of a quorum answered.
    NoQuorum,
    /// Too few replicas have what was written.
    NotReplicated,
    /// The server is loading its data, runs a long script, has no master or too few replicas, or can't save its data.
    NotReady,
    /// The server is a replica and refuses writes.
    ReadOnly,
    /// The server's memory is full and it refuses new locks.
    OutOfMemory,
    /// Wrong user or password, or a missing right.
    Permission,
    /// TLS could not be agreed on: a certificate that isn't trusted, isn't for this host, or is missing.
    Tls,
    /// Something that isn't ours stands at one of our keys. It is left as it is.
    Foreign,
    /// The server gave an answer that this version doesn't know.
    Protocol,
    /// The storage can't do what was asked for.
    Unsupported,
}

impl BackendErrorKind {
    /// Whether it may pass by itself.
    #[must_use]
    pub fn is_transient(self) -> bool {
        match self {
            Self::Unreachable
            | Self::Timeout
            | Self::NoQuorum
            | Self::NotReplicated
            | Self::NotReady
            | Self::ReadOnly
            | Self::OutOfMemory => true,
            Self::Permission | Self::Tls | Self::Foreign | Self::Protocol | Self::Unsupported => {
                false
            }
        }
    }

    /// Whether a waiter keeps asking instead of giving up at once.
    pub(crate) fn is_outage(self) -> bool {
        matches!(
            self,
            Self::Unreachable | Self::Timeout | Self::NoQuorum | Self::NotReady
        )
    }
}

/// A failure of the storage. Names the address and what to do, never a password.
#[derive(Debug)]
pub struct BackendError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: BackendErrorKind,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    #[cfg_attr(
        not(feature = "redis"),
        expect(dead_code, reason = "only a quorum asks")
    )]
    /// Nothing was sent, so nothing can have been executed.
    unsent: bool,
}

impl BackendError {
    /// For backends: a failure of this kind. The message names the address and the fix.
    #[must_use]
    pub fn new(kind: BackendErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            source: None,
            unsent: false,
        }))
    }

    #[cfg(feature = "redis")]
    pub(crate) fn unsent(mut self) -> Self {
        self.0.unsent = true;
        self
    }

    #[cfg(feature = "quorum")]
    pub(crate) fn was_sent(&self) -> bool {
        !self.0.unsent
    }

    /// Adds what the client library said.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What kind of failure it was.
    #[must_use]
    pub fn kind(&self) -> BackendErrorKind {
        self.0.kind
    }

    /// The same without what must not be shown of the key: the server's own words may repeat it.
    fn about(mut self, key: &LockKey) -> Self {
        if let Some(message) = key.redacted(&self.0.message) {
            self.0.message = message;
            self.0.source = None;
        }
        self
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl Error for BackendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

/// A URL or a setting that can't be used.
#[derive(Debug)]
pub struct ConfigError(String);

impl ConfigError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ConfigError {}
