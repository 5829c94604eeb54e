//! `bench`: how long a lock, and a hand-over, take on this storage.

use std::time::Duration;

use super::render::{Tone, cell, table, toned};
use super::{DONE, Outcome, Screen};
use crate::clock;
use crate::error::LockError;
use crate::manager::LockManager;

/// A hand-over takes longer to set up.
const HAND_OVERS: u32 = 50;
/// What is waited for before a hand-over: the waiter stands in the queue.
const PAUSE: Duration = Duration::from_millis(2);

/// `lockctl bench`, between two managers that know nothing of each other.
pub(super) async fn bench(
    managers: [&LockManager; 2],
    count: u32,
    screen: &mut Screen<'_>,
) -> Outcome {
    let key = format!("lockctl-bench:{:016x}", rand::random::<u64>());
    let count = count.max(1);
    let cycles = cycles(managers[0], &key, count).await?;
    let hand_overs = hand_overs(managers, &key, count.min(HAND_OVERS)).await?;
    let results = [("lock and release", cycles), ("hand-over", hand_overs)];
    if screen.json {
        let of = |times: &[Duration]| {
            serde_json::json!({
                "count": times.len(),
                "p50Us": micros(at(times, 50)),
                "p99Us": micros(at(times, 99)),
            })
        };
        let value =
            serde_json::json!({ "cycle": of(&results[0].1), "handOver": of(&results[1].1) });
        writeln!(screen.out, "{value}")?;
        return Ok(DONE);
    }
    let row = |(name, times): &(&str, Vec<Duration>)| {
        let p50 = at(times, 50);
        let rate = 1.0 / p50.as_secs_f64().max(1e-9);
        vec![
            cell(*name),
            cell(times.len().to_string()),
            cell(format!("{} µs", micros(p50))),
            cell(format!("{} µs", micros(at(times, 99)))),
            toned(
                format!("{rate:.0} a second, one after the other"),
                Tone::Faint,
            ),
        ]
    };
    let rows: Vec<_> = results.iter().map(row).collect();
    table(
        screen.out,
        screen.colored,
        &["WHAT", "TIMES", "P50", "P99", ""],
        &rows,
    )?;
    Ok(DONE)
}

/// A free lock, taken and given back.
async fn cycles(locks: &LockManager, key: &str, count: u32) -> Result<Vec<Duration>, LockError> {
    let mut times = Vec::new();
    for round in 0..count + count / 10 {
        let begin = clock::now();
        locks.lock(key).acquire().await?.release().await?;
        // the first tenth warms the connection up
        if round >= count / 10 {
            times.push(clock::now().since(begin));
        }
    }
    times.sort();
    Ok(times)
}

/// From the start of a release to the moment when the waiter has the lock.
async fn hand_overs(
    [first, second]: [&LockManager; 2],
    key: &str,
    count: u32,
) -> Result<Vec<Duration>, LockError> {
    let mut times = Vec::new();
    for _ in 0..count {
        let guard = first.lock(key).acquire().await?;
        let wait = async {
            let guard = second.lock(key).acquire().await?;
            let granted = clock::now();
            guard.release().await?;
            Ok::<_, LockError>(granted)
        };
        let hand_over = async {
            while first.snapshot(key).await?.waiting.is_empty() {
                clock::sleep(PAUSE).await;
            }
            let released = clock::now();
            guard.release().await?;
            Ok::<_, LockError>(released)
        };
        let (granted, released) = futures_util::future::try_join(wait, hand_over).await?;
        times.push(granted.since(released));
    }
    times.sort();
    Ok(times)
}

fn at(times: &[Duration], percent: usize) -> Duration {
    let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(index).copied().unwrap_or_default()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
