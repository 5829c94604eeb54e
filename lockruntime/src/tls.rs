//! Whom a `rediss://` connection trusts, and how it shows who it is.

use std::fmt;

/// Certificates for `rediss://`, as PEM text; for [`LockManagerBuilder::tls`](crate::LockManagerBuilder::tls). In a URL they
/// are files: `rediss://host:6380?tls_ca=/etc/ca.pem&tls_cert=/etc/client.pem&tls_key=/etc/client.key`.
///
/// The certificates' names are always checked against the URL's host; there is no way to switch that off. Its `Debug` shows
/// no key.
///
/// ```
/// # fn settings(ca: &str, certificate: &str, key: &str) -> lockruntime::TlsSettings {
/// lockruntime::TlsSettings::new().ca(ca).client(certificate, key)
/// # }
/// ```
#[derive(Clone, Default)]
#[must_use = "give it to LockManagerBuilder::tls"]
pub struct TlsSettings {
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) client: Option<(Vec<u8>, Vec<u8>)>,
}

impl TlsSettings {
    /// The machine's own trusted certificates, and no client certificate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts these certificate authorities, and no others.
    pub fn ca(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca = Some(pem.into());
        self
    }

    /// Shows this certificate, with those between it and its authority, to a server that asks for one; and its private key.
    pub fn client(mut self, certificates: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.client = Some((certificates.into(), key.into()));
        self
    }
}

impl fmt::Debug for TlsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsSettings")
            .field("ca", &self.ca.is_some())
            .field("client", &self.client.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_debug_shows_no_key() {
        let settings = TlsSettings::new().ca("public").client("public", "SECRET");
        assert_eq!(
            format!("{settings:?}"),
            "TlsSettings { ca: true, client: true }"
        );
    }
}
