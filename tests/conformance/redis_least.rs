//! The suite as a user with exactly the documented rights, over RESP2.

use lockruntime::LockManager;
use tests::fault::Proxy;
use tests::server::{Settings, documented_rights, lock_url, manager_builder};
use tests::wire::{APP, ENVIRONMENT};
use tests::{RedisServer, tidy, timing};

use crate::suite::{Link, Place, conformance};

struct Least(RedisServer);

impl Least {
    fn manager_at(&self, address: &str) -> LockManager {
        let url = lock_url("locks:password@", address);
        manager_builder(&format!("{url}&protocol=2"))
            .build()
            .unwrap()
    }
}

impl Place for Least {
    fn start() -> Self {
        let rights = documented_rights(APP, ENVIRONMENT).join(" ");
        Self(RedisServer::with(
            Settings::default().line(&format!("user locks on >password {rights}")),
        ))
    }

    fn manager(&self) -> LockManager {
        self.manager_at(&self.0.address())
    }

    fn fragile(&self) -> (LockManager, Box<dyn Link>) {
        let proxy = Proxy::before(&self.0.address());
        (self.manager_at(&proxy.address()), Box::new(proxy))
    }

    async fn end(&self, id: &str, warnings: usize) {
        tidy::end(&self.0, &format!("boleto:{id}"), timing::lease(), warnings).await;
    }
}

conformance!(Least);
