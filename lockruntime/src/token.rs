//! The two numbers of a lock: who holds it, and the how-manieth grant it is.

use std::fmt;

/// Proof of who holds a lock: 32 hexadecimal digits, random per acquisition and never used twice.
///
/// Renewals and releases compare it on the server, so nobody frees another's lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerToken(u128);

impl OwnerToken {
    pub(crate) fn random() -> Self {
        Self(rand::random())
    }

    /// Nobody's: the owner in a record that stands for several holds.
    pub(crate) const ALL: Self = Self(0);

    /// Reads the 32 hexadecimal digits that `Display` writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit()))
            .then(|| u128::from_str_radix(text, 16).ok())?
            .map(Self)
    }
}

impl fmt::Display for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnerToken({self})")
    }
}

/// A number that is strictly greater for every later grant of the same key, even after the server lost its data.
///
/// Write it next to the data the lock protects and refuse a write that carries a smaller one: a holder that was paused past
/// its lease is then harmless.
///
/// ```
/// # async fn body() -> Result<(), lockruntime::LockError> {
/// let locks = lockruntime::LockManager::memory();
/// let first = locks.lock("boleto:42").acquire().await?.fencing_token();
/// let second = locks.lock("boleto:42").acquire().await?.fencing_token();
/// assert!(second > first);
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(body()).unwrap();
/// ```
///
/// It goes into a column as `u64` or `i64`, into text by its `Display`, into JSON as a number (feature `serde`), and into a response's
/// header: under the features `axum` and `actix` it converts to their `HeaderValue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize, serde::Serialize),
    serde(transparent)
)]
pub struct FencingToken(u64);

impl FencingToken {
    /// For backends: wraps the number that the grant minted.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number itself. It fits a signed 64-bit column: it is a count of microseconds, not a random value.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number for a signed column. In order as the tokens are: one beyond its range, which no backend here gives, is its
    /// greatest.
    #[must_use]
    pub const fn as_i64(self) -> i64 {
        if self.0 > i64::MAX as u64 {
            i64::MAX
        } else {
            self.0.cast_signed()
        }
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<FencingToken> for u64 {
    fn from(token: FencingToken) -> Self {
        token.0
    }
}

impl From<FencingToken> for i64 {
    fn from(token: FencingToken) -> Self {
        token.as_i64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_tokens_read_back_and_differ() {
        let token = OwnerToken::random();
        assert_eq!(OwnerToken::parse(&token.to_string()), Some(token));
        assert_ne!(token, OwnerToken::random());
        assert_eq!(OwnerToken(7).to_string().len(), 32);
        assert_eq!(OwnerToken::parse("7"), None);
        assert_eq!(OwnerToken::parse(&"+".repeat(32)), None);
    }

    #[test]
    fn fencing_tokens_fit_every_column_in_their_order() {
        let token = FencingToken::new(1_796_000_000_000_000);
        assert_eq!(u64::from(token), 1_796_000_000_000_000);
        assert_eq!(i64::from(token), 1_796_000_000_000_000);
        assert_eq!(token.to_string(), "1796000000000000");
        assert_eq!(FencingToken::new(u64::MAX).as_i64(), i64::MAX);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn fencing_tokens_are_numbers_in_json() {
        let token = FencingToken::new(1_796_000_000_000_000);
        let json = serde_json::to_string(&token).unwrap();
        assert_eq!(json, "1796000000000000");
        assert_eq!(serde_json::from_str::<FencingToken>(&json).unwrap(), token);
    }
}
