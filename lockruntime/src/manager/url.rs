//! The one grammar of URLs: where locks are stored, and in whose name.

use std::fmt;
use std::sync::Arc;

use url::Url;

use crate::backend::Backend;
use crate::backend::memory::MemoryBackend;
#[cfg(feature = "quorum")]
use crate::backend::quorum::QuorumBackend;
#[cfg(feature = "redis")]
use crate::backend::redis::RedisBackend;
use crate::error::ConfigError;
#[cfg(feature = "tls")]
use crate::tls::TlsSettings;

/// A URL, taken apart.
pub(crate) struct Location {
    /// Without the parts of the query that are named below. Of several hosts the first.
    url: Url,
    /// The other hosts, where several masters decide.
    #[cfg_attr(
        not(feature = "redis"),
        expect(dead_code, reason = "only servers are several")
    )]
    others: Option<Vec<Url>>,
    pub(crate) app: Option<String>,
    pub(crate) environment: Option<String>,
    #[cfg_attr(
        not(feature = "redis"),
        expect(dead_code, reason = "only a server is spoken to")
    )]
    protocol: Protocol,
    tls: TlsFiles,
}

/// How to speak to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Protocol {
    Resp2,
    /// Wake-ups arrive on the one connection.
    #[default]
    Resp3,
}

/// Where certificates stand.
#[derive(Debug, Default)]
struct TlsFiles {
    ca: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

const SCHEMES: &str = "memory://, redis://host:6379, rediss://host:6379, redis+unix:///path/redis.sock or \
                       redlock://host:6379,host:6379,host:6379";

/// Schemes with several hosts, and what each host is by itself.
const OF_SEVERAL: [(&str, &str); 2] = [("redlock", "redis"), ("rediss+redlock", "rediss")];

impl fmt::Debug for Location {
    /// Without the URL, which may have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Location")
            .field("scheme", &self.url.scheme())
            .field("app", &self.app)
            .field("environment", &self.environment)
            .finish_non_exhaustive()
    }
}

impl Location {
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        let (first, others) = split(text);
        let mut url = read(&first)?;
        let others = others
            .map(|urls| urls.iter().map(|url| read(url)).collect())
            .transpose()?;
        let (mut app, mut environment) = (None, None);
        let mut protocol = Protocol::default();
        let mut tls = TlsFiles::default();
        let mut rest = Vec::new();
        for (name, value) in url.query_pairs() {
            let remote = ["redis", "rediss", "redis+unix"].contains(&url.scheme());
            match &*name {
                "app" => app = Some(value.into_owned()),
                "env" => environment = Some(value.into_owned()),
                "protocol" if remote => {
                    protocol = match &*value {
                        "2" => Protocol::Resp2,
                        "3" => Protocol::Resp3,
                        _ => {
                            return Err(ConfigError::new(
                                "the lock URL's protocol is 2 or 3 (RESP2 or RESP3)",
                            ));
                        }
                    }
                }
                "tls_ca" | "tls_cert" | "tls_key" if remote && url.scheme() != "rediss" => {
                    return Err(ConfigError::new(format!(
                        "the lock URL's {name} is for TLS; write rediss://"
                    )));
                }
                "tls_ca" if remote => tls.ca = Some(value.into_owned()),
                "tls_cert" if remote => tls.certificate = Some(value.into_owned()),
                "tls_key" if remote => tls.key = Some(value.into_owned()),
                _ => rest.push((name.into_owned(), value.into_owned())),
            }
        }
        let cut = url.query().is_some_and(|query| query.contains('@'));
        url.set_query(None);
        for (name, value) in rest {
            let known = url.scheme() == "redis+unix" && ["db", "user", "pass"].contains(&&*name);
            if !known {
                return Err(unknown(url.scheme(), &name, cut));
            }
            url.query_pairs_mut().append_pair(&name, &value);
        }
        Ok(Self {
            url,
            others,
            app,
            environment,
            protocol,
            tls,
        })
    }

    /// Whether certificates have a use here.
    #[cfg(feature = "tls")]
    pub(crate) fn is_tls(&self) -> bool {
        self.url.scheme() == "rediss"
    }

    pub(crate) fn backend(&self) -> Result<Arc<dyn Backend>, ConfigError> {
        match self.url.scheme() {
            "memory" => Ok(Arc::new(MemoryBackend::new())),
            #[cfg(feature = "redis")]
            "redis" | "redis+unix" => {
                let servers = self
                    .hosts()
                    .map(|url| RedisBackend::from_url(url, self.protocol.into()));
                self.of_servers(servers.collect::<Result<_, _>>()?)
            }
            #[cfg(not(feature = "redis"))]
            scheme @ ("redis" | "redis+unix") => Err(ConfigError::new(format!(
                "{scheme}:// needs lockruntime's feature `redis`, which is switched off"
            ))),
            #[cfg(feature = "tls")]
            "rediss" => self.tls_backend(&self.tls.read()?),
            #[cfg(not(feature = "tls"))]
            "rediss" => {
                // a file that would not be read is no reason to stay silent about the feature
                let TlsFiles {
                    ca: _,
                    certificate: _,
                    key: _,
                } = &self.tls;
                Err(ConfigError::new(
                    "rediss:// needs lockruntime's feature `tls`, which is switched off; without TLS write redis://",
                ))
            }
            scheme @ ("redis+sentinel" | "redis+cluster") => Err(ConfigError::new(format!(
                "{scheme}:// is not available yet; write {SCHEMES}"
            ))),
            scheme => Err(ConfigError::new(format!(
                "{scheme}:// is not a lock URL; write {SCHEMES}"
            ))),
        }
    }

    #[cfg(feature = "redis")]
    fn hosts(&self) -> impl Iterator<Item = &Url> {
        std::iter::once(&self.url).chain(self.others.iter().flatten())
    }

    /// One server, or the masters of a quorum.
    #[cfg(feature = "redis")]
    fn of_servers(&self, mut servers: Vec<RedisBackend>) -> Result<Arc<dyn Backend>, ConfigError> {
        #[cfg(feature = "quorum")]
        if self.others.is_some() {
            let nodes = servers.into_iter().map(RedisBackend::into_node);
            return Ok(Arc::new(QuorumBackend::of(nodes.collect())?));
        }
        #[cfg(not(feature = "quorum"))]
        if self.others.is_some() {
            return Err(ConfigError::new(
                "redlock:// needs lockruntime's feature `quorum`, which is switched off",
            ));
        }
        let server = servers.pop();
        Ok(Arc::new(server.ok_or_else(|| {
            ConfigError::new(format!("the lock URL has no host; write {SCHEMES}"))
        })?))
    }

    /// A server over TLS, with certificates from elsewhere than the URL's files.
    #[cfg(feature = "tls")]
    pub(crate) fn backend_with(&self, tls: &TlsSettings) -> Result<Arc<dyn Backend>, ConfigError> {
        if !self.is_tls() {
            return Err(ConfigError::new(
                "certificates for TLS were given, and the URL is without it; write rediss://",
            ));
        }
        if self.tls.any() {
            return Err(ConfigError::new(
                "give certificates in the URL or in the builder, not in both",
            ));
        }
        self.tls_backend(tls)
    }

    #[cfg(feature = "tls")]
    fn tls_backend(&self, tls: &TlsSettings) -> Result<Arc<dyn Backend>, ConfigError> {
        let servers = self.hosts().map(|url| {
            // the same place in the words of `redis://`: the handshake is ours, not the client library's
            let plain = url.as_str().replacen("rediss", "redis", 1);
            RedisBackend::over_tls(&read(&plain)?, self.protocol.into(), tls)
        });
        self.of_servers(servers.collect::<Result<_, _>>()?)
    }
}

fn read(text: &str) -> Result<Url, ConfigError> {
    Url::parse(text).map_err(|error| {
        // the text may hold a password: it isn't shown
        ConfigError::new(format!(
            "the lock URL can't be read ({error}); write {SCHEMES}"
        ))
    })
}

/// A URL of several hosts as one for each of them; else the text alone, and no others.
fn split(text: &str) -> (String, Option<Vec<String>>) {
    let of_several = OF_SEVERAL.iter().find_map(|(several, one)| {
        let rest = text.strip_prefix(several)?.strip_prefix("://")?;
        Some((one, rest))
    });
    let Some((scheme, rest)) = of_several else {
        return (text.to_owned(), None);
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, place) = rest.split_at(end);
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    let mut urls = hosts
        .split(',')
        .map(|host| format!("{scheme}://{user}{host}{place}"));
    let first = urls.next().unwrap_or_default();
    // the query is the same for all, and read once
    let others = urls.map(|url| url.split(['?', '#']).next().unwrap_or_default().to_owned());
    (first, Some(others.collect()))
}

#[cfg(feature = "redis")]
impl From<Protocol> for redis::ProtocolVersion {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Resp2 => Self::RESP2,
            Protocol::Resp3 => Self::RESP3,
        }
    }
}

#[cfg(feature = "tls")]
impl TlsFiles {
    fn any(&self) -> bool {
        self.ca.is_some() || self.certificate.is_some() || self.key.is_some()
    }

    fn read(&self) -> Result<TlsSettings, ConfigError> {
        let file = |name: &str, path: &str| {
            std::fs::read(path).map_err(|error| {
                ConfigError::new(format!(
                    "the file of {name}, {path:?}, can't be read: {error}"
                ))
            })
        };
        let mut settings = TlsSettings::new();
        if let Some(path) = &self.ca {
            settings = settings.ca(file("tls_ca", path)?);
        }
        match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                Ok(settings.client(file("tls_cert", certificate)?, file("tls_key", key)?))
            }
            (None, None) => Ok(settings),
            (Some(_), None) | (None, Some(_)) => Err(ConfigError::new(
                "a client certificate needs both tls_cert and tls_key",
            )),
        }
    }
}

/// A parameter that this URL can't have. A name may be the rest of a password with an unescaped question mark: only plain
/// words are shown, and none where an @ follows.
fn unknown(scheme: &str, name: &str, cut: bool) -> ConfigError {
    let plain = !cut && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let shown = if plain && name.len() < 20 {
        format!("the unknown parameter {name:?}")
    } else {
        "an unknown parameter (a '?' in a password is written %3F)".to_owned()
    };
    let known = match scheme {
        "redis" => "app, env and protocol",
        "redis+unix" => "app, env, protocol, user, pass and db",
        "rediss" => "app, env, protocol, tls_ca, tls_cert and tls_key",
        _ => "app and env",
    };
    ConfigError::new(format!("the lock URL has {shown}; known are {known}"))
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
        assert_eq!(location.protocol, Protocol::Resp3);
    }

    #[test]
    fn a_protocol_is_one_of_two() {
        let of = |text| Location::parse(text).unwrap().protocol;
        assert_eq!(of("redis://localhost?protocol=2"), Protocol::Resp2);
        assert_eq!(
            of("redis+unix:///run/redis.sock?protocol=3&db=1"),
            Protocol::Resp3
        );
        assert!(wrong("redis://localhost?protocol=4").contains("2 or 3"));
        assert!(wrong("memory://?protocol=2").contains("\"protocol\""));
    }

    #[test]
    fn certificates_are_for_tls_and_whole() {
        assert!(wrong("redis://localhost?tls_ca=ca.pem").contains("rediss://"));
        #[cfg(feature = "tls")]
        {
            let only_one = wrong("rediss://localhost?tls_cert=client.pem");
            assert!(only_one.contains("tls_key"), "{only_one}");
            let no_file = wrong("rediss://localhost?tls_ca=/nowhere/ca.pem");
            assert!(no_file.contains("/nowhere/ca.pem"), "{no_file}");
        }
        #[cfg(not(feature = "tls"))]
        assert!(wrong("rediss://localhost").contains("feature `tls`"));
    }

    #[test]
    #[cfg(not(feature = "redis"))]
    fn a_scheme_that_is_switched_off_names_its_feature() {
        assert!(wrong("redis://localhost").contains("feature `redis`"));
        assert!(wrong("redis+unix:///run/redis.sock").contains("feature `redis`"));
    }

    #[test]
    fn a_quorum_has_a_url_for_each_host() {
        let location = Location::parse("redlock://u:p@a:1,b:2,c/3?app=x").unwrap();
        assert_eq!(location.app.as_deref(), Some("x"));
        assert_eq!(location.url.as_str(), "redis://u:p@a:1/3");
        let others = location.others.unwrap();
        let others: Vec<_> = others.iter().map(Url::as_str).collect();
        assert_eq!(others, ["redis://u:p@b:2/3", "redis://u:p@c/3"]);
        let location = Location::parse("rediss+redlock://a,b,c").unwrap();
        assert_eq!(location.url.as_str(), "rediss://a");
    }

    #[test]
    #[cfg(feature = "quorum")]
    fn a_quorum_is_three_masters_or_more() {
        assert!(wrong("redlock://a,b").contains("three masters or more"));
        assert!(wrong("redlock://a,b,a").contains("a:6379 twice"));
    }

    #[test]
    fn what_cannot_be_used_is_named_without_the_password() {
        assert!(wrong("localhost:6379").contains("redis://host:6379"));
        assert!(wrong("redis+cluster://a,b,c").contains("not available yet"));
        assert!(wrong("http://localhost").contains("not a lock URL"));
        assert!(wrong("memory://?ap=x").contains("\"ap\""));
        for text in [
            "redis://u:p?secret@host:6379",
            "redis://u:p?secret=x@host:6379",
            "redis://u:secret@host:port",
            "redis://u:secret@host:6379/x",
            "redis://u:secret@",
            "redlock://u:secret@a:port,b,c",
            "redlock://u:secret@a,b",
            "redlock://u:secret@a,b,,c",
            "redlock://u:se/cret@a,b,c",
            "rediss://u:p?secret@host:6379",
            "rediss://u:secret@host:6379/x",
            "redis+unix:///run/redis.sock?pass=secret&db=x",
            "redis://u:secret@host?protocol=secret",
        ] {
            let message = wrong(text);
            assert!(!message.contains("secret"), "{message}");
        }
        let location = Location::parse("redis+unix:///run/redis.sock?user=u&pass=secret").unwrap();
        assert!(!format!("{location:?}").contains("secret"));
    }
}
