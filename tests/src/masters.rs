//! A quorum of independent masters, each behind a network of its own that fails on demand.

use std::sync::Arc;

use lockruntime::backend::quorum::QuorumBackend;
use lockruntime::{LockManager, LockManagerBuilder};

use crate::fault::Proxy;
use crate::server::Settings;
use crate::{RedisServer, logs, timing, wire};

/// The masters; place by place with their proxies.
#[derive(Debug)]
pub struct Masters {
    /// The servers.
    pub servers: Vec<RedisServer>,
    /// The ways to them.
    pub proxies: Arc<Vec<Proxy>>,
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
        }
    }

    /// The URLs of all masters, straight.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let urls = self.servers.iter().map(|server| server.url());
        urls.map(|url| without_names(&url)).collect()
    }

    /// The URLs of all masters, through the proxies.
    #[must_use]
    pub fn proxied_urls(&self) -> Vec<String> {
        let servers = self.servers.iter().zip(&*self.proxies);
        servers
            .map(|(server, proxy)| without_names(&server.url_at(&proxy.address())))
            .collect()
    }

    /// A manager that reaches all masters straight.
    #[must_use]
    pub fn manager(&self) -> LockManager {
        manager_builder(&self.urls())
            .build()
            .expect("the kit's URLs are valid")
    }

    /// A manager that reaches all masters through the proxies.
    #[must_use]
    pub fn fragile_manager(&self) -> LockManager {
        manager_builder(&self.proxied_urls())
            .build()
            .expect("the kit's URLs are valid")
    }
}

/// A builder of managers over these masters, with the tests' timings.
///
/// # Panics
/// When a URL can't be read.
pub fn manager_builder(urls: &[String]) -> LockManagerBuilder {
    logs::listen();
    LockManager::builder()
        .backend(QuorumBackend::new(urls).expect("the URLs are valid"))
        .app(wire::APP)
        .environment(wire::ENVIRONMENT)
        .lease(timing::lease())
        .heartbeat(timing::heartbeat())
        .grace(timing::grace())
}

/// A URL of the kit without its query: the names are the manager's.
fn without_names(url: &str) -> String {
    url.split('?').next().unwrap_or_default().to_owned()
}
