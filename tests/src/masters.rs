//! A quorum of independent masters, each behind a network of its own that fails on demand.

use std::sync::Arc;

use lockruntime::LockManager;

use crate::RedisServer;
use crate::fault::Proxy;
use crate::server::{Settings, manager_builder};
use crate::wire::{APP, ENVIRONMENT};

/// The masters; place by place with their proxies.
#[derive(Debug)]
pub struct Masters {
    /// The servers.
    pub servers: Vec<RedisServer>,
    /// The ways to them.
    pub proxies: Arc<Vec<Proxy>>,
    /// What stands before the hosts in a URL, `user:password@`.
    user: &'static str,
}

impl Masters {
    /// So many empty masters.
    #[must_use]
    pub fn start(count: usize) -> Self {
        Self::with((0..count).map(|_| Settings::default()))
    }

    /// One for each of the settings.
    pub fn with(settings: impl IntoIterator<Item = Settings>) -> Self {
        let servers: Vec<_> = settings.into_iter().map(RedisServer::with).collect();
        let proxies = servers
            .iter()
            .map(|server| Proxy::before(&server.address()));
        Self {
            proxies: Arc::new(proxies.collect()),
            servers,
            user: "",
        }
    }

    /// The managers come as this user, `user:password@`.
    #[must_use]
    pub fn as_user(mut self, user: &'static str) -> Self {
        self.user = user;
        self
    }

    /// A URL of them, straight.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.servers.iter().map(RedisServer::address).collect();
        redlock(self.user, &hosts)
    }

    /// A URL of them, through the proxies.
    #[must_use]
    pub fn proxied_url(&self) -> String {
        let hosts: Vec<_> = self.proxies.iter().map(Proxy::address).collect();
        redlock(self.user, &hosts)
    }

    /// A manager that reaches all masters straight.
    #[must_use]
    pub fn manager(&self) -> LockManager {
        manager_builder(&self.url())
            .build()
            .expect("the kit's URLs are valid")
    }

    /// A manager that reaches all masters through the proxies.
    #[must_use]
    pub fn fragile_manager(&self) -> LockManager {
        manager_builder(&self.proxied_url())
            .build()
            .expect("the kit's URLs are valid")
    }
}

/// A URL of these masters; `user` is what stands before the hosts, `user:password@` or nothing.
#[must_use]
pub fn redlock(user: &str, hosts: &[String]) -> String {
    let hosts = hosts.join(",");
    format!("redlock://{user}{hosts}?app={APP}&env={ENVIRONMENT}")
}
