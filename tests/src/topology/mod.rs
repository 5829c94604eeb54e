//! Servers that replicate to each other, and take each other's place.

mod cluster;
mod network;
mod sentinel;

use std::time::Duration;

use lockruntime::{LockManager, LockManagerBuilder};

pub use cluster::Cluster;
pub use network::Network;
pub use sentinel::{MASTER, Sentinel};

use crate::RedisServer;
use crate::server::{Raw, manager_builder};
use crate::wire::{APP, ENVIRONMENT, record};

/// After how long without a sign of life a master is replaced.
pub const DOWN_AFTER: Duration = Duration::from_secs(1);

/// Lines that all servers with data have: a replica is in step within milliseconds.
const DATA: [&str; 5] = [
    "repl-diskless-sync yes",
    "repl-diskless-sync-delay 0",
    "repl-ping-replica-period 1",
    "repl-timeout 5",
    "enable-debug-command local",
];

/// What tests do with any of them.
pub trait Topology: Send + Sync + Sized {
    /// The servers with data; masters first, when it is new.
    fn servers(&self) -> &[RedisServer];

    /// One of them, to disturb it.
    fn server(&mut self, place: usize) -> &mut RedisServer;

    /// A URL of lock managers, up to the `?`.
    fn place(&self) -> String;

    /// Connections to all servers that say that they are masters.
    fn masters(&self) -> Vec<Raw> {
        let servers = self.servers().iter().map(RedisServer::raw);
        servers.filter(is_master).collect()
    }

    /// The place in [`Self::servers`] of the master that has the locks of this key.
    fn master_of(&self, key: &str) -> usize;

    /// Whether a write of this key's lock would be taken now, by whatever server of these places.
    fn takes_writes(&self, key: &str, places: &[usize]) -> bool {
        let probe = probe(key);
        let mut servers = places.iter().filter_map(|place| self.servers().get(*place));
        servers.any(|server| takes(server, &["SET", &probe, "1", "PX", "100"]))
    }

    /// A URL of lock managers, in an environment of their own.
    fn url_in(&self, environment: &str) -> String {
        format!("{}?app={APP}&env={environment}", self.place())
    }

    /// A builder of lock managers with the tests' timings.
    fn builder(&self) -> LockManagerBuilder {
        manager_builder(&self.url_in(ENVIRONMENT))
    }

    /// A lock manager with the tests' timings.
    fn manager(&self) -> LockManager {
        self.builder().build().expect("the kit's URLs are valid")
    }
}

/// Whether a server says that it is a master.
#[must_use]
pub fn is_master(raw: &Raw) -> bool {
    raw.run::<String>(&["INFO", "replication"])
        .contains("role:master")
}

/// How a URL begins.
fn scheme(servers: &[RedisServer]) -> &'static str {
    let tls = |server: &RedisServer| server.port_among() != server.port();
    if servers.iter().any(tls) {
        "rediss"
    } else {
        "redis"
    }
}

/// Where clients find a server that talks to its like in the same way.
fn address_among(server: &RedisServer) -> String {
    format!("127.0.0.1:{}", server.port_among())
}

/// A key beside the lock's own, in its slot.
fn probe(key: &str) -> String {
    format!("{{{}}}:probe", record(key))
}

/// Whether a server says that it is a master, and takes this write.
fn takes(server: &RedisServer, command: &[&str]) -> bool {
    let Some(raw) = Raw::try_connect(&server.address()) else {
        return false;
    };
    raw.attempt::<redis::Value>(command).is_ok()
}
