//! What the fuzzer may call: every decoder of bytes that come from a server.

use super::{record, reply};
use crate::token::OwnerToken;

/// A record is one of ours, whole, or none.
pub fn record(json: &[u8]) {
    if let Some(record) = record::decode(json) {
        let owner = record.owner;
        assert_eq!(OwnerToken::parse(&owner.to_string()), Some(owner));
    }
}

/// Any answer of a server, in its own encoding, is read or refused by every verb.
pub fn reply(bytes: &[u8]) {
    if let Ok(value) = redis::parse_redis_value(bytes) {
        drop(reply::ask(&value));
        let _ = reply::renewed(&value);
        let _ = reply::released(&value);
        let _ = reply::withdrawn(&value);
        drop(reply::snapshot(&value));
    }
}

/// A wake-up is read whole or not at all, and written back the same.
pub fn wake_up(message: &[u8]) {
    if let Some(hand_over) = reply::hand_over(message) {
        let again = format!(
            "{} {} {}",
            hand_over.ticket, hand_over.number, hand_over.token
        );
        assert_eq!(reply::hand_over(again.as_bytes()), Some(hand_over));
    }
}
