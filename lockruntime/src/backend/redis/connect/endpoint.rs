//! Where a server is, and as whom to connect to it.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
#[cfg(any(feature = "cluster", feature = "sentinel", feature = "tls"))]
use redis::ConnectionAddr;
use redis::aio::{MultiplexedConnection, PubSub};
use redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, ErrorKind, ProtocolVersion, RedisError,
};

use super::failure::Failure;
#[cfg(feature = "tls")]
use super::tls::{Tls, Trust};

/// One server, and as whom to connect to it.
pub(in crate::backend::redis) struct Endpoint {
    client: Client,
    pub(in crate::backend::redis) address: Arc<str>,
    pub(super) pushes: bool,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

impl Endpoint {
    /// A server by the client library's description of it. Under RESP2 nothing is pushed: wake-ups come over a second
    /// connection.
    pub(in crate::backend::redis) fn new(server: ConnectionInfo) -> Result<Self, RedisError> {
        let address = server.addr().to_string().into();
        let settings = server.redis_settings().clone().set_skip_set_lib_name();
        let pushes = settings.protocol() != ProtocolVersion::RESP2;
        let tcp = server.tcp_settings().clone().set_nodelay(true);
        let client = Client::open(server.set_redis_settings(settings).set_tcp_settings(tcp))?;
        Ok(Self {
            client,
            address,
            pushes,
            #[cfg(feature = "tls")]
            tls: None,
        })
    }

    /// The same server, spoken to over TLS.
    #[cfg(feature = "tls")]
    pub(in crate::backend::redis) fn over_tls(
        mut self,
        trust: &Trust,
    ) -> Result<Self, crate::error::ConfigError> {
        if let ConnectionAddr::Tcp(host, port) = self.client.get_connection_info().addr() {
            self.tls = Some(trust.way_to(host, *port)?);
        }
        Ok(self)
    }

    /// That it gave no answer in time.
    pub(super) fn silent(&self) -> Failure {
        #[cfg(feature = "tls")]
        let tls = self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        let tls = false;
        Failure::Silent { tls }
    }

    pub(super) async fn connect(
        &self,
        config: AsyncConnectionConfig,
    ) -> Result<MultiplexedConnection, Failure> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let stream = tls.connect().await?;
            let settings = self.client.get_connection_info().redis_settings();
            let (connection, driver) =
                MultiplexedConnection::new_with_config(settings, stream, config).await?;
            #[expect(
                clippy::disallowed_methods,
                reason = "the client library leaves this one connection's driver to us; it ends with its connection"
            )]
            drop(tokio::spawn(driver));
            return Ok(connection);
        }
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&config);
        caught(connecting).await
    }

    pub(super) async fn listen(&self) -> Result<PubSub, Failure> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let stream = tls.connect().await?;
            let settings = self.client.get_connection_info().redis_settings();
            return Ok(PubSub::new(settings, stream).await?);
        }
        caught(self.client.get_async_pubsub()).await
    }
}

/// How to connect to servers of which only the address is told, and that later.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
#[derive(Clone)]
pub(in crate::backend::redis) struct Manner {
    like: ConnectionInfo,
    #[cfg(feature = "tls")]
    trust: Option<Trust>,
}

#[cfg(any(feature = "cluster", feature = "sentinel"))]
impl Manner {
    /// As the server that `like` describes, but for its address.
    pub(in crate::backend::redis) fn new(like: ConnectionInfo) -> Self {
        Self {
            like,
            #[cfg(feature = "tls")]
            trust: None,
        }
    }

    #[cfg(feature = "tls")]
    pub(in crate::backend::redis) fn over_tls(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// The server at this address.
    pub(super) fn endpoint(&self, host: &str, port: u16) -> Result<Endpoint, Failure> {
        let address = ConnectionAddr::Tcp(host.to_owned(), port);
        let endpoint = Endpoint::new(self.like.clone().set_addr(address))?;
        #[cfg(feature = "tls")]
        if let Some(trust) = &self.trust {
            let tls = endpoint.over_tls(trust);
            return tls.map_err(|error| Failure::Tls(error.to_string()));
        }
        Ok(endpoint)
    }
}

/// An application's own client may use TLS in ways that panic, for want of a crypto provider: that is an error, not the end
/// of the keeper.
async fn caught<T>(connecting: impl Future<Output = Result<T, RedisError>>) -> Result<T, Failure> {
    match AssertUnwindSafe(connecting).catch_unwind().await {
        Ok(result) => Ok(result?),
        Err(_) => Err(Failure::Redis(RedisError::from((
            ErrorKind::InvalidClientConfig,
            "the client library panicked while it connected; does TLS have a crypto provider?",
        )))),
    }
}

impl fmt::Debug for Endpoint {
    /// Without user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
