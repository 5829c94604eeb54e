//! The one grammar of URLs: where locks are stored, and in whose name.

use std::sync::Arc;

use url::Url;

use crate::backend::Backend;
use crate::backend::memory::MemoryBackend;
use crate::error::ConfigError;

/// A URL, taken apart.
#[derive(Debug)]
pub(crate) struct Location {
    url: Url,
    pub(crate) app: Option<String>,
    pub(crate) environment: Option<String>,
}

const SCHEMES: &str = "memory://, redis://host:6379 or redis+unix:///path";

impl Location {
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        let mut url = Url::parse(text).map_err(|error| {
            // the text may hold a password: it isn't shown
            ConfigError::new(format!(
                "the lock URL can't be read ({error}); write {SCHEMES}"
            ))
        })?;
        let (mut app, mut environment) = (None, None);
        let mut rest = Vec::new();
        for (name, value) in url.query_pairs() {
            match &*name {
                "app" => app = Some(value.into_owned()),
                "env" => environment = Some(value.into_owned()),
                _ => rest.push((name.into_owned(), value.into_owned())),
            }
        }
        let cut = url.query().is_some_and(|query| query.contains('@'));
        url.set_query(None);
        for (name, value) in rest {
            let known = url.scheme() == "redis+unix" && ["db", "user", "pass"].contains(&&*name);
            if !known {
                // a name may be the rest of a password with an unescaped question mark: only plain words are shown,
                // and none where an @ follows
                let plain = !cut && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
                let shown = if plain && name.len() < 20 {
                    format!("the unknown parameter {name:?}")
                } else {
                    "an unknown parameter (a '?' in a password is written %3F)".to_owned()
                };
                return Err(ConfigError::new(format!(
                    "the lock URL has {shown}; known are app and env"
                )));
            }
            url.query_pairs_mut().append_pair(&name, &value);
        }
        Ok(Self {
            url,
            app,
            environment,
        })
    }

    pub(crate) fn backend(&self) -> Result<Arc<dyn Backend>, ConfigError> {
        match self.url.scheme() {
            "memory" => Ok(Arc::new(MemoryBackend::new())),
            #[cfg(feature = "redis")]
            "redis" | "redis+unix" => Ok(Arc::new(crate::backend::redis::RedisBackend::from_url(
                &self.url,
            )?)),
            #[cfg(not(feature = "redis"))]
            "redis" | "redis+unix" => Err(ConfigError::new(
                "redis:// needs lockruntime's feature `redis`, which is switched off",
            )),
            scheme @ ("rediss" | "redis+sentinel" | "redis+cluster" | "redlock") => Err(
                ConfigError::new(format!("{scheme}:// is not available yet; write {SCHEMES}")),
            ),
            scheme => Err(ConfigError::new(format!(
                "{scheme}:// is not a lock URL; write {SCHEMES}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        Location::parse(text)
            .and_then(|location| location.backend().map(drop))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn names_are_taken_out_of_the_query() {
        let location = Location::parse("redis://localhost/2?app=payments&env=test").unwrap();
        assert_eq!(location.app.as_deref(), Some("payments"));
        assert_eq!(location.environment.as_deref(), Some("test"));
        assert_eq!(location.url.as_str(), "redis://localhost/2");
    }

    #[test]
    fn what_cannot_be_used_is_named_without_the_password() {
        assert!(wrong("localhost:6379").contains("redis://host:6379"));
        assert!(wrong("redlock://a,b,c").contains("not available yet"));
        assert!(wrong("http://localhost").contains("not a lock URL"));
        assert!(wrong("memory://?ap=x").contains("\"ap\""));
        for text in [
            "redis://u:p?secret@host:6379",
            "redis://u:p?secret=x@host:6379",
            "redis://u:secret@host:port",
            "redis://u:secret@host:6379/x",
            "redis://u:secret@",
        ] {
            let message = wrong(text);
            assert!(!message.contains("secret"), "{message}");
        }
    }
}
