//! What an operator asks of a storage: all locks at once, the storage itself, a lock taken from its holder.

use std::sync::Arc;
use std::time::Duration;

use super::Held;
use crate::token::{FencingToken, OwnerToken};

/// Which locks to list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Listing {
    /// What the records' keys begin with: `lib_lock:app:env:`.
    pub prefix: Arc<str>,
    /// What follows: `*` stands for any text, `?` for one character.
    pub pattern: Arc<str>,
}

impl Listing {
    pub(crate) fn new(prefix: &str, pattern: &str) -> Self {
        Self {
            prefix: prefix.into(),
            pattern: pattern.into(),
        }
    }

    /// The key of a lock that is wanted, from its record's key.
    #[must_use]
    pub fn key_of<'a>(&self, record: &'a str) -> Option<&'a str> {
        let key = record.strip_prefix(&*self.prefix)?;
        fits(&self.pattern, key).then_some(key)
    }
}

/// Whether a text fits a pattern of `*` and `?`.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // where the last star stands, and what it has swallowed so far
    let mut star = None;
    while let Some(&c) = text.get(t) {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some('?') => (p, t) = (p + 1, t + 1),
            Some(&wanted) if wanted == c => (p, t) = (p + 1, t + 1),
            _ => match &mut star {
                Some((at, swallowed)) => {
                    *swallowed += 1;
                    (p, t) = (*at + 1, *swallowed);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

/// The locks of a storage, as far as its servers answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inventory {
    /// In the order of their keys.
    pub locks: Vec<Listed>,
    /// Why it may not be all of them, a sentence for each server; empty when it is.
    pub gaps: Vec<String>,
}

impl From<Vec<Listed>> for Inventory {
    /// A whole one.
    fn from(locks: Vec<Listed>) -> Self {
        let gaps = Vec::new();
        Self { locks, gaps }
    }
}

/// One lock of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Its key, without the record's prefix.
    pub key: String,
    /// Who has it.
    pub standing: Standing,
    /// How many tickets wait, dead ones included.
    pub waiting: u64,
    /// How long the first fifty of them have waited, the longest first.
    pub waits: Vec<Duration>,
}

/// Who has a lock of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// Somebody, by this record; of a newer version perhaps.
    Held(Held),
    /// Nobody at this moment: only tickets wait.
    Free,
    /// Something that is no record, or one that can't be read, stands at the lock's key. It is never deleted.
    Broken {
        /// What it looks like.
        what: String,
        /// When it ends by itself; `None`: never.
        left: Option<Duration>,
    },
}

/// A lock to be taken from its holder by an operator, who names him.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Eviction {
    /// The record's whole key.
    pub record: Arc<str>,
    /// Whose lock it has to be; else nothing happens.
    pub owner: OwnerToken,
    /// The token of the grant that was seen.
    pub token: FencingToken,
    /// How long the answer may take.
    pub timeout: Duration,
}

/// What a look at one server found, point by point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// Where it is.
    pub address: String,
    /// What was looked at.
    pub points: Vec<Point>,
}

/// One point of a [`Survey`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Point {
    /// What was looked at.
    pub topic: &'static str,
    /// How it is.
    pub state: State,
    /// What was seen, and what to do.
    pub says: String,
}

/// How one point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// As it should be.
    Good,
    /// An operator should look at it.
    Warning,
    /// No lock can be had, or none is kept.
    Bad,
    /// It could not be looked at.
    Unknown,
}

impl Survey {
    #[cfg(feature = "redis")]
    pub(crate) fn of(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            points: Vec::new(),
        }
    }

    /// Of a server that gave no answer.
    #[cfg(feature = "redis")]
    pub(crate) fn silent(address: &str, says: impl Into<String>) -> Self {
        let mut survey = Self::of(address);
        survey.add("connection", State::Bad, says);
        survey
    }

    #[cfg(feature = "redis")]
    pub(crate) fn add(&mut self, topic: &'static str, state: State, says: impl Into<String>) {
        let says = says.into();
        self.points.push(Point { topic, state, says });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_stars_and_question_marks() {
        for (pattern, text, expected) in [
            ("*", "boleto:42", true),
            ("*", "", true),
            ("boleto:*", "boleto:42", true),
            ("boleto:*", "pix:42", false),
            ("*:4?", "boleto:42", true),
            ("*:4?", "boleto:4", false),
            ("b*o*2", "boleto:42", true),
            ("boleto:42", "boleto:42", true),
            ("boleto:42", "boleto:421", false),
            ("boleto:[42]", "boleto:[42]", true),
            ("*ção:?", "operação:é", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }
}
