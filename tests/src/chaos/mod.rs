//! Long runs of real processes under a seeded schedule of faults, and the judge of what happened. The program is `bin/chaos`.
//!
//! | room | what it gives |
//! |---|---|
//! | [`plan`] | which fault, when, for how long: from a seed |
//! | [`journal`] | the file that a worker writes its calls to, line by line, so that `kill -9` loses nothing |
//! | [`evidence`] | everything that was written down in one run; read from a folder, so that any run can be judged again |
//! | [`judge`] | the promises, checked over the evidence; pure |
//! | [`report`] | one page for people |
//! | [`topology`] | what the servers are, and which faults may cost what there |
//!
//! All times are nanoseconds of the boot-time clock, which the processes of one machine share.

pub mod evidence;
pub mod journal;
pub mod judge;
pub mod plan;
pub mod report;
pub mod topology;

/// Now, in nanoseconds of the boot-time clock.
#[must_use]
pub fn now() -> u64 {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// A duration in nanoseconds.
#[must_use]
pub fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The lock's key of a number, as workers use it.
#[must_use]
pub fn key(number: u64) -> String {
    format!("chaos:{number}")
}
