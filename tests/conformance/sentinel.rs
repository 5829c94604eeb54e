//! The suite on the master that three sentinels name, as a user with exactly the documented rights. All cases share it, each in
//! an environment of its own.

use std::sync::{Arc, OnceLock};

use lockruntime::LockManager;
use tests::server::{Settings, documented_rights, manager_builder};
use tests::topology::{Network, Sentinel, Topology};
use tests::wire::APP;
use tests::{tidy, timing};

use crate::suite::{Link, Place, conformance, new_environment};

struct Shared {
    environment: String,
}

fn topology() -> &'static Sentinel {
    static ONE: OnceLock<Sentinel> = OnceLock::new();
    ONE.get_or_init(|| {
        let rights = documented_rights(APP, "*").join(" ");
        let data = Settings::default().line(&format!("user locks on >password {rights} +role"));
        Sentinel::with(&data, &Settings::default(), &[]).as_user("locks:password@", "")
    })
}

impl Place for Shared {
    fn start() -> Self {
        topology();
        Self {
            environment: new_environment(),
        }
    }

    fn manager(&self) -> LockManager {
        let url = topology().url_in(&self.environment);
        manager_builder(&url).build().unwrap()
    }

    fn fragile(&self) -> (LockManager, Box<dyn Link>) {
        let network = Network::to_sentinel(topology());
        let url = network.url_in(&self.environment);
        (
            manager_builder(&url).build().unwrap(),
            Box::new(Arc::new(network.proxies)),
        )
    }

    async fn end(&self, id: &str, warnings: usize) {
        let servers = topology().masters();
        let (environment, words) = (&self.environment, [id]);
        tidy::end_of_environment(&servers, environment, &words, timing::lease(), warnings).await;
    }
}

conformance!(Shared);
