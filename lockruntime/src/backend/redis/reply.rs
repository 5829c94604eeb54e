//! What the scripts answer, as outcomes; what the client library reports, as errors that say what to do.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the client's enums grow; what isn't named has one answer"
)]

use std::time::Duration;

use redis::{ErrorKind, RedisError, ServerErrorKind, Value};

use crate::backend::{
    Answer, BackendError, BackendErrorKind, HandOver, Held, Listed, Released, Renewed, Snapshot,
    Standing, WaitingTicket,
};
use crate::options::Sharing;
use crate::token::{FencingToken, OwnerToken};

use super::record;

/// An answer to an ask, and the server's clock.
#[derive(Debug, PartialEq)]
pub(super) enum AskReply {
    Stale,
    Answer(Answer),
}

pub(super) fn ask(value: &Value) -> Option<(u64, AskReply)> {
    let parts = sequence(value)?;
    let now = number(parts.get(1)?)?;
    let reply = match text(parts.first()?)? {
        "STALE" => AskReply::Stale,
        "DIFFERS" => AskReply::Answer(Answer::Differs {
            present: match u32::try_from(number(parts.get(2)?)?).ok()? {
                0 => Sharing::Read,
                permits => Sharing::Permits(permits),
            },
        }),
        "HELD" => AskReply::Answer(Answer::Held {
            token: token(parts.get(2)?)?,
        }),
        "WAIT" => AskReply::Answer(Answer::Waiting {
            number: number(parts.get(2)?)?,
            rank: number(parts.get(3)?)?,
            left: Duration::from_millis(number(parts.get(4)?)?),
        }),
        // negative: unknown
        "BUSY" => AskReply::Answer(Answer::Busy {
            left: number(parts.get(2)?).map(Duration::from_millis),
            waiting: parts.get(3).and_then(number),
        }),
        _ => return None,
    };
    Some((now, reply))
}

pub(super) fn renewed(value: &Value) -> Option<Renewed> {
    match number(value)? {
        1 => Some(Renewed::Renewed),
        0 => Some(Renewed::Lost),
        _ => None,
    }
}

/// Whether the script of those who share is to be called instead, wherever the word stands.
pub(super) fn is_shared(value: &Value) -> bool {
    sequence(value).is_some_and(|parts| {
        parts
            .iter()
            .take(2)
            .any(|word| text(word) == Some("SHARED"))
    })
}

pub(super) fn released(value: &Value) -> Option<Released> {
    released_parts(sequence(value)?)
}

pub(super) fn withdrawn(value: &Value) -> Option<(u64, Released)> {
    let (now, rest) = sequence(value)?.split_first()?;
    Some((number(now)?, released_parts(rest)?))
}

fn released_parts(parts: &[Value]) -> Option<Released> {
    match text(parts.first()?)? {
        "FREE" => Some(Released::Free),
        "PASSED" => Some(Released::Passed),
        "KEPT" => Some(Released::Kept),
        "ABSENT" | "OTHER" => Some(Released::NotHeld),
        "NEXT" => Some(Released::Next(HandOver::new(
            OwnerToken::parse(text(parts.get(1)?)?)?,
            number(parts.get(2)?)?,
            token(parts.get(3)?)?,
        ))),
        _ => None,
    }
}

/// A wake-up: `ticket number token`.
pub(super) fn hand_over(message: &[u8]) -> Option<HandOver> {
    let mut words = std::str::from_utf8(message).ok()?.split(' ');
    let hand_over = HandOver::new(
        OwnerToken::parse(words.next()?)?,
        words.next()?.parse().ok()?,
        FencingToken::new(words.next()?.parse().ok()?),
    );
    words.next().is_none().then_some(hand_over)
}

/// A picture of one key; `Err` when something foreign stands there.
pub(super) fn snapshot(value: &Value) -> Option<Result<Snapshot, ()>> {
    let [now, json, left, holds, tickets @ ..] = sequence(value)? else {
        return None;
    };
    let micros = number(now)?;
    let json = bytes(json)?;
    let mut holders = match (json, number(left)) {
        // gone, or going in this very millisecond
        (b"", _) | (_, None) => Vec::new(),
        (json, Some(left)) => match held(json, left, micros) {
            // it stands for all of them
            Some(held) if held.owner == OwnerToken::ALL => several(sequence(holds)?, micros)?,
            Some(held) => vec![held],
            None => return Some(Err(())),
        },
    }
    .into_iter();
    let held = holders.next();
    let beside = holders.collect();
    let waiting = tickets
        .chunks_exact(4)
        .map(|ticket| {
            let [member, place, dies, words] = ticket else {
                return None;
            };
            let dies = number(dies)?.checked_sub(micros / 1_000);
            let place = number(place)?;
            // what a newer version writes there is not read
            let holder = text(words)
                .and_then(|words| record::holder_of(words.split_at_checked(words.find(',')?)?.1));
            Some(WaitingTicket {
                member: text(member)?.to_owned(),
                number: place,
                alive_for: dies.map(Duration::from_millis),
                waited: since(place, micros),
                holder,
            })
        })
        .collect::<Option<_>>()?;
    Some(Ok(Snapshot {
        held,
        beside,
        waiting,
    }))
}

/// Those whose lease isn't over: ticket, its end, and the record without its begin.
fn several(holds: &[Value], micros: u64) -> Option<Vec<Held>> {
    let mut several = Vec::with_capacity(holds.len() / 3);
    for hold in holds.chunks_exact(3) {
        let [ticket, ends, rest] = hold else {
            return None;
        };
        let left = number(ends)?.saturating_sub(micros / 1_000);
        if left == 0 {
            continue;
        }
        let json = format!(
            "{{\"owner\":\"{}\",\"fencingToken\":{}",
            text(ticket)?,
            text(rest)?
        );
        several.extend(held(json.as_bytes(), left, micros));
    }
    Some(several)
}

/// What a record says, and what the server's clock adds. Tokens and places are moments of that clock, in microseconds, unless
/// there were several in one: then they are a little later.
fn held(json: &[u8], left: u64, micros: u64) -> Option<Held> {
    let record = record::decode(json)?;
    Some(Held {
        owner: record.owner,
        token: record.token,
        sharing: record.sharing,
        left: Duration::from_millis(left),
        holder: Some(record.holder),
        lease: record.lease,
        age: since(record.token.get(), micros),
        version: record.version,
    })
}

fn since(number: u64, micros: u64) -> Duration {
    Duration::from_micros(micros.saturating_sub(number))
}

/// One lock of a list; nothing where it has gone meanwhile.
pub(super) fn listed(key: &str, value: &Value) -> Option<Option<Listed>> {
    let [now, record, left, waiting, places @ ..] = sequence(value)? else {
        return None;
    };
    let (micros, waiting) = (number(now)?, number(waiting)?);
    // gone in this very millisecond
    let record = if *left == Value::Int(-2) {
        &Value::BulkString(Vec::new())
    } else {
        record
    };
    let left = number(left);
    let broken = |what: &str| Standing::Broken {
        what: what.to_owned(),
        left: left.map(Duration::from_millis),
    };
    let standing = match (bytes(record), left) {
        (None, _) => broken("not a text, so no record"),
        (Some(b""), _) => Standing::Free,
        (Some(json), left) => match held(json, left.unwrap_or(0), micros) {
            Some(_) if left.is_none() => broken("a record without an expiry, which no lock has"),
            Some(held) => Standing::Held(held),
            None => broken("not a record that this version can read"),
        },
    };
    if standing == Standing::Free && waiting == 0 {
        return Some(None);
    }
    let waits = places
        .iter()
        .map(|place| Some(since(number(place)?, micros)));
    Some(Some(Listed {
        key: key.to_owned(),
        standing,
        waiting,
        waits: waits.collect::<Option<_>>()?,
    }))
}

pub(super) fn sequence(value: &Value) -> Option<&[Value]> {
    value.as_sequence()
}

fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.as_bytes()),
        _ => None,
    }
}

pub(super) fn text(value: &Value) -> Option<&str> {
    std::str::from_utf8(bytes(value)?).ok()
}

/// A number that isn't negative, as integer or digits.
pub(super) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        other => text(other)?.parse().ok(),
    }
}

fn token(value: &Value) -> Option<FencingToken> {
    number(value).map(FencingToken::new)
}

/// An answer that this version doesn't know.
pub(super) fn unknown(address: &str) -> BackendError {
    BackendError::new(
        BackendErrorKind::Protocol,
        format!(
            "Redis at {address} gave an answer that this version doesn't know; update lockruntime, or look for a proxy between"
        ),
    )
}

/// A failed call as our error. Never shows more than the server's own words and the address.
pub(super) fn failed(address: &str, error: RedisError) -> BackendError {
    let kind = kind_of(&error);
    let message = match kind {
        BackendErrorKind::Unreachable => {
            format!("Redis at {address} can't be reached; check the address and that it is running")
        }
        // one server has no quorum
        BackendErrorKind::Timeout
        | BackendErrorKind::NoQuorum
        | BackendErrorKind::NotReplicated => {
            format!("Redis at {address} gave no answer in time; it may be overloaded or cut off")
        }
        BackendErrorKind::NotReady if refuses(&error, "NOREPLICAS") => format!(
            "Redis at {address} has fewer replicas in step than its min-replicas-to-write asks for; wait for them, or lower it"
        ),
        BackendErrorKind::NotReady if refuses(&error, "MISCONF") => format!(
            "Redis at {address} refuses writes since it can't save its data; see its log, there may be no room on its disk"
        ),
        BackendErrorKind::NotReady => format!(
            "Redis at {address} is not ready ({}); it usually is soon",
            detail(&error)
        ),
        BackendErrorKind::ReadOnly => {
            format!("Redis at {address} is a read-only replica; give the address of its master")
        }
        BackendErrorKind::OutOfMemory => {
            format!(
                "Redis at {address} is out of memory and refuses new locks; raise its maxmemory or free some"
            )
        }
        BackendErrorKind::Permission => format!(
            "Redis at {address} refused user, password or a right ({}); check the URL's credentials and the user's ACL",
            detail(&error)
        ),
        BackendErrorKind::Foreign => format!(
            "Redis at {address} has something that isn't a lock at the lock's key ({}); choose another app, env or key, or remove it \
             by hand",
            detail(&error)
        ),
        BackendErrorKind::Tls => format!(
            "Redis at {address} ended the TLS connection ({error}); check the client certificate (tls_cert, tls_key)"
        ),
        BackendErrorKind::Protocol | BackendErrorKind::Unsupported => {
            format!("Redis at {address} refused the command: {}", detail(&error))
        }
    };
    BackendError::new(kind, message).with_source(error)
}

/// Whether a right is missing.
pub(super) fn is_permission(error: &RedisError) -> bool {
    kind_of(error) == BackendErrorKind::Permission
}

/// Whether a server of a cluster says that the keys are, or may be, on another one.
pub(super) fn is_elsewhere(error: &RedisError) -> bool {
    matches!(error.code(), Some("MOVED" | "ASK" | "TRYAGAIN"))
}

/// Whether the server isn't the master, or has not got its data yet.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
pub(super) fn is_no_master(error: &RedisError) -> bool {
    matches!(error.code(), Some("READONLY" | "MASTERDOWN" | "LOADING"))
        || error.to_string().contains("READONLY ")
}

/// The answer to a look at the rights.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// The server's clock in milliseconds, where it may be read.
    pub(super) now: Option<u64>,
    /// Each command that gave an error, and the server's words.
    pub(super) refused: Vec<(String, String)>,
}

pub(super) fn refusals(value: &Value) -> Option<Refusals> {
    let [seconds, micros, refused @ ..] = sequence(value)? else {
        return None;
    };
    let now = number(seconds)?
        .checked_mul(1_000)?
        .checked_add(number(micros)? / 1_000)?;
    let refused = refused
        .chunks_exact(2)
        .map(|pair| match pair {
            [command, said] => Some((text(command)?.to_owned(), text(said)?.to_owned())),
            _ => None,
        })
        .collect::<Option<_>>()?;
    Some(Refusals {
        now: (now > 0).then_some(now),
        refused,
    })
}

/// Whether the server's words say that a right is missing. Inside of scripts there is no code before them, or another one.
pub(super) fn names_a_right(said: &str) -> bool {
    said.contains("NOPERM ")
        || said.contains("ACL failure")
        || said.contains("The user executing the script can't")
}

/// A TLS handshake that failed.
#[cfg(feature = "tls")]
pub(super) fn tls(address: &str, said: &str) -> BackendError {
    BackendError::new(
        BackendErrorKind::Tls,
        format!(
            "Redis at {address} could not be reached over TLS: {said}; check that it speaks TLS there, its certificate's names and \
             authority (tls_ca), and the client certificate where it asks for one (tls_cert, tls_key)"
        ),
    )
}

fn kind_of(error: &RedisError) -> BackendErrorKind {
    match error.kind() {
        ErrorKind::AuthenticationFailed => return BackendErrorKind::Permission,
        ErrorKind::Server(ServerErrorKind::NoPerm) => return BackendErrorKind::Permission,
        ErrorKind::Server(ServerErrorKind::ReadOnly) => return BackendErrorKind::ReadOnly,
        ErrorKind::Server(
            ServerErrorKind::BusyLoading
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::TryAgain
            | ServerErrorKind::Moved
            | ServerErrorKind::Ask,
        ) => return BackendErrorKind::NotReady,
        _ => {}
    }
    let said = error.to_string();
    match error.code() {
        Some("NOAUTH" | "WRONGPASS" | "NOPERM") => BackendErrorKind::Permission,
        Some("BUSY" | "LOADING" | "MASTERDOWN" | "NOREPLICAS" | "MISCONF") => {
            BackendErrorKind::NotReady
        }
        Some("READONLY") => BackendErrorKind::ReadOnly,
        Some("OOM") => BackendErrorKind::OutOfMemory,
        Some("WRONGTYPE" | "FOREIGN") => BackendErrorKind::Foreign,
        // inside of scripts the code stands in the text, at some place that depends on the server's version
        _ if said.contains("FOREIGN ") || said.contains("WRONGTYPE ") => BackendErrorKind::Foreign,
        _ if said.contains("OOM ") => BackendErrorKind::OutOfMemory,
        _ if said.contains("READONLY ") => BackendErrorKind::ReadOnly,
        _ if said.contains("NOREPLICAS ") || said.contains("MISCONF ") => {
            BackendErrorKind::NotReady
        }
        _ if names_a_right(&said) => BackendErrorKind::Permission,
        // the server refuses our certificate, or wants one, after the handshake
        _ if error.is_io_error() && said.contains("received fatal alert") => BackendErrorKind::Tls,
        _ if error.is_timeout() => BackendErrorKind::Timeout,
        _ if error.is_io_error()
            || error.is_connection_dropped()
            || error.is_connection_refusal() =>
        {
            BackendErrorKind::Unreachable
        }
        _ => BackendErrorKind::Protocol,
    }
}

/// Whether the server refuses writes with this word, be it inside of a script.
fn refuses(error: &RedisError, word: &str) -> bool {
    error.code() == Some(word) || error.to_string().contains(&format!("{word} "))
}

fn detail(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        (Some(code), None) => code.to_owned(),
        (None, _) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn answers_of_ask_are_read() {
        let held = Value::Array(vec![bulk("HELD"), Value::Int(5), bulk("1796000000000000")]);
        let answer = Answer::Held {
            token: FencingToken::new(1_796_000_000_000_000),
        };
        assert_eq!(ask(&held), Some((5, AskReply::Answer(answer))));
        let busy = Value::Array(vec![bulk("BUSY"), Value::Int(5), Value::Int(-1)]);
        assert_eq!(
            ask(&busy),
            Some((
                5,
                AskReply::Answer(Answer::Busy {
                    left: None,
                    waiting: None
                })
            ))
        );
        let full = Value::Array(vec![
            bulk("BUSY"),
            Value::Int(5),
            Value::Int(7),
            Value::Int(3),
        ]);
        assert_eq!(
            ask(&full),
            Some((
                5,
                AskReply::Answer(Answer::Busy {
                    left: Some(Duration::from_millis(7)),
                    waiting: Some(3)
                })
            ))
        );
        let differs = Value::Array(vec![bulk("DIFFERS"), Value::Int(5), Value::Int(3)]);
        let present = Sharing::Permits(3);
        assert_eq!(
            ask(&differs),
            Some((5, AskReply::Answer(Answer::Differs { present })))
        );
        for odd in [
            Value::Nil,
            Value::Int(1),
            Value::Array(vec![]),
            Value::Array(vec![bulk("HELD")]),
            Value::Array(vec![bulk("X"), Value::Int(1)]),
        ] {
            assert_eq!(ask(&odd), None);
        }
    }

    #[test]
    fn wake_ups_are_read_whole_or_not_at_all() {
        let ticket = OwnerToken::random();
        let read = hand_over(format!("{ticket} 7 9").as_bytes());
        assert_eq!(read, Some(HandOver::new(ticket, 7, FencingToken::new(9))));
        for odd in [
            "",
            "x 1 2",
            &format!("{ticket} 7"),
            &format!("{ticket} 7 9 1"),
            &format!("{ticket} -1 9"),
        ] {
            assert_eq!(hand_over(odd.as_bytes()), None, "{odd}");
        }
    }
}
