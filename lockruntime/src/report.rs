//! Locks in the words of operators: as JSON, as `lockctl --json` writes and the dashboard shows them. Names and units stay: times in milliseconds, dates RFC 3339 in UTC, tokens as they are.

use std::time::Duration;

use serde_json::{Value, json};

#[cfg(feature = "cli")]
use crate::backend::Survey;
use crate::backend::{Held, Holder, Inventory, Listed, Pulse, Snapshot, Standing};

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn holder(holder: Option<&Holder>) -> Value {
    holder.map_or(Value::Null, |holder| {
        json!({
            "host": holder.host_name,
            "process": holder.process_name,
            "pid": holder.process_id,
            "task": holder.thread_id,
            "function": holder.name_of,
        })
    })
}

fn held(held: &Held) -> Value {
    let one = !held.is_of_several();
    json!({
        "owner": one.then(|| held.owner.to_string()),
        "sharing": (!held.sharing.is_alone()).then(|| held.sharing.to_string()),
        "fencingToken": held.token.get(),
        "since": held.since(),
        "ageMs": millis(held.age),
        "remainingMs": millis(held.left),
        "leaseMs": held.lease.map(millis),
        "renewed": match held.pulse() {
            Pulse::Renewed => json!(true),
            Pulse::Overdue { .. } => json!(false),
            Pulse::Unknown => Value::Null,
        },
        "recordVersion": held.version,
        "holder": holder(held.holder.as_ref().filter(|_| one)),
    })
}

/// One lock of a list. What only some locks have is null for the others.
fn listed(lock: &Listed) -> Value {
    let (state, by, broken) = match &lock.standing {
        Standing::Held(by) => ("held", Some(by), None),
        Standing::Free => ("free", None, None),
        Standing::Broken { what, left } => ("broken", None, Some((what, left))),
    };
    json!({
        "key": lock.key,
        "state": state,
        "held": by.map(held),
        "broken": broken.map(|(what, left)| json!({ "what": what, "remainingMs": left.map(millis) })),
        "waiting": lock.waiting,
        "waitsMs": lock.waits.iter().copied().map(millis).collect::<Vec<_>>(),
    })
}

/// A list, and what is missing from it.
pub(crate) fn list(inventory: &Inventory) -> Value {
    let locks: Vec<_> = inventory.locks.iter().map(listed).collect();
    json!({ "locks": locks, "gaps": inventory.gaps })
}

/// One lock and its queue.
pub(crate) fn snapshot(key: &str, snapshot: &Snapshot) -> Value {
    let waiting = snapshot.waiting.iter().enumerate().map(|(rank, ticket)| {
        json!({
            "rank": rank,
            "ticket": ticket.member,
            "waitedMs": millis(ticket.waited),
            "aliveForMs": ticket.alive_for.map(millis),
            "alive": ticket.alive_for.is_some(),
            "waiter": holder(ticket.holder.as_ref()),
        })
    });
    json!({
        "key": key,
        "state": if snapshot.held.is_some() { "held" } else { "free" },
        "held": snapshot.held.as_ref().map(held),
        "beside": snapshot.beside.iter().map(held).collect::<Vec<_>>(),
        "waiting": waiting.collect::<Vec<_>>(),
        "why": why(snapshot),
    })
}

/// What the servers tell.
#[cfg(feature = "cli")]
pub(crate) fn surveys(surveys: &[Survey]) -> Value {
    let server = |survey: &Survey| {
        let points = survey.points.iter().map(|point| {
            json!({
                "topic": point.topic,
                "state": format!("{:?}", point.state).to_lowercase(),
                "says": point.says,
            })
        });
        json!({ "address": survey.address, "points": points.collect::<Vec<_>>() })
    };
    json!({ "servers": surveys.iter().map(server).collect::<Vec<_>>() })
}

/// Why the first in line isn't running.
pub(crate) fn why(snapshot: &Snapshot) -> String {
    let Some(first) = snapshot.waiting.first() else {
        return String::new();
    };
    let dead = first.alive_for.is_none();
    let first = if dead {
        "The first in line is dead, and is dropped with the next ask of anybody behind it"
    } else {
        "The first in line"
    };
    match (&snapshot.held, dead) {
        (Some(held), false) => match held.pulse() {
            Pulse::Overdue { .. } => format!(
                "{first} waits for a holder that no longer renews: it enters in {} at the latest, when the lease ends.",
                time(held.left)
            ),
            Pulse::Renewed | Pulse::Unknown => {
                format!(
                    "{first} waits for the holder, who is at work; it enters as soon as the lock is given back."
                )
            }
        },
        (Some(_), true) => format!("{first}. The lock is held meanwhile."),
        (None, false) => format!(
            "{first} finds the lock free with its next ask, within a heartbeat (1 s by default)."
        ),
        (None, true) => format!("{first}; who comes next then enters."),
    }
}

/// A length of time, in two figures that people read: `8.7 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`.
pub(crate) fn time(time: Duration) -> String {
    let millis = time.as_millis();
    let seconds = time.as_secs();
    match seconds {
        0 if millis < 1_000 => format!("{millis} ms"),
        0..60 => format!("{}.{} s", seconds, time.subsec_millis() / 100),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (millis, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (8_749, "8.7 s"),
            (250_000, "4 min 10 s"),
            (7_500_000, "2 h 5 min"),
            (273_600_000, "3 d 4 h"),
        ] {
            assert_eq!(time(Duration::from_millis(millis)), text);
        }
    }
}
