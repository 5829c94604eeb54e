//! What every test looks at in the end.

use std::time::Duration;

use crate::server::Raw;
use crate::{RedisServer, logs, timing};

/// A node of a quorum says with it that it has data; it stays for a month.
pub const MARKER: &str = ":}:q";

/// The lock's keys on a server, but for the counters that outlive their locks on purpose.
#[must_use]
pub fn left_behind(raw: &Raw) -> Vec<String> {
    let mut keys = raw.keys("lib_*");
    keys.retain(|key| !key.ends_with(":n") && !key.ends_with(MARKER));
    keys
}

/// Nothing of the lock's is on the server within `limit`.
pub async fn gone_within(server: &RedisServer, limit: Duration) {
    let raw = server.raw();
    let start = std::time::Instant::now();
    loop {
        let keys = left_behind(&raw);
        if keys.is_empty() {
            return;
        }
        assert!(
            start.elapsed() < limit,
            "still there after {limit:?}: {keys:?}"
        );
        timing::pass(Duration::from_millis(1)).await;
    }
}

/// The end of a test: no lock, ticket or queue is left after the longer of one lease and two ticket lives, plus a second; every
/// key that stays has an expiry; the lock's code did not panic, and warned exactly `warnings` times about this server or `id`.
pub async fn end(server: &RedisServer, id: &str, lease: Duration, warnings: usize) {
    gone_within(
        server,
        lease.max(timing::ticket_life() * 2) + timing::millis(1_000),
    )
    .await;
    let raw = server.raw();
    let mut keys = raw.keys("lib_*");
    keys.retain(|key| !key.ends_with(MARKER));
    for key in keys {
        assert!(
            raw.left(&key)
                .is_some_and(|left| left <= Duration::from_secs(3_601)),
            "{key} stays too long"
        );
    }
    end_of_process(&[id, &server.address()], warnings);
}

/// The same for the locks of one environment on servers that several tests share, of which some may be gone.
pub async fn end_of_environment(
    servers: &[Raw],
    environment: &str,
    words: &[&str],
    lease: Duration,
    warnings: usize,
) {
    let limit = lease.max(timing::ticket_life() * 2) + timing::millis(1_000);
    let start = std::time::Instant::now();
    let ours = |raw: &Raw| raw.keys(&format!("lib_*:{environment}:*"));
    for raw in servers {
        loop {
            let mut keys = ours(raw);
            keys.retain(|key| !key.ends_with(":n"));
            if keys.is_empty() {
                break;
            }
            assert!(
                start.elapsed() < limit,
                "still there after {limit:?}: {keys:?}"
            );
            timing::pass(Duration::from_millis(1)).await;
        }
        for key in ours(raw) {
            // replicas remove what has ended when their master says so
            assert!(
                raw.left(&key)
                    .is_none_or(|left| left <= Duration::from_secs(3_601)),
                "{key} stays too long"
            );
        }
    }
    end_of_process(words, warnings);
}

/// The part of the end that concerns this process: panics, and warnings that contain one of `words`.
#[track_caller]
pub fn end_of_process(words: &[&str], warnings: usize) {
    assert_eq!(logs::panics(), Vec::<String>::new());
    let seen = logs::warnings_about(words);
    assert_eq!(seen.len(), warnings, "warnings: {seen:#?}");
}
