//! What of a key may be shown.

use std::fmt::Write;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// What of a filled key shows in logs, spans, the text of errors, and the problem bodies of HTTP answers. Keys can be personal
/// data: a tax number, the number of a boleto.
///
/// The keys on the server, and what `lockctl` and the dashboard show, stay as they are; so do [`LockError::key`] and the `Display` of
/// a [`LockKey`](crate::LockKey), which the application asks for.
///
/// [`LockError::key`]: crate::LockError::key
///
/// ```
/// use lockruntime::{LockManager, Redact};
///
/// let locks = LockManager::builder().url("memory://").redact(Redact::VALUES).build()?;
/// # Ok::<(), lockruntime::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redact {
    show: Show,
    in_problems: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Show {
    All,
    Template,
    TemplateAndHash,
}

impl Redact {
    /// The filled key is shown. The default.
    pub const NOTHING: Self = Self::of(Show::All);
    /// The template instead of the key: `boleto:<id>`. Of a key given by hand, nothing.
    pub const VALUES: Self = Self::of(Show::Template);
    /// The template and twelve digits of the key's SHA-256, so that lines about one key can be found together. Short numbers can be
    /// guessed from it by trying them all.
    pub const HASH: Self = Self::of(Show::TemplateAndHash);

    const fn of(show: Show) -> Self {
        Self {
            show,
            in_problems: false,
        }
    }

    /// The same, also in the problem bodies of HTTP answers, as their member `lock`; else they name no lock at all.
    #[must_use]
    pub const fn in_problems(self) -> Self {
        Self {
            in_problems: true,
            ..self
        }
    }

    /// What a key carries along; `None` when all of it is shown, and in no problem body.
    pub(crate) fn shown(self, key: &str, template: &str) -> Option<Arc<Shown>> {
        if self == Self::NOTHING {
            return None;
        }
        let text = match self.show {
            Show::All => key.to_owned(),
            Show::Template => template.to_owned(),
            Show::TemplateAndHash => {
                let mut text = format!("{template}#");
                for byte in Sha256::digest(key.as_bytes()).iter().take(6) {
                    write!(text, "{byte:02x}").expect("writing to a string never fails");
                }
                text
            }
        };
        Some(Arc::new(Shown {
            text,
            hides: self.show != Show::All,
            in_problems: self.in_problems,
        }))
    }
}

impl Default for Redact {
    fn default() -> Self {
        Self::NOTHING
    }
}

/// What a key shows of itself.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// It isn't the key itself.
    pub(crate) hides: bool,
    /// In the bodies of HTTP answers, too.
    #[cfg_attr(
        not(any(feature = "actix", feature = "axum")),
        expect(dead_code, reason = "only web answers have bodies")
    )]
    pub(crate) in_problems: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(redact: Redact, key: &str) -> Option<String> {
        redact
            .shown(key, "boleto:<id>")
            .map(|shown| shown.text.clone())
    }

    #[test]
    fn each_setting_shows_what_it_says() {
        assert_eq!(text(Redact::NOTHING, "boleto:42"), None);
        assert_eq!(text(Redact::VALUES, "boleto:42").unwrap(), "boleto:<id>");
        let hash = text(Redact::HASH, "boleto:42").unwrap();
        assert!(
            hash.starts_with("boleto:<id>#") && hash.len() == 24,
            "{hash}"
        );
        assert_ne!(Some(hash), text(Redact::HASH, "boleto:43"));
        let open = text(Redact::NOTHING.in_problems(), "boleto:42");
        assert_eq!(open.unwrap(), "boleto:42");
    }
}
