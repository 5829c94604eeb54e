//! TLS to one server, by rustls with a crypto provider of our own: the process needs none, and keeps the one it has.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::select_ok;
use redis::RedisError;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, crypto};

use super::failure::Failure;
use crate::error::ConfigError;
use crate::tls::TlsSettings;

/// Whom to trust, and what to show, whatever the server.
#[derive(Clone)]
pub(in crate::backend::redis) struct Trust(TlsConnector);

/// The way to a server that speaks TLS.
#[derive(Clone)]
pub(in crate::backend::redis) struct Tls {
    host: String,
    port: u16,
    name: ServerName<'static>,
    connector: TlsConnector,
}

impl Trust {
    pub(in crate::backend::redis) fn new(settings: &TlsSettings) -> Result<Self, ConfigError> {
        let builder =
            ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|error| ConfigError::new(format!("TLS can't be set up: {error}")))?
                .with_root_certificates(roots(settings)?);
        let config = match &settings.client {
            None => builder.with_no_client_auth(),
            Some((certificates, key)) => {
                let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| {
                    ConfigError::new(format!(
                        "the TLS client key can't be read: {error}; give it as PEM, unencrypted"
                    ))
                })?;
                builder
                    .with_client_auth_cert(read("client certificate", certificates)?, key)
                    .map_err(|error| {
                        ConfigError::new(format!(
                            "the TLS client certificate can't be used with its key: {error}"
                        ))
                    })?
            }
        };
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// The way to one server.
    pub(super) fn way_to(&self, host: &str, port: u16) -> Result<Tls, ConfigError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| {
            ConfigError::new(format!(
                "the host {host:?} can't stand in a certificate: {error}"
            ))
        })?;
        Ok(Tls {
            host: host.to_owned(),
            port,
            name,
            connector: self.0.clone(),
        })
    }
}

impl Tls {
    pub(super) async fn connect(&self) -> Result<TlsStream<TcpStream>, Failure> {
        let io = |error: std::io::Error| Failure::Redis(RedisError::from(error));
        let addresses = tokio::net::lookup_host((self.host.as_str(), self.port))
            .await
            .map_err(io)?;
        let tries: Vec<_> = addresses.map(|address| Box::pin(open(address))).collect();
        if tries.is_empty() {
            return Err(io(std::io::ErrorKind::NotFound.into()));
        }
        // all of them at once: the first address of a name may lead nowhere
        let (stream, _) = select_ok(tries).await.map_err(io)?;
        self.connector
            .connect(self.name.clone(), stream)
            .await
            .map_err(|error| {
                match error
                    .get_ref()
                    .and_then(|inner| inner.downcast_ref::<rustls::Error>())
                {
                    Some(refused) => Failure::Tls(refused.to_string()),
                    None => io(error),
                }
            })
    }
}

async fn open(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn roots(settings: &TlsSettings) -> Result<RootCertStore, ConfigError> {
    let mut roots = RootCertStore::empty();
    match &settings.ca {
        Some(pem) => {
            for certificate in read("CA", pem)? {
                roots.add(certificate).map_err(|error| {
                    ConfigError::new(format!(
                        "a certificate of the TLS CA can't be used: {error}"
                    ))
                })?;
            }
        }
        None => {
            // a machine has hundreds; one that can't be read is no reason to trust none
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(ConfigError::new(
                    "this machine has no trusted certificates; give the server's own with tls_ca=/path/ca.pem, or install \
                     ca-certificates",
                ));
            }
        }
    }
    Ok(roots)
}

fn read(what: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| ConfigError::new(format!("the TLS {what} is no PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(ConfigError::new(format!(
            "the TLS {what} has no certificate; give PEM that begins -----BEGIN CERTIFICATE-----"
        )));
    }
    Ok(certificates)
}
