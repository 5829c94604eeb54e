//! The one grammar of URLs: where locks are stored, and in whose name.

use std::fmt;
use std::sync::Arc;

use url::Url;

use crate::backend::Backend;
use crate::backend::memory::MemoryBackend;
#[cfg(feature = "quorum")]
use crate::backend::quorum::QuorumBackend;
#[cfg(feature = "quorum")]
use crate::backend::redis::RedisBackend;
#[cfg(feature = "redis")]
use crate::backend::redis::Servers;
use crate::error::ConfigError;
#[cfg(feature = "tls")]
use crate::tls::TlsSettings;

/// A URL, taken apart.
pub(crate) struct Location {
    /// Without the parts of the query that are named below. Of several hosts the first.
    url: Url,
    /// The other hosts.
    #[cfg_attr(
        not(feature = "redis"),
        expect(dead_code, reason = "only servers are several")
    )]
    others: Vec<Url>,
    kind: Kind,
    pub(crate) app: Option<String>,
    pub(crate) environment: Option<String>,
    #[cfg_attr(
        not(feature = "redis"),
        expect(dead_code, reason = "only a server is spoken to")
    )]
    protocol: Protocol,
    tls: TlsFiles,
    #[cfg_attr(
        not(feature = "sentinel"),
        expect(dead_code, reason = "only sentinels are asked")
    )]
    sentinel: Login,
    confirm_replicas: Option<usize>,
}

/// What the hosts are to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// There is one.
    One,
    /// Masters of which a majority decides.
    Quorum,
    /// They tell where the master of this name is.
    Sentinels(String),
    /// Some of the servers of a cluster.
    Cluster,
}

/// As whom to speak to sentinels.
#[derive(Default)]
struct Login {
    user: Option<String>,
    password: Option<String>,
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

const SCHEMES: &str = "memory://, redis://host:6379, rediss://host:6379, redis+unix:///path/redis.sock, \
                       redis+sentinel://host:26379,host:26379,host:26379/mymaster, redis+cluster://host:6379,host:6379 or \
                       redlock://host:6379,host:6379,host:6379";

/// Schemes with several hosts, what each host is by itself, and what they are to each other.
static OF_SEVERAL: [(&str, &str, Kind); 6] = [
    ("redlock", "redis", Kind::Quorum),
    ("rediss+redlock", "rediss", Kind::Quorum),
    ("redis+sentinel", "redis", Kind::Sentinels(String::new())),
    ("rediss+sentinel", "rediss", Kind::Sentinels(String::new())),
    ("redis+cluster", "redis", Kind::Cluster),
    ("rediss+cluster", "rediss", Kind::Cluster),
];

const SENTINEL_PORT: u16 = 26_379;

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
        let (kind, first, others) = split(text);
        let mut url = read(&first)?;
        let mut others: Vec<_> = others
            .iter()
            .map(|url| read(url))
            .collect::<Result<_, _>>()?;
        let (mut app, mut environment) = (None, None);
        let mut protocol = Protocol::default();
        let mut tls = TlsFiles::default();
        let (mut sentinel, mut database) = (Login::default(), None);
        let mut confirm_replicas = None;
        let of_sentinels = matches!(kind, Kind::Sentinels(_));
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
                "sentinel_user" if of_sentinels => sentinel.user = Some(value.into_owned()),
                "sentinel_password" if of_sentinels => sentinel.password = Some(value.into_owned()),
                "db" if of_sentinels => database = Some(number(&value, "db")?),
                "confirm_replicas" if remote && kind != Kind::Quorum => {
                    confirm_replicas = Some(number(&value, "confirm_replicas")?);
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
                return Err(unknown(url.scheme(), &kind, &name, cut));
            }
            url.query_pairs_mut().append_pair(&name, &value);
        }
        let kind = placed(kind, std::iter::once(&mut url).chain(&mut others), database)?;
        Ok(Self {
            url,
            others,
            kind,
            app,
            environment,
            protocol,
            tls,
            sentinel,
            confirm_replicas,
        })
    }

    /// A grant counts only when so many replicas have it.
    pub(crate) fn confirmed_by(&mut self, replicas: usize) -> Result<(), ConfigError> {
        if self.url.scheme() == "memory" || self.kind == Kind::Quorum {
            return Err(ConfigError::new(
                "confirm_replicas is for one Redis with replicas, Sentinel and Cluster; memory and a quorum have none",
            ));
        }
        self.confirm_replicas = Some(replicas);
        Ok(())
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
                self.of_servers(Servers::new(self.hosts(), self.protocol.into())?)
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
            scheme => Err(ConfigError::new(format!(
                "{scheme}:// is not a lock URL; write {SCHEMES}"
            ))),
        }
    }

    #[cfg(feature = "redis")]
    fn hosts(&self) -> impl Iterator<Item = &Url> {
        std::iter::once(&self.url).chain(&self.others)
    }

    /// What the servers are together.
    #[cfg(feature = "redis")]
    fn of_servers(&self, servers: Servers) -> Result<Arc<dyn Backend>, ConfigError> {
        let servers = servers.confirmed_by(self.confirm_replicas.filter(|replicas| *replicas > 0));
        match &self.kind {
            Kind::One => {
                let server = servers.apart()?.pop();
                Ok(Arc::new(server.ok_or_else(|| {
                    ConfigError::new(format!("the lock URL has no host; write {SCHEMES}"))
                })?))
            }
            #[cfg(feature = "quorum")]
            Kind::Quorum => {
                let nodes = servers.apart()?.into_iter().map(RedisBackend::into_node);
                Ok(Arc::new(QuorumBackend::of(nodes.collect())?))
            }
            #[cfg(not(feature = "quorum"))]
            Kind::Quorum => Err(without("redlock", "quorum")),
            #[cfg(feature = "sentinel")]
            Kind::Sentinels(master) => {
                let Login { user, password } = &self.sentinel;
                let backend = servers.master(master, user.as_deref(), password.as_deref())?;
                Ok(Arc::new(backend))
            }
            #[cfg(not(feature = "sentinel"))]
            Kind::Sentinels(_) => Err(without("redis+sentinel", "sentinel")),
            #[cfg(feature = "cluster")]
            Kind::Cluster => Ok(Arc::new(servers.cluster()?)),
            #[cfg(not(feature = "cluster"))]
            Kind::Cluster => Err(without("redis+cluster", "cluster")),
        }
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
        // the same places in the words of `redis://`: the handshake is ours, not the client library's
        let plain = self
            .hosts()
            .map(|url| read(&url.as_str().replacen("rediss", "redis", 1)));
        let plain = plain.collect::<Result<Vec<_>, _>>()?;
        self.of_servers(Servers::new(&plain, self.protocol.into())?.over_tls(tls)?)
    }
}

#[cfg(all(
    feature = "redis",
    not(all(feature = "cluster", feature = "quorum", feature = "sentinel"))
))]
fn without(scheme: &str, feature: &str) -> ConfigError {
    ConfigError::new(format!(
        "{scheme}:// needs lockruntime's feature `{feature}`, which is switched off"
    ))
}

fn number<T: std::str::FromStr>(value: &str, name: &str) -> Result<T, ConfigError> {
    let number = value.parse().ok();
    number.ok_or_else(|| ConfigError::new(format!("the lock URL's {name} is a number")))
}

/// Takes the master's name out of the path of sentinels, and sees to it that a cluster names no database.
fn placed<'a>(
    kind: Kind,
    urls: impl Iterator<Item = &'a mut Url>,
    database: Option<u32>,
) -> Result<Kind, ConfigError> {
    match kind {
        Kind::Sentinels(_) => {
            let mut master = String::new();
            for url in urls {
                if master.is_empty() {
                    master = url.path().trim_matches('/').to_owned();
                }
                url.set_path(
                    &database
                        .map(|number| number.to_string())
                        .unwrap_or_default(),
                );
                if url.port().is_none() && url.set_port(Some(SENTINEL_PORT)).is_err() {
                    return Err(ConfigError::new(
                        "the lock URL has no host between its commas",
                    ));
                }
            }
            // an @ or a comma is the rest of a password with a slash, which isn't to be shown
            if master.is_empty() || master.contains(['/', '%', '@', ',']) {
                return Err(ConfigError::new(
                    "the lock URL names no master; write redis+sentinel://host:26379,host:26379/mymaster",
                ));
            }
            Ok(Kind::Sentinels(master))
        }
        Kind::Cluster => {
            for url in urls {
                if !["", "/", "/0"].contains(&url.path()) {
                    return Err(ConfigError::new("a cluster has no database but 0"));
                }
            }
            Ok(kind)
        }
        Kind::One | Kind::Quorum => Ok(kind),
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

/// A URL of several hosts as one for each of them, the first apart; else the text alone.
fn split(text: &str) -> (Kind, String, Vec<String>) {
    let of_several = OF_SEVERAL.iter().find_map(|(several, one, kind)| {
        let rest = text.strip_prefix(several)?.strip_prefix("://")?;
        Some((one, kind, rest))
    });
    let Some((scheme, kind, rest)) = of_several else {
        return (Kind::One, text.to_owned(), Vec::new());
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
    (kind.clone(), first, others.collect())
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
fn unknown(scheme: &str, kind: &Kind, name: &str, cut: bool) -> ConfigError {
    let plain = !cut && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let shown = if plain && name.len() < 20 {
        format!("the unknown parameter {name:?}")
    } else {
        "an unknown parameter (a '?' in a password is written %3F)".to_owned()
    };
    let mut known = vec!["app", "env"];
    if scheme != "memory" {
        known.push("protocol");
    }
    match scheme {
        "redis+unix" => known.extend(["user", "pass", "db"]),
        "rediss" => known.extend(["tls_ca", "tls_cert", "tls_key"]),
        _ => {}
    }
    if let Kind::Sentinels(_) = kind {
        known.extend(["db", "sentinel_user", "sentinel_password"]);
    }
    if scheme != "memory" && *kind != Kind::Quorum {
        known.push("confirm_replicas");
    }
    let last = known.pop().unwrap_or_default();
    let known = known.join(", ");
    ConfigError::new(format!(
        "the lock URL has {shown}; known are {known} and {last}"
    ))
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
        let others: Vec<_> = location.others.iter().map(Url::as_str).collect();
        assert_eq!(others, ["redis://u:p@b:2/3", "redis://u:p@c/3"]);
        let location = Location::parse("rediss+redlock://a,b,c").unwrap();
        assert_eq!(location.url.as_str(), "rediss://a");
    }

    #[test]
    fn sentinels_have_a_port_of_their_own_and_the_path_names_the_master() {
        let text =
            "redis+sentinel://u:p@a,b:7/mymaster?db=2&sentinel_password=s&confirm_replicas=1";
        let location = Location::parse(text).unwrap();
        assert_eq!(location.kind, Kind::Sentinels("mymaster".to_owned()));
        assert_eq!(location.url.as_str(), "redis://u:p@a:26379/2");
        assert_eq!(location.others[0].as_str(), "redis://u:p@b:7/2");
        assert_eq!(location.sentinel.password.as_deref(), Some("s"));
        assert_eq!(location.confirm_replicas, Some(1));
        assert!(wrong("redis+sentinel://a,b").contains("names no master"));
        let cut = wrong("redis+sentinel://u:1/secret@a,b/mymaster");
        assert!(!cut.contains("secret"), "{cut}");
        let cut = wrong("redis+sentinel://a/secret@b:1");
        assert!(
            cut.contains("names no master") && !cut.contains("secret"),
            "{cut}"
        );
        assert!(wrong("redis+sentinel://a,b/m?db=x").contains("number"));
        assert!(wrong("redis://a?sentinel_password=s").contains("sentinel_password"));
    }

    #[test]
    fn a_cluster_has_one_database() {
        let location = Location::parse("rediss+cluster://u:p@a:1,b:2?env=x").unwrap();
        assert_eq!(location.kind, Kind::Cluster);
        assert_eq!(location.url.as_str(), "rediss://u:p@a:1");
        assert!(wrong("redis+cluster://a,b/1").contains("database"));
    }

    #[test]
    fn what_has_no_replicas_confirms_by_none() {
        for url in ["memory://", "redlock://a,b,c"] {
            let mut location = Location::parse(url).unwrap();
            assert!(location.confirmed_by(1).is_err(), "{url}");
            assert!(Location::parse(&format!("{url}?confirm_replicas=1")).is_err());
        }
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
