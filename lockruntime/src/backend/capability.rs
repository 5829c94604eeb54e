//! What a backend can do.

use std::time::Duration;

use crate::options::LONGEST_LEASE;

/// What a backend can do; where they differ, the docs have it in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Excludes other processes, not only other tasks.
    pub across_processes: bool,
    /// Serves queue mode in the order of arrival.
    pub fifo: bool,
    /// Announces hand-overs instead of leaving them to the next ask.
    pub wakeups: bool,
    /// Serves permits and readers: several holders of one key beside each other.
    pub shares: bool,
    /// The longest lease that it gives; 24 h by default, which is the longest of all.
    pub longest_lease: Duration,
}

impl Capabilities {
    /// For backends: nothing but exclusion within this process.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            across_processes: false,
            fifo: false,
            wakeups: false,
            shares: false,
            longest_lease: LONGEST_LEASE,
        }
    }
}

impl Default for Capabilities {
    fn default() -> Self {
        Self::new()
    }
}
