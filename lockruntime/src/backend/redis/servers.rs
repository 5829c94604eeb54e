//! Which servers a URL means, as whom to speak to them, and the backend on them.

use redis::{Client, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisError};
use url::Url;

use super::RedisBackend;
#[cfg(feature = "cluster")]
use super::connect::Cluster;
#[cfg(any(feature = "cluster", feature = "sentinel"))]
use super::connect::Manner;
#[cfg(feature = "sentinel")]
use super::connect::Sentinels;
#[cfg(feature = "tls")]
use super::connect::Trust;
use super::connect::{Endpoint, Source, Ways};
use super::replicas::Replicas;
use crate::error::ConfigError;
#[cfg(feature = "tls")]
use crate::tls::TlsSettings;

/// Servers, each by a URL `redis://user:password@host:port/database` of its own.
pub(crate) struct Servers {
    infos: Vec<ConnectionInfo>,
    #[cfg(feature = "tls")]
    trust: Option<Trust>,
    replicas: Option<usize>,
}

impl Servers {
    pub(crate) fn new<'a>(
        urls: impl IntoIterator<Item = &'a Url>,
        protocol: ProtocolVersion,
    ) -> Result<Self, ConfigError> {
        let infos = urls.into_iter().map(|url| {
            let server = url.as_str().into_connection_info().map_err(unreadable)?;
            let settings = server.redis_settings().clone().set_protocol(protocol);
            Ok(server.set_redis_settings(settings))
        });
        Ok(Self {
            infos: infos.collect::<Result<_, ConfigError>>()?,
            #[cfg(feature = "tls")]
            trust: None,
            replicas: None,
        })
    }

    /// The same over TLS.
    #[cfg(feature = "tls")]
    pub(crate) fn over_tls(mut self, settings: &TlsSettings) -> Result<Self, ConfigError> {
        self.trust = Some(Trust::new(settings)?);
        Ok(self)
    }

    /// A grant counts only when so many replicas have it.
    pub(crate) fn confirmed_by(mut self, replicas: Option<usize>) -> Self {
        self.replicas = replicas;
        self
    }

    /// Each by itself.
    pub(crate) fn apart(self) -> Result<Vec<RedisBackend>, ConfigError> {
        let endpoints = self.infos.iter().map(|info| self.endpoint(info.clone()));
        endpoints
            .map(|endpoint| Ok(self.backend(Ways::to(Source::Server(endpoint?)))))
            .collect()
    }

    /// The master of this name that these sentinels tell of; their own user and password.
    #[cfg(feature = "sentinel")]
    pub(crate) fn master(
        self,
        name: &str,
        user: Option<&str>,
        password: Option<&str>,
    ) -> Result<RedisBackend, ConfigError> {
        let sentinels = self.infos.iter().map(|info| {
            // what sentinels are asked needs no more, and an old one knows no more
            let plain = redis::RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP2);
            let plain = user
                .into_iter()
                .fold(plain, |plain, user| plain.set_username(user));
            let plain = password
                .into_iter()
                .fold(plain, |plain, password| plain.set_password(password));
            self.endpoint(info.clone().set_redis_settings(plain))
        });
        let sentinels = sentinels.collect::<Result<Vec<_>, _>>()?;
        let sentinels = Sentinels::new(name, sentinels, self.manner()?);
        Ok(self.backend(Ways::to(Source::Master(sentinels))))
    }

    /// The cluster that these are some servers of.
    #[cfg(feature = "cluster")]
    pub(crate) fn cluster(self) -> Result<RedisBackend, ConfigError> {
        let seeds: Vec<_> = self.infos.iter().filter_map(place).collect();
        let cluster = Cluster::new(&seeds, self.manner()?);
        Ok(self.backend(Ways::Cluster(Box::new(cluster))))
    }

    fn endpoint(&self, info: ConnectionInfo) -> Result<Endpoint, ConfigError> {
        let endpoint = Endpoint::new(info).map_err(unreadable)?;
        #[cfg(feature = "tls")]
        if let Some(trust) = &self.trust {
            return endpoint.over_tls(trust);
        }
        Ok(endpoint)
    }

    #[cfg(any(feature = "cluster", feature = "sentinel"))]
    fn manner(&self) -> Result<Manner, ConfigError> {
        let like = self.infos.first().cloned();
        let manner = Manner::new(like.ok_or_else(|| ConfigError::new("the lock URL has no host"))?);
        #[cfg(feature = "tls")]
        if let Some(trust) = &self.trust {
            return Ok(manner.over_tls(trust.clone()));
        }
        Ok(manner)
    }

    fn backend(&self, ways: Ways) -> RedisBackend {
        RedisBackend::confirmed_on(ways, self.replicas.map(Replicas::new))
    }
}

#[cfg(feature = "cluster")]
fn place(info: &ConnectionInfo) -> Option<(String, u16)> {
    if let redis::ConnectionAddr::Tcp(host, port) = info.addr() {
        Some((host.clone(), *port))
    } else {
        None
    }
}

impl RedisBackend {
    /// The server of an application's own client, with its user, database, protocol and TLS.
    pub(crate) fn from_client(client: &Client) -> Result<Self, ConfigError> {
        let server = client.get_connection_info().clone();
        let endpoint = Endpoint::new(server).map_err(unreadable)?;
        Ok(Self::on(Ways::to(Source::Server(endpoint))))
    }
}

/// The client's own words may repeat the URL, and with it the password.
fn unreadable(_: RedisError) -> ConfigError {
    ConfigError::new("the redis URL can't be read; write redis://user:password@host:6379/0")
}
