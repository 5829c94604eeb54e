//! What is protected: the filled template, escaped so that it is injective, and bounded in length.
//!
//! This is wire format: two services that disagree here would not exclude each other.

use std::cmp::Ordering;
use std::fmt::{self, Display, Write};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::telemetry::{Redact, Shown};

/// Keys longer than this many bytes, after escaping, keep a readable prefix and a hash.
pub(crate) const DEFAULT_LIMIT: usize = 512;

/// Marks a shortened key. It can't come from escaping, where two hexadecimal digits follow every `%`.
const SHORTENED: &str = "%~";
const HASH_DIGITS: usize = 64;

/// The name of one lock within an application and environment, for example `boleto:42`.
///
/// Text is escaped as in a URL: braces, `%` and control characters become `%7B` and so on, and inside a value that fills a
/// placeholder the separator `:` as well, so that (`"a:b"`, `"c"`) and (`"a"`, `"b:c"`) are two keys. A key of more than 512
/// bytes keeps a prefix and the SHA-256 of the whole.
///
/// Its `Display` is the key; its `Debug`, and with it the text of errors, is what [`Redact`](crate::Redact) allows.
#[derive(Clone)]
pub struct LockKey {
    key: Arc<str>,
    /// What it shows of itself, where that isn't simply the key.
    shown: Option<Arc<Shown>>,
}

impl LockKey {
    /// A key from plain text, as given to [`LockManager::lock`](crate::LockManager::lock): separators stay.
    pub(crate) fn from_text(text: &str, limit: usize) -> Result<Self, InvalidKey> {
        let mut key = Filling::default();
        key.text(text);
        key.finish(limit)
    }

    /// The key as it stands in the server's key, after `lib_lock:app:env:`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.key
    }

    /// What logs, spans and errors may show of it.
    #[must_use]
    pub fn shown(&self) -> &str {
        self.shown.as_ref().map_or(&self.key, |shown| &shown.text)
    }

    /// What the body of an HTTP answer may show of it.
    #[cfg(any(feature = "actix", feature = "axum"))]
    pub(crate) fn in_problems(&self) -> Option<&str> {
        let shown = self.shown.as_ref().filter(|shown| shown.in_problems)?;
        Some(&shown.text)
    }

    /// Text about this key, which may contain it, with what may be shown in its place; `None` when it may be shown.
    pub(crate) fn redacted(&self, text: &str) -> Option<String> {
        let shown = self.shown.as_ref().filter(|shown| shown.hides)?;
        Some(text.replace(&*self.key, &shown.text))
    }

    pub(crate) fn redact(mut self, redact: Redact, template: &str) -> Self {
        self.shown = redact.shown(&self.key, template);
        self
    }
}

// what is shown of it makes no other key
impl PartialEq for LockKey {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for LockKey {}

impl PartialOrd for LockKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LockKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl Hash for LockKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl Display for LockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

impl fmt::Debug for LockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.shown(), f)
    }
}

/// Why a key can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InvalidKey {
    Empty,
    EmptyValue(String),
    Display(String),
}

impl Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("the key is empty; give the lock a name such as \"boleto:42\"")
            }
            Self::EmptyValue(name) => write!(
                f,
                "the value of <{name}> is empty, so different callers would share one key; refuse it before calling"
            ),
            Self::Display(name) => write!(f, "the Display of <{name}> reported an error"),
        }
    }
}

/// A key that is being filled, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Filling {
    key: String,
    wrong: Option<InvalidKey>,
}

impl Filling {
    /// Text of the template: separators stay.
    pub(crate) fn text(&mut self, text: &str) {
        push_escaped(&mut self.key, text, false);
    }

    /// The value of a placeholder.
    pub(crate) fn value(&mut self, name: &str, value: &dyn Display) {
        let before = self.key.len();
        let failed = write!(Escaping(&mut self.key), "{value}").is_err();
        if self.wrong.is_none() {
            if failed {
                self.wrong = Some(InvalidKey::Display(name.to_owned()));
            } else if self.key.len() == before {
                self.wrong = Some(InvalidKey::EmptyValue(name.to_owned()));
            }
        }
    }

    pub(crate) fn finish(self, limit: usize) -> Result<LockKey, InvalidKey> {
        match self.wrong {
            Some(wrong) => Err(wrong),
            None if self.key.is_empty() => Err(InvalidKey::Empty),
            None => Ok(LockKey {
                key: bounded(self.key, limit).into(),
                shown: None,
            }),
        }
    }
}

/// Escapes what is written through it, as a placeholder's value.
struct Escaping<'a>(&'a mut String);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        push_escaped(self.0, text, true);
        Ok(())
    }
}

fn push_escaped(out: &mut String, text: &str, separator: bool) {
    for c in text.chars() {
        if c.is_control() || matches!(c, '{' | '}' | '%') || (separator && c == ':') {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                write!(out, "%{byte:02X}").expect("writing to a string never fails");
            }
        } else {
            out.push(c);
        }
    }
}

/// Cuts a long key to a prefix and the hash of the whole; never inside an escape.
fn bounded(key: String, limit: usize) -> String {
    if key.len() <= limit {
        return key;
    }
    let hash = Sha256::digest(key.as_bytes());
    let room = limit.saturating_sub(SHORTENED.len() + HASH_DIGITS);
    let mut cut = room;
    while !key.is_char_boundary(cut) {
        cut -= 1;
    }
    if let Some(escape) = key.get(..cut).and_then(|prefix| prefix.rfind('%'))
        && escape + 3 > cut
    {
        cut = escape;
    }
    let mut short = key;
    short.truncate(cut);
    short.push_str(SHORTENED);
    for byte in hash {
        write!(short, "{byte:02x}").expect("writing to a string never fails");
    }
    short
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(values: &[&str]) -> String {
        let mut filling = Filling::default();
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                filling.text(":");
            }
            filling.value("value", value);
        }
        filling.finish(DEFAULT_LIMIT).unwrap().to_string()
    }

    /// Undoes the escaping of one value.
    fn unescaped(text: &str) -> String {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            if byte == b'%' {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            } else {
                bytes.push(byte);
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn separators_in_values_do_not_mix() {
        assert_eq!(key(&["a:b", "c"]), "a%3Ab:c");
        assert_eq!(key(&["a", "b:c"]), "a:b%3Ac");
        assert_eq!(key(&["42"]), "42");
    }

    #[test]
    fn braces_and_controls_are_escaped_in_text_too() {
        let key = LockKey::from_text("a{b}c\n%\u{85}:d", DEFAULT_LIMIT).unwrap();
        assert_eq!(key.as_str(), "a%7Bb%7Dc%0A%25%C2%85:d");
    }

    #[test]
    fn empty_keys_and_values_are_refused() {
        assert_eq!(
            LockKey::from_text("", DEFAULT_LIMIT),
            Err(InvalidKey::Empty)
        );
        let mut filling = Filling::default();
        filling.text("boleto:");
        filling.value("id", &"");
        assert_eq!(
            filling.finish(DEFAULT_LIMIT),
            Err(InvalidKey::EmptyValue("id".to_owned()))
        );
    }

    #[test]
    fn a_failing_display_is_refused() {
        struct Fails;
        impl Display for Fails {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                Err(fmt::Error)
            }
        }
        let mut filling = Filling::default();
        filling.value("id", &Fails);
        assert_eq!(
            filling.finish(DEFAULT_LIMIT),
            Err(InvalidKey::Display("id".to_owned()))
        );
    }

    #[test]
    fn long_keys_are_cut_outside_of_escapes_and_characters() {
        for filler in ["x", "{", "é", "%"] {
            for extra in 0..4 {
                let text = format!("{}{}", "a".repeat(extra), filler.repeat(600));
                let key = LockKey::from_text(&text, DEFAULT_LIMIT).unwrap();
                assert!(key.as_str().len() <= DEFAULT_LIMIT, "{key}");
                let (prefix, hash) = key.as_str().split_once(SHORTENED).unwrap();
                assert_eq!(hash.len(), HASH_DIGITS);
                assert!(text.starts_with(&unescaped(prefix)));
            }
        }
    }

    proptest! {
        #[test]
        fn keys_are_injective(a in prop::collection::vec(".{1,6}", 1..4), b in prop::collection::vec("[a:%{}\\x00]{1,4}", 1..4)) {
            let (a, b): (Vec<_>, Vec<_>) = (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
            // every value can be read back, so no two lists share a key
            for values in [&a, &b] {
                let filled = key(values);
                let back: Vec<_> = filled.split(':').map(unescaped).collect();
                prop_assert_eq!(&back, values);
                let raw = filled.contains(['{', '}']) || filled.chars().any(char::is_control);
                prop_assert!(!raw, "unescaped in {}", filled);
            }
        }

        #[test]
        fn long_keys_stay_distinct_and_bounded(a in "[a-z:{}%é]{500,700}", b in "[a-z:{}%é]{500,700}") {
            let (x, y) = (LockKey::from_text(&a, DEFAULT_LIMIT).unwrap(), LockKey::from_text(&b, DEFAULT_LIMIT).unwrap());
            prop_assert!(x.as_str().len() <= DEFAULT_LIMIT && y.as_str().len() <= DEFAULT_LIMIT);
            prop_assert_eq!(a == b, x == y);
        }
    }
}
