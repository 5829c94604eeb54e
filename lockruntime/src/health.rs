//! What a look at the storage found: whether it can hold locks, and whether it will keep them.

use std::fmt;

/// What a look at the storage found; see [`LockManager::health`](crate::LockManager::health).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The server's name and version, such as `Redis 7.0.15`, where it may be read.
    pub server: Option<String>,
    /// What isn't as it should be, and what could not be looked at.
    pub findings: Vec<Finding>,
}

impl Health {
    /// For backends: nothing is wrong.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What another server has, each finding once.
    #[cfg(any(feature = "cluster", feature = "quorum"))]
    pub(crate) fn add(&mut self, other: Self) {
        self.server = self.server.take().or(other.server);
        for finding in other.findings {
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
    }

    /// Whether nothing was found that an operator should change. What could not be looked at doesn't count.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(Finding::is_warning)
    }
}

/// One thing that was found. Its `Display` says what it is and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Finding {
    /// A full server makes room by removing keys, locks among them.
    #[non_exhaustive]
    Evicts {
        /// The server's `maxmemory-policy`.
        policy: String,
    },
    /// The server is older than the locks need.
    #[non_exhaustive]
    TooOld {
        /// Its version.
        version: String,
    },
    /// The server is a replica and refuses writes: no lock can be had.
    Replica,
    /// The user has no right to something that every lock needs: no lock can be had.
    #[non_exhaustive]
    MissingRights {
        /// The rights as an ACL rule names them, such as `+hset`.
        rights: Vec<String>,
    },
    /// Hand-overs can't be announced or heard: a waiter finds its turn by asking, up to a heartbeat late.
    #[non_exhaustive]
    Polls {
        /// The rights that are missing, as an ACL rule names them.
        rights: Vec<String>,
    },
    /// Some slots of a cluster have no master: locks that fall into them can't be had.
    #[non_exhaustive]
    Uncovered {
        /// How many, of 16,384.
        slots: u16,
    },
    /// The user may not read what tells version, role and memory policy.
    #[non_exhaustive]
    Unchecked {
        /// The right that is missing, as an ACL rule names it.
        right: String,
    },
}

impl Finding {
    /// Whether an operator should change something; else it is only what could not be looked at.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        !matches!(self, Self::Unchecked { .. })
    }

    /// Whether no lock can be had.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::Replica | Self::MissingRights { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evicts { policy } => write!(
                f,
                "the server's maxmemory-policy is {policy}: when it is full it removes keys, held locks among them; set it to \
                 noeviction, or give the locks a server of their own"
            ),
            Self::TooOld { version } => write!(
                f,
                "the server is version {version}; the locks need 6.2 or later"
            ),
            Self::Replica => f.write_str(
                "the server is a replica and refuses writes; give the address of its master",
            ),
            Self::MissingRights { rights } => write!(
                f,
                "the user has no right to {}; no lock can be had without",
                rights.join(" ")
            ),
            Self::Polls { rights } => write!(
                f,
                "the user has no right to {}: waiters find their turn by asking, up to a heartbeat late",
                rights.join(" ")
            ),
            Self::Uncovered { slots } => write!(
                f,
                "{slots} of the cluster's 16384 slots have no master, and no lock in them can be had; see CLUSTER INFO"
            ),
            Self::Unchecked { right } => write!(
                f,
                "version, role and memory policy were not looked at: the user has no right to {right}"
            ),
        }
    }
}
