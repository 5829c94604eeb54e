//! The suite on a quorum of five independent masters, as a user with exactly the documented rights.

use std::sync::Arc;

use lockruntime::LockManager;
use tests::masters::Masters;
use tests::server::{Settings, documented_rights};
use tests::wire::{APP, ENVIRONMENT};
use tests::{tidy, timing};

use crate::suite::{Link, Place, conformance};

impl Place for Masters {
    fn start() -> Self {
        let rights = documented_rights(APP, ENVIRONMENT).join(" ");
        let user = format!("user locks on >password {rights}");
        Self::with((0..5).map(|_| Settings::default().line(&user))).as_user("locks:password@")
    }

    fn manager(&self) -> LockManager {
        self.manager()
    }

    fn fragile(&self) -> (LockManager, Box<dyn Link>) {
        (self.fragile_manager(), Box::new(Arc::clone(&self.proxies)))
    }

    async fn end(&self, id: &str, warnings: usize) {
        for server in &self.servers {
            tidy::end(server, &format!("boleto:{id}"), timing::lease(), warnings).await;
        }
    }
}

conformance!(Masters);
