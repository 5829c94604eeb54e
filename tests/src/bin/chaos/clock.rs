//! The wall clock of the lock's server, which the faults set.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tests::RedisServer;
use tests::chaos::now;

/// How far the server's clock is ahead of the machine's, in milliseconds. It begins with room for steps back.
#[derive(Clone, Debug)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    pub(crate) fn of(server: &RedisServer) -> Self {
        let clock = Self(Arc::new(AtomicU64::new(0)));
        clock.step(server, |_| Duration::from_secs(60));
        clock
    }

    /// The machine's, which nobody sets.
    pub(crate) fn of_the_machine() -> Self {
        Self(Arc::new(AtomicU64::new(0)))
    }

    /// Sets the server's clock, given how far ahead it is.
    pub(crate) fn step(&self, server: &RedisServer, to: impl Fn(Duration) -> Duration) {
        let ahead = to(Duration::from_millis(self.0.load(Ordering::SeqCst)));
        let millis = u64::try_from(ahead.as_millis()).expect("minutes");
        self.0.store(millis, Ordering::SeqCst);
        server.set_clock_ahead(ahead);
    }

    /// A moment of the server's clock, in microseconds, on the clock that all files have.
    pub(crate) fn boot_time(&self, micros: u64) -> u64 {
        let wall = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("it is later than 1970");
        let ahead = self.0.load(Ordering::SeqCst) * 1_000;
        let age = u64::try_from(wall.as_micros())
            .unwrap_or(0)
            .saturating_sub(micros.saturating_sub(ahead));
        now().saturating_sub(age * 1_000)
    }
}
