//! A network of one manager's own to all servers, which fails on demand and disturbs nobody else.

use super::{Cluster, Sentinel, Topology};
use crate::RedisServer;
use crate::fault::Proxy;
use crate::wire::{APP, ENVIRONMENT};

/// A proxy before each server. What servers say about each other's addresses is changed on its way.
#[derive(Debug)]
pub struct Network {
    /// The proxies: of the servers with data in their order, then of the sentinels.
    pub proxies: Vec<Proxy>,
    place: String,
}

impl Network {
    /// To the servers and sentinels.
    #[must_use]
    pub fn to_sentinel(topology: &Sentinel) -> Self {
        let mut proxies = before(topology.servers());
        proxies.extend(before(&topology.sentinels));
        Self {
            place: topology.place_through(&proxies),
            proxies,
        }
    }

    /// To the servers of a cluster.
    #[must_use]
    pub fn to_cluster(topology: &Cluster) -> Self {
        let proxies = before(topology.servers());
        Self {
            place: topology.place_through(&proxies),
            proxies,
        }
    }

    /// The URL of a lock manager that goes this way.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_in(ENVIRONMENT)
    }

    /// The same for locks of another environment.
    #[must_use]
    pub fn url_in(&self, environment: &str) -> String {
        format!("{}?app={APP}&env={environment}", self.place)
    }
}

/// What the servers say about each other's addresses is changed on its way.
pub(super) fn rename(servers: &[RedisServer], proxies: &[Proxy]) {
    let ports: Vec<_> = servers
        .iter()
        .zip(proxies)
        .map(|(server, proxy)| (server.port(), proxy.port()))
        .collect();
    for proxy in proxies {
        proxy.rename(&ports);
    }
}

fn before(servers: &[RedisServer]) -> Vec<Proxy> {
    let proxies = servers.iter();
    proxies
        .map(|server| Proxy::before(&server.address()))
        .collect()
}
