//! Connections die all the time, scripts are forgotten, callers go away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lockruntime::LockManager;
use rand::RngExt;
use tests::server::RedisServer;
use tests::timing;

const KEYS: usize = 2;
const CALLERS: usize = 12;

/// Tells whether somebody is inside.
#[derive(Clone, Default)]
struct Room(Arc<AtomicBool>);

impl Room {
    async fn visit(self, time: Duration) {
        assert!(!self.0.swap(true, Ordering::SeqCst), "two bodies at once");
        let leaves = Leaves(self);
        timing::pass(time).await;
        drop(leaves);
    }
}

struct Leaves(Room);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::SeqCst);
    }
}

/// Calls until `stop`; every fifth call is given up after a moment. Nobody may fail or starve.
async fn call(locks: LockManager, rooms: [Room; KEYS], stop: Instant) -> u64 {
    let mut calls = 0;
    while Instant::now() < stop {
        let (room, time, gives_up) = {
            let mut rng = rand::rng();
            let gives_up = rng.random_bool(0.2).then(|| rng.random_range(0..40));
            (rng.random_range(0..KEYS), rng.random_range(0..8), gives_up)
        };
        let key = format!("room:{room}");
        let body = rooms.get(room).cloned().unwrap_or_default();
        let call = locks
            .lock(&key)
            .run(body.visit(Duration::from_millis(time)));
        match gives_up {
            Some(limit) => drop(tokio::time::timeout(Duration::from_millis(limit), call).await),
            None => timing::soon("the turn comes", call)
                .await
                .expect("no outage is longer than a lease"),
        }
        calls += 1;
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_stay_alone_and_nobody_starves() {
    let redis = RedisServer::start();
    let raw = redis.raw();
    let managers = [redis.manager(), redis.manager(), redis.manager()];
    let rooms: [Room; KEYS] = Default::default();
    let stop = Instant::now() + timing::millis(5_000);
    let callers: Vec<_> = managers
        .iter()
        .cycle()
        .take(CALLERS)
        .map(|locks| tokio::spawn(call(locks.clone(), rooms.clone(), stop)))
        .collect();
    while Instant::now() < stop {
        let (pause, forget) = (
            rand::rng().random_range(20..150),
            rand::rng().random_bool(0.3),
        );
        timing::pass(Duration::from_millis(pause)).await;
        raw.run::<u64>(&["CLIENT", "KILL", "SKIPME", "yes"]);
        if forget {
            raw.run::<()>(&["SCRIPT", "FLUSH"]);
        }
    }
    for caller in callers {
        let calls = timing::soon("the caller ends", caller)
            .await
            .expect("no panic");
        assert!(calls > 10, "only {calls}");
    }
    timing::until(
        "nothing is left but the counters",
        timing::patience(),
        || raw.keys("lib_*").iter().all(|key| key.ends_with(":n")),
    )
    .await;
}
