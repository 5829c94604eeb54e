//! What the lock says on the wire, seen from outside: the names of its keys, and which verb a command is.

use crate::fault::Request;
use crate::server::Seen;

/// The application that the tests' locks belong to.
pub const APP: &str = "tests";
/// The environment that the tests' locks belong to.
pub const ENVIRONMENT: &str = "kit";

/// The owner in a record that stands for several holds.
const NOBODY: &str = r#""owner":"00000000000000000000000000000000""#;

/// The whole key of a lock's record.
#[must_use]
pub fn record(key: &str) -> String {
    format!("lib_lock:{APP}:{ENVIRONMENT}:{key}")
}

/// The sorted set of a lock's waiting tickets.
#[must_use]
pub fn queue(key: &str) -> String {
    format!("lib_mutex_queue:{{{}}}", record(key))
}

/// Owner and fencing token of a record.
///
/// # Panics
/// When it is no record.
#[must_use]
pub fn owner_of(record: &str) -> (String, u64) {
    let fields: serde_json::Value =
        serde_json::from_str(record).unwrap_or_else(|error| panic!("{record}: {error}"));
    let owner = fields
        .get("owner")
        .and_then(serde_json::Value::as_str)
        .expect("a record names its owner");
    let token = fields
        .get("fencingToken")
        .and_then(serde_json::Value::as_u64)
        .expect("a record has a fencing token");
    (owner.to_owned(), token)
}

/// What a lock's script does. Told apart by the shape of the call, since a hash says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Tries, polls, keeps the place.
    Ask,
    /// Lengthens a hold.
    Renew,
    /// Gives the lock back.
    Release,
    /// Leaves the queue.
    Withdraw,
    /// Looks.
    Snapshot,
}

impl Verb {
    /// The verb of a request under way; `None` for everything that isn't the lock's.
    #[must_use]
    pub fn of(request: &Request) -> Option<Self> {
        if request.is_script() {
            Self::of_arguments(&request.arguments())
        } else {
            None
        }
    }

    /// The verb of an executed command; `None` for everything that isn't the lock's.
    #[must_use]
    pub fn of_seen(seen: &Seen) -> Option<Self> {
        if ["evalsha", "eval"].contains(&seen.name()) {
            Self::of_arguments(seen.words.get(1..)?)
        } else {
            None
        }
    }

    /// Script, number of keys, the keys, the script's own arguments.
    fn of_arguments(arguments: &[String]) -> Option<Self> {
        let keys: usize = arguments.get(1)?.parse().ok()?;
        if !arguments.get(2)?.starts_with("lib_lock:") {
            return None;
        }
        match (keys, arguments.len() - 2 - keys) {
            (1, 2) => Some(Self::Renew),
            // of those who share a lock: ticket, token and lease
            (6, 3) if is_number(arguments.get(9)?) => Some(Self::Renew),
            (_, 1) => Some(Self::Snapshot),
            (_, 2) => Some(Self::Release),
            // of three the last is a channel, or how long the lock is kept before it is given back
            (_, 3) if is_number(arguments.last()?) => Some(Self::Release),
            (_, 3) => Some(Self::Withdraw),
            // the tenth is the longest queue that is joined
            (_, 9 | 10) => Some(Self::Ask),
            _ => None,
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The ticket that a command puts into a queue, and the id of the process that it belongs to.
#[must_use]
pub fn queues(seen: &Seen) -> Option<(String, u32)> {
    let (true, [_, _, _, member]) = (seen.by_script && seen.name() == "zadd", &seen.words[..])
    else {
        return None;
    };
    let mut parts = member.rsplit(':');
    let ticket = parts.next()?.to_owned();
    Some((ticket, parts.next()?.parse().ok()?))
}

/// Key and ticket of every call, in the order in which the server let them in: into the queue, or at once into the lock.
///
/// An ask alone doesn't count: the server may not know its script yet, or may find it too late.
#[must_use]
pub fn arrivals(seen: &[Seen]) -> Vec<(String, String)> {
    let (records, queues) = (record(""), queue(""));
    let queues = queues.trim_end_matches('}');
    let mut arrived = std::collections::HashSet::new();
    let mut arrivals = Vec::new();
    for command in seen.iter().filter(|command| command.by_script) {
        let arrival = match (command.name(), command.words.get(1..).unwrap_or_default()) {
            // into the queue, or among those who hold it
            ("zadd", [queue, _, member]) => queue
                .strip_prefix(queues)
                .and_then(|key| key.trim_end_matches(":h").strip_suffix('}'))
                .zip(member.rsplit(':').next()),
            // a record of several stands for them, and is nobody's
            ("set", [key, value, ..]) if !value.contains(NOBODY) => key.strip_prefix(&records).zip(
                value
                    .strip_prefix(r#"{"owner":""#)
                    .and_then(|rest| rest.get(..32)),
            ),
            _ => None,
        };
        if let Some((key, ticket)) = arrival
            && arrived.insert((key, ticket))
        {
            arrivals.push((key.to_owned(), ticket.to_owned()));
        }
    }
    arrivals
}

/// Whether a command gives the lock to a ticket: alone, or beside others.
#[must_use]
pub fn is_grant(seen: &Seen) -> bool {
    seen.name() == "set" || seen.words.get(1).is_some_and(|key| key.ends_with("}:h"))
}

/// How often the server executed a verb. A script that it doesn't know yet is refused, and called again with its text.
#[must_use]
pub fn executed(seen: &[Seen], verb: Verb) -> usize {
    let calls = seen.iter().zip(seen.iter().skip(1));
    calls
        .filter(|(call, next)| Verb::of_seen(call) == Some(verb) && next.by_script)
        .count()
}

/// How often the server lengthened the record of `key`.
#[must_use]
pub fn renewals(seen: &[Seen], key: &str) -> usize {
    let record = record(key);
    seen.iter()
        .filter(|command| command.by_script && command.name() == "pexpire" && command.has(&record))
        .count()
}
