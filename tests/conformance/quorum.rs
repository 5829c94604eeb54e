//! The suite on a quorum of five independent masters, as a user with exactly the documented rights.

use std::sync::Arc;

use lockruntime::{LockError, LockManager};
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

conformance!(Masters, alone);

/// A quorum has one holder of each key: what would share it is refused by name, before any command.
#[tokio::test]
async fn what_would_share_is_unsupported() {
    let nodes = (1..=3).map(|port| format!("127.0.0.1:{port}"));
    let url = format!("redlock://{}", nodes.collect::<Vec<_>>().join(","));
    // nobody is there to ask
    let manager = LockManager::from_url(&url).unwrap();
    assert!(!manager.capabilities().shares);
    let request = || manager.lock("boleto:1");
    for (request, what) in [
        (request().permits(3), "permits"),
        (request().read(), "readers and writers"),
        (request().write(), "readers and writers"),
    ] {
        let error = request.acquire().await.unwrap_err();
        let LockError::Unsupported { what: named, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(*named, what);
        assert!(
            error.to_string().contains(&format!("has no {what}")),
            "{error}"
        );
    }
}
