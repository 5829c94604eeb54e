//! The only place that reads time or sleeps.
//!
//! Lease arithmetic counts the time a machine was suspended (`CLOCK_BOOTTIME` on Linux, elsewhere the standard library's
//! monotonic clock): a laptop that wakes up must find its leases as old as they are.
#![cfg_attr(
    not(feature = "redis"),
    expect(
        dead_code,
        reason = "only backends over a network wait and count in milliseconds"
    )
)]

use std::time::Duration;

/// A point in time on this machine's boot-time clock, in nanoseconds. Never sent anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Moment(u64);

impl Moment {
    /// Earlier than every moment [`now`] returns.
    pub(crate) const ZERO: Self = Self(0);

    /// Never.
    pub(crate) const END: Self = Self(u64::MAX);

    pub(crate) fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    pub(crate) fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, zero when `earlier` is later.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for Moment {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(nanos(time)))
    }
}

impl std::ops::Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(time)))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Whole milliseconds, rounded up, for a server that counts in them.
pub(crate) fn millis_up(time: Duration) -> u64 {
    nanos(time).div_ceil(1_000_000)
}

#[cfg(target_os = "linux")]
pub(crate) fn now() -> Moment {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Moment(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

#[cfg(not(target_os = "linux"))]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that reads time"
)]
pub(crate) fn now() -> Moment {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    // one second ahead, so that `Moment::ZERO` stays in the past
    Moment::ZERO + Duration::from_secs(1) + START.get_or_init(Instant::now).elapsed()
}

/// Sleeps until `due`, at most a second at a time: the runtime's timer stands still while the machine is suspended, so the
/// caller looks at the clock again.
#[expect(clippy::disallowed_methods, reason = "this is the place that sleeps")]
pub(crate) async fn sleep_towards(due: Moment) {
    tokio::time::sleep(due.since(now()).min(Duration::from_secs(1))).await;
}

/// Sleeps for `time`.
#[expect(clippy::disallowed_methods, reason = "this is the place that sleeps")]
pub(crate) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Waits for `future` at most `limit`; `None` when it took longer.
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(limit, future).await.ok()
}

/// The wall clock as RFC 3339 in UTC with milliseconds; for people who read the record, never for decisions.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that reads time"
)]
pub(crate) fn wall_clock() -> String {
    humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string()
}

/// The wall clock in microseconds since 1970, the floor of fencing tokens where no server gives the time.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that reads time"
)]
pub(crate) fn wall_micros() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |time| {
            u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        let moment = Moment::from_nanos(5);
        assert_eq!(moment - Duration::from_secs(1), Moment::ZERO);
        assert_eq!(moment + Duration::MAX, Moment::from_nanos(u64::MAX));
        assert_eq!(
            moment.since(moment + Duration::from_secs(1)),
            Duration::ZERO
        );
    }

    #[test]
    fn milliseconds_round_up() {
        assert_eq!(millis_up(Duration::from_micros(1_001)), 2);
        assert_eq!(millis_up(Duration::from_millis(2)), 2);
        assert_eq!(millis_up(Duration::ZERO), 0);
    }
}
