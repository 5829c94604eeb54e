//! What one server tells its operator: version, memory, persistence, replicas, clock, rights, keys of ours that never end.

use std::time::Duration;

use redis::{FromRedisValue, Value};

use super::connect::{Link, look};
use super::{reply, scan};
use crate::backend::{Listing, State, Survey};
use crate::clock;
use crate::health::Finding;

const LIMIT: Duration = Duration::from_secs(1);
/// A clock that is off by more is worth a word: people compare times of machines.
const SKEW: Duration = Duration::from_secs(2);
/// A replica that is behind by more has not seen locks that were given meanwhile.
const LAG: u64 = 2;
/// How often the way to the server is measured.
const PINGS: u32 = 5;

/// Looks at one server.
pub(super) async fn of(address: &str, link: &Link, listing: &Listing) -> Survey {
    let mut survey = Survey::of(address);
    match info(link).await {
        Ok(text) => read(&mut survey, &text),
        Err(says) => survey.add("server", State::Unknown, says),
    }
    rights(&mut survey, link).await;
    clock(&mut survey, link).await;
    match scan::endless(link, listing).await {
        Ok((0, _)) => survey.add("expiry", State::Good, "every key of these locks ends by itself"),
        Ok((count, first)) => survey.add(
            "expiry",
            State::Warning,
            format!(
                "{count} keys never end, such as {}; no key of ours is so: look who wrote them, and remove them by hand",
                first.unwrap_or_default()
            ),
        ),
        Err(_) => survey.add("expiry", State::Unknown, "the keys could not be listed; the user needs +scan"),
    }
    survey
}

async fn info(link: &Link) -> Result<String, String> {
    match link.within(LIMIT, link.send(&redis::cmd("INFO"))).await {
        Some(Ok(value)) => String::from_redis_value(value)
            .map_err(|_odd| "an answer to INFO that this version can't read".to_owned()),
        Some(Err(error)) if reply::is_permission(&error) => {
            Err("version, memory and replicas can't be read; the user needs +info".to_owned())
        }
        Some(Err(error)) => Err(error.to_string()),
        None => Err("no answer to INFO in time".to_owned()),
    }
}

/// What stands in the answer to `INFO`.
fn read(survey: &mut Survey, text: &str) {
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map_or("", str::trim)
    };
    let health = super::info::read(text);
    let server = health.server.unwrap_or_else(|| "unknown".to_owned());
    let finding = |wanted: fn(&Finding) -> bool| health.findings.iter().find(|found| wanted(found));
    match finding(|found| matches!(found, Finding::TooOld { .. })) {
        Some(found) => survey.add("version", State::Bad, found.to_string()),
        None => survey.add("version", State::Good, server),
    }
    match finding(|found| matches!(found, Finding::Replica)) {
        Some(found) => survey.add("role", State::Bad, found.to_string()),
        None => survey.add("role", State::Good, "master"),
    }
    match finding(|found| matches!(found, Finding::Evicts { .. })) {
        Some(found) => survey.add("memory", State::Warning, found.to_string()),
        None => {
            let limit = match field("maxmemory_human") {
                "0B" | "" => "no limit".to_owned(),
                limit => format!("of {limit}"),
            };
            let policy = field("maxmemory_policy");
            let used = field("used_memory_human");
            survey.add(
                "memory",
                State::Good,
                format!("{used} used, {limit}, {policy}"),
            );
        }
    }
    persistence(
        survey,
        field("aof_enabled") == "1",
        field("rdb_last_bgsave_status"),
        field("aof_last_write_status"),
    );
    replicas(survey, text, field("connected_slaves"));
}

fn persistence(survey: &mut Survey, append_only: bool, saved: &str, appended: &str) {
    if append_only && appended == "ok" {
        survey.add("persistence", State::Good, "append-only file");
    } else if append_only {
        survey.add(
            "persistence",
            State::Bad,
            format!("the append-only file can't be written: {appended}"),
        );
    } else {
        survey.add(
            "persistence",
            State::Warning,
            format!(
                "no append-only file (last snapshot: {saved}); a server that restarts has forgotten its locks, and two bodies may run \
                 until the holders notice: set appendonly yes where that matters"
            ),
        );
    }
}

fn replicas(survey: &mut Survey, text: &str, count: &str) {
    let lags: Vec<(&str, u64)> = text
        .lines()
        .filter(|line| line.starts_with("slave") && line.contains("state="))
        .map(|line| {
            let part = |name: &str| {
                line.trim()
                    .split([',', ':'])
                    .find_map(|part| part.strip_prefix(name))
            };
            let lag = part("lag=")
                .and_then(|lag| lag.parse().ok())
                .unwrap_or(u64::MAX);
            (part("ip=").unwrap_or("?"), lag)
        })
        .collect();
    let late: Vec<_> = lags
        .iter()
        .filter(|(_, lag)| *lag > LAG)
        .map(|(address, _)| *address)
        .collect();
    if lags.is_empty() {
        let count = if count.is_empty() { "0" } else { count };
        survey.add(
            "replicas",
            State::Good,
            format!("{count}: nobody takes over if this server is lost"),
        );
    } else if late.is_empty() {
        survey.add(
            "replicas",
            State::Good,
            format!("{}, none behind by more than {LAG} s", lags.len()),
        );
    } else {
        survey.add(
            "replicas",
            State::Warning,
            format!("{} behind by more than {LAG} s: {}; locks given meanwhile would be lost with this server", late.len(), late.join(", ")),
        );
    }
}

/// What making the connection found: whatever is wholly missing was an error before.
async fn rights(survey: &mut Survey, link: &Link) {
    let Some(health) = look::at(link).await else {
        let says = "could not be looked at: there was no answer to INFO";
        survey.add("rights", State::Unknown, says);
        return;
    };
    let polls = health
        .findings
        .iter()
        .find(|found| matches!(found, Finding::Polls { .. }));
    match polls {
        Some(found) => survey.add("rights", State::Warning, found.to_string()),
        None => survey.add("rights", State::Good, "everything that locks need"),
    }
}

/// The server's clock against ours, and the way there and back.
async fn clock(survey: &mut Survey, link: &Link) {
    let mut best: Option<(Duration, i128)> = None;
    for _ in 0..PINGS {
        let sent = clock::now();
        let before = clock::wall_micros();
        let Some(Ok(value)) = link.within(LIMIT, link.send(&redis::cmd("TIME"))).await else {
            break;
        };
        let way = clock::now().since(sent);
        let Some(server) = micros(&value) else { break };
        let middle = i128::from(before) + i128::try_from(way.as_micros() / 2).unwrap_or(0);
        let ahead = i128::from(server) - middle;
        if best.is_none_or(|(shortest, _)| way < shortest) {
            best = Some((way, ahead));
        }
    }
    let Some((way, ahead)) = best else {
        survey.add(
            "clock",
            State::Unknown,
            "the server's clock could not be read; the user needs +time",
        );
        return;
    };
    let off = Duration::from_micros(u64::try_from(ahead.unsigned_abs()).unwrap_or(u64::MAX));
    let side = if ahead < 0 { "behind" } else { "ahead of" };
    let says = format!("{} ms {side} this machine's", off.as_millis());
    if off > SKEW {
        let says = format!(
            "{says}: locks only need it to run evenly, but times in records and logs don't compare; set up NTP"
        );
        survey.add("clock", State::Warning, says);
    } else {
        survey.add("clock", State::Good, says);
    }
    survey.add(
        "round trip",
        State::Good,
        format!("{:.2} ms", way.as_secs_f64() * 1_000.0),
    );
}

fn micros(time: &Value) -> Option<u64> {
    let [seconds, micros] = reply::sequence(time)? else {
        return None;
    };
    reply::number(seconds)?
        .checked_mul(1_000_000)?
        .checked_add(reply::number(micros)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str, topic: &str) -> State {
        let mut survey = Survey::of("here");
        read(&mut survey, text);
        survey
            .points
            .iter()
            .find(|point| point.topic == topic)
            .unwrap()
            .state
    }

    #[test]
    fn replicas_that_lag_are_warned_of() {
        let info = |lag: u32| {
            format!(
                "connected_slaves:1\r\nslave0:ip=10.0.0.2,port=6379,state=online,offset=1,lag={lag}\r\n"
            )
        };
        assert_eq!(state("connected_slaves:0\r\n", "replicas"), State::Good);
        assert_eq!(state(&info(1), "replicas"), State::Good);
        assert_eq!(state(&info(9), "replicas"), State::Warning);
    }

    #[test]
    fn a_server_that_forgets_is_warned_of() {
        assert_eq!(state("aof_enabled:0\r\n", "persistence"), State::Warning);
        assert_eq!(
            state(
                "aof_enabled:1\r\naof_last_write_status:ok\r\n",
                "persistence"
            ),
            State::Good
        );
        assert_eq!(
            state(
                "aof_enabled:1\r\naof_last_write_status:err\r\n",
                "persistence"
            ),
            State::Bad
        );
    }
}
