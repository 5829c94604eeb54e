//! A worker's journal: one line an event, one `write` a line to a file that is only appended to.
//!
//! `<nanoseconds> <call> <event> <its fields>`; events that belong to no call have the call `-`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::now;

/// Who may hold a lock beside a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Share {
    /// Nobody.
    #[default]
    Alone,
    /// Other readers.
    Readers,
    /// So many in all.
    Permits(usize),
}

impl Share {
    /// How many may run at the same time.
    #[must_use]
    pub fn most(self) -> usize {
        match self {
            Self::Alone => 1,
            Self::Readers => usize::MAX,
            Self::Permits(permits) => permits,
        }
    }

    /// Whether the two may run at the same time, as far as there is room.
    #[must_use]
    pub fn shares_with(self, other: Self) -> bool {
        self != Self::Alone && self == other
    }

    fn word(self) -> String {
        match self {
            Self::Alone => "alone".to_owned(),
            Self::Readers => "readers".to_owned(),
            Self::Permits(permits) => permits.to_string(),
        }
    }

    fn parse(word: &str) -> Option<Self> {
        match word {
            "alone" => Some(Self::Alone),
            "readers" => Some(Self::Readers),
            permits => permits.parse().ok().map(Self::Permits),
        }
    }
}

/// What a call wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The lock.
    pub key: String,
    /// It queues; else it is refused when the lock is held.
    pub queues: bool,
    /// Its lease, in milliseconds.
    pub lease: u64,
    /// What its body does.
    pub body: String,
    /// Who may hold the lock beside it.
    pub share: Share,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A call begins.
    Want(Wish),
    /// The first poll of its body begins.
    Begin {
        /// The fencing token.
        token: u64,
        /// The owner token.
        owner: String,
    },
    /// A poll of its body begins.
    Poll {
        /// By how much its deadline had passed, in microseconds; 0 while the lock is held.
        late: u64,
    },
    /// A poll that began at `from` took long, and ends here.
    Long {
        /// When it began.
        from: u64,
    },
    /// Its body is through.
    End,
    /// Its body was dropped before it was through.
    Cut,
    /// The call is over.
    Left {
        /// `ok`, `cancelled`, `panicked`, or the name of the error.
        how: String,
    },
    /// No thread of the process ran since `from`, or hardly.
    Stall {
        /// When the last sign of life was.
        from: u64,
    },
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, in nanoseconds of the boot-time clock.
    pub at: u64,
    /// Which call of this process.
    pub call: String,
    /// What happened.
    pub what: What,
}

impl Entry {
    /// The line, with its end.
    #[must_use]
    pub fn line(&self) -> String {
        let event = match &self.what {
            What::Want(wish) => format!(
                "want {} {} {} {} {}",
                wish.key,
                if wish.queues { "queue" } else { "reject" },
                wish.lease,
                wish.body,
                wish.share.word()
            ),
            What::Begin { token, owner } => format!("begin {token} {owner}"),
            What::Poll { late } => format!("poll {late}"),
            What::Long { from } => format!("long {from}"),
            What::End => "end".to_owned(),
            What::Cut => "cut".to_owned(),
            What::Left { how } => format!("left {how}"),
            What::Stall { from } => format!("stall {from}"),
        };
        format!("{} {} {event}\n", self.at, self.call)
    }

    /// Reads a line; `None` when it is none of ours.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let at = words.next()?.parse().ok()?;
        let call = words.next()?.to_owned();
        let what = match words.next()? {
            "want" => What::Want(Wish {
                key: words.next()?.to_owned(),
                queues: words.next()? == "queue",
                lease: words.next()?.parse().ok()?,
                body: words.next()?.to_owned(),
                // runs of before had no other
                share: words.next().map_or(Some(Share::Alone), Share::parse)?,
            }),
            "begin" => What::Begin {
                token: words.next()?.parse().ok()?,
                owner: words.next()?.to_owned(),
            },
            "poll" => What::Poll {
                late: words.next()?.parse().ok()?,
            },
            "long" => What::Long {
                from: words.next()?.parse().ok()?,
            },
            "end" => What::End,
            "cut" => What::Cut,
            "left" => What::Left {
                how: words.next()?.to_owned(),
            },
            "stall" => What::Stall {
                from: words.next()?.parse().ok()?,
            },
            _ => return None,
        };
        words.next().is_none().then_some(Self { at, call, what })
    }
}

/// Where a worker writes.
#[derive(Debug)]
pub struct Journal(File);

impl Journal {
    /// Opens the file at `path`.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Self(file.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// Writes one line, now.
    pub fn note(&self, call: &str, what: What) {
        self.note_at(now(), call, what);
    }

    /// Writes one line about a moment that has just been.
    pub fn note_at(&self, at: u64, call: &str, what: What) {
        let entry = Entry {
            at,
            call: call.to_owned(),
            what,
        };
        (&self.0)
            .write_all(entry.line().as_bytes())
            .expect("the journal's disk is not full");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back() {
        let wish = Wish {
            key: "chaos:1".to_owned(),
            queues: true,
            lease: 600,
            share: Share::Permits(2),
            body: "plain".to_owned(),
        };
        let owner = "ab".repeat(16);
        for what in [
            What::Want(wish),
            What::Begin { token: 7, owner },
            What::Poll { late: 3 },
            What::Long { from: 5 },
            What::End,
            What::Cut,
            What::Left {
                how: "ok".to_owned(),
            },
            What::Stall { from: 9 },
        ] {
            let entry = Entry {
                at: 12,
                call: "c1".to_owned(),
                what,
            };
            assert_eq!(Entry::parse(entry.line().trim_end()), Some(entry));
        }
        assert_eq!(Entry::parse("12 c1 pol"), None);
    }
}
