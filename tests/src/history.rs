//! What happened: who entered and left which lock, in the order of one witness.

use std::time::Duration;

/// What a body wrote down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// Its first statement.
    Entered,
    /// It still runs.
    Ticked,
    /// Its last statement.
    Left,
}

impl What {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Entered => "entered",
            Self::Ticked => "ticked",
            Self::Left => "left",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::Entered, Self::Ticked, Self::Left]
            .into_iter()
            .find(|what| what.word() == word)
    }
}

/// One line of a history. Its place in the history is its place in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What the body wrote down.
    pub what: What,
    /// The lock.
    pub key: String,
    /// Which body: a text that no other body has, such as the owner token.
    pub body: String,
    /// The fencing token of its grant; 0 when it had none.
    pub token: u64,
    /// When, by the witness's clock, since 1970.
    pub at: Duration,
}

/// The events of one key.
pub fn of_key<'a>(events: &'a [Event], key: &'a str) -> impl Iterator<Item = &'a Event> {
    events.iter().filter(move |event| event.key == key)
}

/// The bodies that entered `key`, in order.
#[must_use]
pub fn entries<'a>(events: &'a [Event], key: &'a str) -> Vec<&'a Event> {
    of_key(events, key)
        .filter(|event| event.what == What::Entered)
        .collect()
}

/// All keys of a history.
#[must_use]
pub fn keys(events: &[Event]) -> Vec<&str> {
    let mut keys: Vec<_> = events.iter().map(|event| event.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}
