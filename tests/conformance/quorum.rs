//! The suite on a quorum of five independent masters.

use lockruntime::LockManager;
use lockruntime::backend::quorum::QuorumBackend;
use tests::fault::Proxy;
use tests::{RedisServer, logs, tidy, timing};

use crate::suite::{Link, Place, conformance};

struct Quorum(Vec<RedisServer>);

struct Cut(Vec<Proxy>);

fn build(urls: impl IntoIterator<Item = String>) -> LockManager {
    logs::listen();
    LockManager::builder()
        .backend(QuorumBackend::new(urls).unwrap())
        .app(tests::wire::APP)
        .environment(tests::wire::ENVIRONMENT)
        .lease(timing::lease())
        .heartbeat(timing::heartbeat())
        .grace(timing::grace())
        .build()
        .unwrap()
}

/// Without the names in the query, which are the manager's.
fn redis_url(server: &RedisServer, address: &str) -> String {
    let url = server.url_at(address);
    url.split('?').next().unwrap_or_default().to_owned()
}

impl Place for Quorum {
    fn start() -> Self {
        Self((0..5).map(|_| RedisServer::start()).collect())
    }

    fn manager(&self) -> LockManager {
        build(
            self.0
                .iter()
                .map(|server| redis_url(server, &server.address())),
        )
    }

    fn fragile(&self) -> (LockManager, Box<dyn Link>) {
        let proxies: Vec<_> = (self.0.iter())
            .map(|server| Proxy::before(&server.address()))
            .collect();
        let servers = self.0.iter().zip(&proxies);
        let manager = build(servers.map(|(server, proxy)| redis_url(server, &proxy.address())));
        (manager, Box::new(Cut(proxies)))
    }

    async fn end(&self, id: &str, warnings: usize) {
        for server in &self.0 {
            tidy::end(server, &format!("boleto:{id}"), timing::lease(), warnings).await;
        }
    }
}

impl Link for Cut {
    fn cut(&self) {
        self.0.iter().for_each(Proxy::black_hole);
    }

    fn heal(&self) {
        self.0.iter().for_each(Proxy::heal);
    }
}

conformance!(Quorum);
