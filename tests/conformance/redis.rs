//! The suite on one Redis server.

use lockruntime::LockManager;
use tests::fault::Proxy;
use tests::{RedisServer, tidy, timing};

use crate::suite::{Link, Place, conformance};

struct Redis(RedisServer);

impl Place for Redis {
    fn start() -> Self {
        Self(RedisServer::start())
    }

    fn manager(&self) -> LockManager {
        self.0.manager()
    }

    fn fragile(&self) -> (LockManager, Box<dyn Link>) {
        let proxy = Proxy::before(&self.0.address());
        (self.0.manager_at(&proxy.address()), Box::new(proxy))
    }

    async fn end(&self, id: &str, warnings: usize) {
        tidy::end(&self.0, &format!("boleto:{id}"), timing::lease(), warnings).await;
    }
}

impl Link for Proxy {
    fn cut(&self) {
        self.black_hole();
    }

    fn heal(&self) {
        Proxy::heal(self);
    }
}

conformance!(Redis);
