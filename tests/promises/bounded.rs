//! Waiting ends at its limit; nothing that is no longer in use takes room.

use std::time::Instant;

use tests::server::Raw;
use tests::{RedisServer, tidy, timing};
use tokio::task::JoinSet;

use super::{long_lived, soon, until_waiting};

/// The wait ends at its limit, not before and hardly later.
///
/// Taken out, in `queue/waiter.rs`: `self.wait.map` in `limit`.
#[tokio::test]
async fn waits_end_at_their_limit() {
    let server = RedisServer::start();
    let locks = long_lived(&server);
    let key = "boleto:limit";
    let guard = locks.lock(key).acquire().await.unwrap();
    let limit = timing::millis(300);
    let start = Instant::now();
    let wait = locks.lock(key).wait(limit).acquire();
    let error = timing::soon("the wait ends", wait).await.unwrap_err();
    assert!(error.is_busy(), "{error}");
    let taken = start.elapsed();
    assert!(taken >= limit && taken < limit + soon(), "{taken:?}");
    guard.release().await.unwrap();
    tidy::end(&server, key, timing::lease(), 0).await;
}

fn connections(raw: &Raw) -> usize {
    let list: String = raw.run(&["CLIENT", "LIST"]);
    list.lines().count() - 1
}

/// Locks taken, refused, waited for, cancelled: once nobody has the manager any more its thread has nothing left to do, and ends
/// with its connection. It would go on for the sake of a single entry of its map.
///
/// Taken out, in `watchdog/keeper.rs`: `self.attempts.remove` in `after`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_over_is_forgotten() {
    let server = RedisServer::start();
    let raw = server.raw();
    let locks = long_lived(&server);
    let mut calls = JoinSet::new();
    for number in 0..200_u64 {
        let locks = locks.clone();
        calls.spawn(async move {
            let key = format!("boleto:forgotten-{}", number % 20);
            let lock = locks.lock(&key);
            match number % 4 {
                0 => drop(lock.try_acquire().await),
                1 => drop(lock.wait(timing::millis(2)).acquire().await),
                2 => {
                    let cancelled = lock.run(timing::pass(timing::tick()));
                    drop(tokio::time::timeout(timing::millis(number % 8), cancelled).await);
                }
                _ => lock.run(timing::pass(timing::micros(100))).await.unwrap(),
            }
        });
    }
    timing::soon("all calls return", calls.join_all()).await;
    assert_eq!(connections(&raw), 1);
    drop(locks);
    timing::until("the manager's connection ends", timing::patience(), || {
        connections(&raw) == 0
    })
    .await;
    tidy::end(&server, "boleto:forgotten", timing::lease(), 0).await;
}

/// However many wait on however many keys, a manager has one connection with one subscription.
///
/// Taken out, in `backend/redis/connect/standalone.rs`: `while_ill`, which keeps a connection until it is ill.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connection_for_all() {
    let server = RedisServer::start();
    let raw = server.raw();
    let (holder, locks) = (long_lived(&server), long_lived(&server));
    let mut guards = Vec::new();
    let mut waiting = JoinSet::new();
    for number in 0..100 {
        let key = format!("boleto:many-{number}");
        guards.push(holder.lock(&key).acquire().await.unwrap());
        let locks = locks.clone();
        waiting.spawn(async move { locks.lock(&key).run(async {}).await.unwrap() });
    }
    until_waiting(&locks, "boleto:many-99", 1).await;
    assert_eq!(connections(&raw), 2);
    assert_eq!(raw.run::<Vec<String>>(&["PUBSUB", "CHANNELS"]).len(), 2);
    for guard in guards {
        guard.release().await.unwrap();
    }
    timing::soon("all had their turn", waiting.join_all()).await;
    assert_eq!(connections(&raw), 2);
    tidy::end(&server, "boleto:many", timing::lease(), 0).await;
}
