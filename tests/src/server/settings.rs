//! What a server is started with.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use super::Certificates;

/// Whether a server asks its clients for a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// It lets everybody in.
    Unasked,
    /// One of its own authority.
    Required,
}

/// What a server does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Duty {
    /// Keeps data.
    #[default]
    Data,
    /// Keeps some of a cluster's data.
    Cluster,
    /// Watches over servers that keep data.
    Sentinel,
}

/// What a server is started with: no persistence, no password, no further lines unless asked for.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    append_only: bool,
    password: Option<String>,
    pub(super) own_clock: bool,
    pub(super) duty: Duty,
    pub(super) tls: Option<ClientCertificate>,
    pub(super) certificates: Option<Arc<Certificates>>,
    lines: Vec<String>,
}

impl Settings {
    /// Data survives a `kill -9`: every write is on disk before it is answered.
    #[must_use]
    pub fn append_only(mut self) -> Self {
        self.append_only = true;
        self
    }

    /// The default user's password.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// A wall clock of its own, for [`RedisServer::set_clock_ahead`](super::RedisServer::set_clock_ahead).
    #[must_use]
    pub fn own_clock(mut self) -> Self {
        self.own_clock = true;
        self
    }

    /// It is part of a cluster.
    #[must_use]
    pub fn cluster(mut self) -> Self {
        self.duty = Duty::Cluster;
        self
    }

    /// It is a sentinel.
    #[must_use]
    pub fn sentinel(mut self) -> Self {
        self.duty = Duty::Sentinel;
        self
    }

    /// A second port for TLS, see [`RedisServer::tls`](super::RedisServer::tls).
    #[must_use]
    pub fn tls(mut self, client: ClientCertificate) -> Self {
        self.tls = Some(client);
        self
    }

    /// A second port for TLS with certificates that several servers share, so that they trust each other as well and talk TLS
    /// among themselves.
    #[must_use]
    pub fn tls_among(mut self, certificates: &Arc<Certificates>) -> Self {
        self.tls = Some(ClientCertificate::Unasked);
        self.certificates = Some(Arc::clone(certificates));
        self.line("tls-replication yes")
    }

    /// A further line of `redis.conf`, such as `user name on >password ~* +get` or `maxmemory 2mb`.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// What stands before the address in a URL of the default user.
    pub(crate) fn credentials(&self) -> String {
        self.password
            .as_ref()
            .map(|password| format!(":{password}@"))
            .unwrap_or_default()
    }

    pub(crate) fn secret(&self) -> Option<&str> {
        self.password.as_deref()
    }

    pub(crate) fn lines(&self, port: u16, folder: &Path) -> String {
        let folder = folder.display();
        let mut text = format!(
            "bind 127.0.0.1\nport {port}\ndir {folder}\nlogfile {folder}/log\nunixsocket {folder}/socket\ndaemonize no\nsave \"\"\nhz 50\n\
             appendonly {}\nappendfsync always\n",
            if self.append_only { "yes" } else { "no" }
        );
        if let Some(password) = &self.password {
            writeln!(text, "requirepass {password}").expect("writing to a string never fails");
        }
        if self.duty == Duty::Cluster {
            text += "cluster-enabled yes\ncluster-config-file nodes.conf\n";
        }
        for line in &self.lines {
            writeln!(text, "{line}").expect("writing to a string never fails");
        }
        text
    }
}
