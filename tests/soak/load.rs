//! The same few keys for a long time, under all that callers do.

use std::time::{Duration, Instant};

use lockruntime::LockManager;
use rand::RngExt;
use tests::{RedisServer, memory, tidy, timing};
use tokio::task::JoinSet;

use super::{alone, clients, no_tasks, quiet};

const CALLERS: usize = 40;
const KEYS: u64 = 12;

/// Queues, with and without a limit; is refused; gives up midway; outlives its lease; drops a guard.
async fn call(locks: &LockManager) {
    let (key, kind, micros) = {
        let mut rng = rand::rng();
        let key = format!("boleto:soak-{}", rng.random_range(0..KEYS));
        (key, rng.random_range(0..1_000), rng.random_range(0..2_000))
    };
    let lock = locks.lock(&key);
    let body = timing::pass(Duration::from_micros(micros));
    match kind {
        0..200 => drop(lock.try_acquire().await),
        200..350 => drop(lock.wait(timing::millis(4)).run(body).await),
        350..500 => {
            let limit = Duration::from_micros(micros * 4);
            drop(tokio::time::timeout(limit, lock.run(body)).await);
        }
        500 => {
            let lease = timing::lease();
            lock.lease(lease)
                .run(timing::pass(lease * 3 / 2))
                .await
                .unwrap();
        }
        501..550 => drop(lock.acquire().await.unwrap()),
        _ => lock.run(body).await.unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn load_leaves_nothing_and_memory_is_flat() {
    let _alone = alone().await;
    let time = Duration::from_secs(if timing::is_long() { 600 } else { 8 });
    let server = RedisServer::start();
    let raw = server.raw();
    let managers = [quiet(&server, 3), quiet(&server, 2)];
    for locks in &managers {
        assert!(locks.health().await.unwrap().is_sound());
    }
    let before = clients(&raw);
    assert_eq!(before, (3, 2));
    let stop = Instant::now() + time;
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let locks = managers.get(caller % 2).unwrap().clone();
        callers.spawn(async move {
            let mut calls = 0_u64;
            while Instant::now() < stop {
                call(&locks).await;
                calls += 1;
            }
            calls
        });
    }
    // what a process needs at its busiest it keeps
    timing::pass(time / 4).await;
    let start = memory::resident();
    let calls: u64 = callers.join_all().await.into_iter().sum();
    memory::assert_flat(start, memory::resident());
    assert!(calls > 1_000, "{calls}");
    no_tasks().await;
    tidy::gone_within(&server, timing::ticket_life() * 2).await;
    assert_eq!(clients(&raw), before);
    drop(managers);
    timing::until("the managers' connections end", timing::patience(), || {
        clients(&raw) == (0, 0)
    })
    .await;
    tidy::end(&server, "boleto:soak", timing::lease(), 0).await;
}
