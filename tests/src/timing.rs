//! Every duration the tests use, scaled by the environment variable `LOCK_TEST_SCALE` (default 1; a slow machine takes 2).
//!
//! Durations stand in relation to each other (a lease is longer than a heartbeat), so all of them are scaled alike.

use std::future::poll_fn;
use std::sync::OnceLock;
use std::task::Poll;
use std::time::{Duration, Instant};

fn scale() -> f64 {
    static SCALE: OnceLock<f64> = OnceLock::new();
    *SCALE.get_or_init(|| match std::env::var("LOCK_TEST_SCALE") {
        Err(_) => 1.0,
        Ok(text) => match text.parse::<f64>() {
            Ok(scale) if (0.1..=100.0).contains(&scale) => scale,
            _ => panic!("LOCK_TEST_SCALE is {text:?}; give a number from 0.1 to 100, such as 2 for a slow machine"),
        },
    })
}

/// Whether the long runs are wanted too: `LOCK_TEST_LONG=1`, which `tests/run --long` sets.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os("LOCK_TEST_LONG").is_some_and(|value| value == "1")
}

/// So many milliseconds, scaled.
#[must_use]
pub fn millis(count: u64) -> Duration {
    Duration::from_millis(count).mul_f64(scale())
}

/// So many microseconds, scaled.
#[must_use]
pub fn micros(count: u64) -> Duration {
    Duration::from_micros(count).mul_f64(scale())
}

/// L: the lease of most tests.
#[must_use]
pub fn lease() -> Duration {
    millis(1_000)
}

/// A lease that outlives its test: what is gone before its end was released, it didn't expire.
#[must_use]
pub fn long_lease() -> Duration {
    millis(30_000)
}

/// The lease of holders that get killed.
#[must_use]
pub fn crash_lease() -> Duration {
    millis(2_000)
}

/// A lease so short that many of them fit into a test.
#[must_use]
pub fn short_lease() -> Duration {
    millis(600)
}

/// P: the longest time between two asks of a waiter.
#[must_use]
pub fn heartbeat() -> Duration {
    millis(120)
}

/// G: what a dead waiter costs its successors.
#[must_use]
pub fn grace() -> Duration {
    millis(300)
}

/// H: how long a ticket lives without an ask; four heartbeats.
#[must_use]
pub fn ticket_life() -> Duration {
    heartbeat() * 4
}

/// Lease, heartbeat and grace of a manager that sets none. Not scaled: they are what users get.
pub const DEFAULTS: (Duration, Duration, Duration) = (
    Duration::from_secs(30),
    Duration::from_secs(1),
    Duration::from_millis(2_500),
);

/// The body of a payment that takes no time to speak of.
#[must_use]
pub fn short_body() -> Duration {
    millis(5)
}

/// How often a watching body writes down that it still runs.
#[must_use]
pub fn tick() -> Duration {
    millis(5)
}

/// What a call over loopback may take on a machine that does other things as well.
#[must_use]
pub fn moment() -> Duration {
    millis(100)
}

/// When to give up on something that must happen: long, since only a failing test waits for it.
#[must_use]
pub fn patience() -> Duration {
    millis(20_000)
}

/// How often something is done: a few times in the short run, as often as the case says in the long one.
#[must_use]
pub fn times(short: usize, long: usize) -> usize {
    if is_long() { long } else { short }
}

/// Lets time pass. For bodies and for spans that are themselves the subject; what can be awaited is awaited.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Ready at the first poll after `due`, whoever caused that poll; a timer alone is ready once its runtime has noticed.
pub async fn past(due: Instant) {
    let mut timer = Box::pin(tokio::time::sleep_until(due.into()));
    poll_fn(|context| {
        if Instant::now() >= due {
            Poll::Ready(())
        } else {
            timer.as_mut().poll(context)
        }
    })
    .await;
}

/// Lets time pass on this thread, blocking it.
pub fn block(time: Duration) {
    std::thread::sleep(time);
}

/// Waits until `condition` holds; panics with `what` when it doesn't within `limit`. Returns how long it took.
///
/// For what only shows by looking, such as a key of a server.
pub async fn until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < limit, "not within {limit:?}: {what}");
        pass(Duration::from_millis(1)).await;
    }
    start.elapsed()
}

/// As [`until`] within [`patience`], for what is awaited to be seen.
pub async fn until_async<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let look = async {
        while !condition().await {
            pass(Duration::from_millis(1)).await;
        }
    };
    soon(what, look).await;
}

/// As [`until`], blocking this thread.
pub fn block_until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < limit, "not within {limit:?}: {what}");
        block(Duration::from_millis(1));
    }
    start.elapsed()
}

/// Awaits `future`; panics with `what` when it doesn't end within [`patience`].
pub async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(patience(), future).await {
        Ok(output) => output,
        Err(_) => panic!("not within {:?}: {what}", patience()),
    }
}
