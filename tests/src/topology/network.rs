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
        let data = proxies.len();
        proxies.extend(before(&topology.sentinels));
        let network = Self::renamed(proxies, topology.servers());
        let sentinels = network.proxies.iter().skip(data).map(Proxy::address);
        Self {
            place: topology.place_at(&sentinels.collect::<Vec<_>>()),
            ..network
        }
    }

    /// To the servers of a cluster.
    #[must_use]
    pub fn to_cluster(topology: &Cluster) -> Self {
        let network = Self::renamed(before(topology.servers()), topology.servers());
        let some = network.proxies.iter().take(2).map(Proxy::address);
        Self {
            place: topology.place_at(&some.collect::<Vec<_>>()),
            ..network
        }
    }

    fn renamed(proxies: Vec<Proxy>, servers: &[RedisServer]) -> Self {
        let ports: Vec<_> = servers
            .iter()
            .zip(&proxies)
            .map(|(server, proxy)| (server.port(), proxy.port()))
            .collect();
        for proxy in &proxies {
            proxy.rename(&ports);
        }
        Self {
            proxies,
            place: String::new(),
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

fn before(servers: &[RedisServer]) -> Vec<Proxy> {
    let proxies = servers.iter();
    proxies
        .map(|server| Proxy::before(&server.address()))
        .collect()
}
