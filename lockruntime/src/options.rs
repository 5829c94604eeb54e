//! What a lock is asked for: mode and lease, and the protocol's timings that follow from them.

use std::fmt;
use std::time::Duration;

/// What a caller does when the lock is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Wait for the turn, in arrival order over all processes.
    #[default]
    Queue,
    /// Be refused at once with [`LockError::Busy`](crate::LockError::Busy).
    Reject,
    /// Don't run, and that is no error: for jobs that many processes start at the same time and one shall do.
    Skip,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queue => "queue",
            Self::Reject => "reject",
            Self::Skip => "skip",
        })
    }
}

/// Who may hold a lock beside each other: what `permits` and `access` say. All callers of one key have to say the same, except
/// that whoever holds it alone may use any key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sharing {
    /// Nobody: it is held alone, which is how locks are without `permits` and `access`.
    #[default]
    Alone,
    /// Nobody, and the others are readers: `access = "write"`.
    Write,
    /// Any number of readers: `access = "read"`.
    Read,
    /// So many: `permits`.
    Permits(u32),
}

impl Sharing {
    /// Whether it is held alone.
    #[must_use]
    pub fn is_alone(self) -> bool {
        match self {
            Self::Alone | Self::Write => true,
            Self::Read | Self::Permits(_) => false,
        }
    }

    /// Whether one of these may hold a lock beside one that `other` holds, where there is room.
    pub(crate) fn shares_with(self, other: Self) -> bool {
        !self.is_alone() && self == other
    }

    /// How many may hold it beside each other.
    pub(crate) fn most(self) -> usize {
        match self {
            Self::Alone | Self::Write => 1,
            Self::Read => usize::MAX,
            Self::Permits(permits) => usize::try_from(permits).unwrap_or(usize::MAX),
        }
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone => f.write_str("nobody"),
            Self::Write => f.write_str("access = \"write\""),
            Self::Read => f.write_str("access = \"read\""),
            Self::Permits(permits) => write!(f, "permits = {permits}"),
        }
    }
}

/// What becomes of a body whose lock is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnLost {
    /// It is dropped before anybody else may enter, and the call returns [`LockError::Lost`](crate::LockError::Lost).
    #[default]
    Cancel,
    /// It runs on without the lock, beside whoever has it by then, and the call returns the body's own value. For work that is
    /// worse half-done than done twice: let its store compare fencing tokens. [`Hold::lost`](crate::Hold::lost) tells the body.
    /// Its `max_hold` and a shutdown of the manager end it all the same.
    Continue,
}

/// What one call says; where it says nothing, the manager's defaults do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) mode: Mode,
    pub(crate) sharing: Sharing,
    pub(crate) lease: Option<Duration>,
    pub(crate) wait: Option<Duration>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) min_hold: Option<Duration>,
    pub(crate) max_waiters: Option<u32>,
    pub(crate) on_lost: OnLost,
    /// The lease is renewed.
    pub(crate) watchdog: bool,
    /// A nested call of a key that its chain holds goes on under it.
    pub(crate) reentrant: bool,
    /// The release isn't waited for.
    pub(crate) in_background: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            mode: Mode::Queue,
            sharing: Sharing::Alone,
            lease: None,
            wait: None,
            max_hold: None,
            min_hold: None,
            max_waiters: None,
            on_lost: OnLost::Cancel,
            watchdog: true,
            reentrant: true,
            in_background: false,
        }
    }
}

/// The shortest lease that can be renewed in time.
pub(crate) const SHORTEST_LEASE: Duration = Duration::from_millis(100);
/// The longest lease: a crashed holder keeps its key this long.
pub(crate) const LONGEST_LEASE: Duration = Duration::from_secs(24 * 60 * 60);

/// What a manager gives to every call that doesn't say otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Defaults {
    pub(crate) lease: Duration,
    pub(crate) wait: Option<Duration>,
    pub(crate) max_waiters: Option<u32>,
    pub(crate) heartbeat: Duration,
    pub(crate) grace: Duration,
    pub(crate) release_timeout: Duration,
    pub(crate) key_limit: usize,
    pub(crate) warn_after: Duration,
    pub(crate) warn_queue: Option<u32>,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            wait: None,
            max_waiters: None,
            heartbeat: Duration::from_secs(1),
            grace: Duration::from_millis(2_500),
            release_timeout: Duration::from_secs(1),
            key_limit: crate::key::DEFAULT_LIMIT,
            warn_after: Duration::from_secs(5 * 60),
            warn_queue: None,
        }
    }
}

/// The protocol's constants for one lease.
///
/// `poll + answer + margin < claim`, so a living waiter whose wake-up got lost finds its grant with its next ask; and
/// `beat > 3 poll + answer`, so two lost asks in a row cost nobody its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// What a confirmed hold has.
    pub(crate) lease: Duration,
    /// What a handed-over grant has until its first renewal.
    pub(crate) claim: Duration,
    /// The longest time between two asks of a waiter.
    pub(crate) poll: Duration,
    /// How long a ticket lives without an ask.
    pub(crate) beat: Duration,
    /// How long an ask of a waiter may take, at the caller and at the server.
    pub(crate) answer: Duration,
    /// How long any other request may take: there is no next one to be in time for.
    pub(crate) request: Duration,
}

impl Timing {
    pub(crate) fn new(lease: Duration, heartbeat: Duration, grace: Duration) -> Self {
        let claim = grace.min(lease);
        let poll = heartbeat.min(claim * 2 / 5);
        let request = (lease / 3).min(Duration::from_millis(500));
        let answer = request.min(poll / 2);
        Self {
            lease,
            claim,
            poll,
            beat: poll * 4,
            answer,
            request,
        }
    }

    /// What a local deadline is earlier than the server's, for clocks of different rates: 1 % and 2 ms.
    pub(crate) fn margin(length: Duration) -> Duration {
        length / 100 + Duration::from_millis(2)
    }

    /// How long a caller may count on a lease of this length from the moment its request was sent.
    pub(crate) fn usable(length: Duration) -> Duration {
        length.saturating_sub(Self::margin(length))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn defaults_are_the_documented_ones() {
        let defaults = Defaults::default();
        let timing = Timing::new(defaults.lease, defaults.heartbeat, defaults.grace);
        assert_eq!(timing.poll, Duration::from_secs(1));
        assert_eq!(timing.claim, Duration::from_millis(2_500));
        assert_eq!(timing.answer, Duration::from_millis(500));
        assert_eq!(timing.beat, Duration::from_secs(4));
        let short = Timing::new(
            Duration::from_millis(500),
            defaults.heartbeat,
            defaults.grace,
        );
        assert_eq!(
            (short.poll, short.answer),
            (Duration::from_millis(200), Duration::from_millis(100))
        );
    }

    proptest! {
        #[test]
        fn a_living_waiter_keeps_its_turn(lease in 100_u64..86_400_000, heartbeat in 20_u64..5_000, grace in 100_u64..10_000) {
            let t = Timing::new(Duration::from_millis(lease), Duration::from_millis(heartbeat), Duration::from_millis(grace));
            prop_assert!(t.poll + t.answer + Timing::margin(t.claim) < t.claim);
            prop_assert!(t.beat > t.poll * 3 + t.answer);
            prop_assert!(t.answer <= t.poll && t.answer <= t.lease / 3);
        }
    }
}
