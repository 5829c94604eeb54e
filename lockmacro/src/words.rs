//! The words of the attribute, and what to say about others.

use crate::spelling::{listed, nearest};

/// What a word is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Right(&'static str),
    /// Wrong, but this one was meant; what to say.
    Meant(&'static str, String),
    /// What to say.
    Wrong(String),
}

const KNOWN: &[&str] = &[
    "key",
    "lease",
    "mode",
    "wait",
    "max_hold",
    "min_hold",
    "max_waiters",
    "permits",
    "access",
    "watchdog",
    "on_lost",
    "reentrant",
    "release",
    "manager",
    "or_else",
    "when",
    "guard",
    "crate",
];
pub(crate) const ACCESS: &[&str] = &["read", "write"];
pub(crate) const ON_LOST: &[&str] = &["cancel", "continue"];
pub(crate) const MODES: &[&str] = &["queue", "reject", "skip"];

/// Names that other libraries use, and ours.
const OTHERS: [(&str, &[&str]); 14] = [
    (
        "key",
        &[
            "name",
            "resource",
            "lock",
            "lock_name",
            "id",
            "keys",
            "template",
        ],
    ),
    (
        "lease",
        &[
            "ttl",
            "expire",
            "expires",
            "expiry",
            "expiration",
            "duration",
        ],
    ),
    (
        "wait",
        &[
            "timeout",
            "wait_timeout",
            "wait_time",
            "acquire_timeout",
            "max_wait",
            "wait_for",
        ],
    ),
    ("mode", &["strategy", "policy", "kind"]),
    ("manager", &["client", "locks", "backend", "connection"]),
    (
        "or_else",
        &["on_busy", "on_error", "error", "fallback", "otherwise"],
    ),
    ("when", &["condition", "enabled", "predicate", "only_if"]),
    ("guard", &["token", "hold", "binding"]),
    (
        "max_hold",
        &[
            "lock_at_most_for",
            "max_duration",
            "hold_timeout",
            "deadline",
        ],
    ),
    ("min_hold", &["lock_at_least_for", "min_duration"]),
    (
        "max_waiters",
        &["max_queue", "queue_limit", "limit", "capacity"],
    ),
    (
        "permits",
        &["count", "concurrency", "max_concurrency", "slots", "leases"],
    ),
    ("access", &["rw", "shared", "lock_type"]),
    (
        "watchdog",
        &[
            "renew",
            "renewal",
            "keep_alive",
            "auto_renew",
            "auto_extend",
        ],
    ),
];
const OTHER_MODES: [(&str, &[&str]); 3] = [
    ("queue", &["wait", "block", "fifo", "mutex", "fair"]),
    (
        "reject",
        &["fail", "try", "nowait", "lock", "error", "refuse"],
    ),
    ("skip", &["ignore", "once", "scheduled", "job", "cron"]),
];

pub(crate) fn argument(word: &str) -> Word {
    let known = listed(KNOWN, "and");
    if let Some(right) = own(KNOWN, word) {
        Word::Right(right)
    } else if let Some(ours) = in_our_words(&OTHERS, word) {
        let example = example(ours);
        Word::Meant(
            ours,
            format!("unknown argument `{word}`; here it is called `{ours}`: `{example}`"),
        )
    } else if let Some(near) = nearest(word, KNOWN) {
        Word::Meant(
            near,
            format!("unknown argument `{word}`; did you mean `{near}`?"),
        )
    } else {
        Word::Wrong(format!("unknown argument `{word}`; the lock takes {known}"))
    }
}

pub(crate) fn mode(word: &str) -> Word {
    if let Some(right) = own(MODES, word) {
        Word::Right(right)
    } else if let Some(meant) =
        in_our_words(&OTHER_MODES, &word.to_lowercase()).or_else(|| nearest(word, MODES))
    {
        Word::Meant(
            meant,
            format!("unknown mode \"{word}\"; did you mean \"{meant}\"?"),
        )
    } else {
        Word::Wrong(format!("unknown mode \"{word}\"; write {}", modes()))
    }
}

/// `"queue", "reject" or "skip"`
pub(crate) fn modes() -> String {
    listed(MODES, "or").replace('`', "\"")
}

/// How an argument is written.
pub(crate) fn example(name: &str) -> &'static str {
    match name {
        "key" => "key = \"boleto:<id>\"",
        "lease" => "lease = \"30s\"",
        "wait" => "wait = \"5s\"",
        "max_hold" => "max_hold = \"5m\"",
        "min_hold" => "min_hold = \"1s\"",
        "max_waiters" => "max_waiters = 100",
        "permits" => "permits = 3",
        "access" => "access = \"read\"",
        "watchdog" => "watchdog = false",
        "on_lost" => "on_lost = \"continue\"",
        "reentrant" => "reentrant = false",
        "release" => "release = \"background\"",
        "mode" => "mode = \"queue\"",
        "manager" => "manager = self.locks",
        "or_else" => "or_else = busy",
        "when" => "when = !dry_run",
        "guard" => "guard = hold",
        _ => "crate = path::to::lockruntime",
    }
}

fn own(words: &[&'static str], word: &str) -> Option<&'static str> {
    words.iter().find(|known| **known == word).copied()
}

fn in_our_words(table: &[(&'static str, &[&str])], word: &str) -> Option<&'static str> {
    table
        .iter()
        .find(|(_, words)| words.contains(&word))
        .map(|(ours, _)| *ours)
}
