//! An application that is being tested, with all it stands on.

use std::net::SocketAddr;

use examples::Call;
use lockruntime::LockManager;
use tests::RedisServer;
use tests::server::Raw;
use tests::timing;
use tests::wire::{queue, record};

use crate::bank::Visits;

/// A running application with its own server and manager.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) locks: LockManager,
    pub(crate) visits: Visits,
    pub(crate) raw: Raw,
    _redis: RedisServer,
}

/// What the applications are started with.
pub(crate) struct Ground {
    pub(crate) redis: RedisServer,
    pub(crate) locks: LockManager,
}

impl Ground {
    /// Heartbeat, grace and lease are the defaults, far longer than [`timing::moment`]: what happens within a moment was not
    /// brought about by one of them.
    pub(crate) fn new() -> Self {
        let redis = RedisServer::start();
        let locks = LockManager::from_url(&redis.url()).expect("the kit's URL is valid");
        Self { redis, locks }
    }
}

impl Site {
    pub(crate) fn new(ground: Ground, address: SocketAddr, visits: Visits) -> Self {
        let raw = ground.redis.raw();
        Self {
            address,
            locks: ground.locks,
            visits,
            raw,
            _redis: ground.redis,
        }
    }

    pub(crate) async fn post(&self, path: &str) -> Call {
        post(self.address, path, "").await
    }

    pub(crate) async fn refund(&self, account: &str) -> Call {
        post(
            self.address,
            "/refunds",
            &format!(r#"{{"account":"{account}","cents":500}}"#),
        )
        .await
    }

    /// Waits until so many tickets stand in the queue of `key`.
    pub(crate) async fn until_waiting(&self, key: &str, count: u64) {
        timing::until("so many wait", timing::patience(), || {
            self.waiting(key) == count
        })
        .await;
    }

    pub(crate) fn waiting(&self, key: &str) -> u64 {
        self.raw.run(&["ZCARD", &queue(key)])
    }

    pub(crate) fn is_held(&self, key: &str) -> bool {
        self.raw.has(&record(key))
    }
}

pub(crate) async fn post(address: SocketAddr, path: &str, json: &str) -> Call {
    Call::post(address, path, json)
        .await
        .expect("the application listens")
}
