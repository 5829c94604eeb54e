//! First in, first out; nobody barges in; no wake-up is lost for good.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tests::fault::Proxy;
use tests::{RedisServer, tidy, timing, wire};

use super::{long_lived, soon, until_waiting};

/// Ten callers of two managers enter in the order in which they queued.
///
/// Taken out, in `prelude.lua`: `ZRANGE', Q, 0, 0` in `head`, which takes the first in line; the last instead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_in_first_out() {
    let server = RedisServer::start();
    let managers = [long_lived(&server), long_lived(&server)];
    let key = "boleto:fifo";
    let guard = managers[0].lock(key).acquire().await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut callers = Vec::new();
    for caller in 0..10 {
        let (locks, order) = (managers[caller % 2].clone(), Arc::clone(&order));
        callers.push(tokio::spawn(async move {
            let body = async { order.lock().unwrap().push(caller) };
            locks.lock(key).run(body).await.unwrap();
        }));
        until_waiting(&managers[0], key, caller + 1).await;
    }
    guard.release().await.unwrap();
    for caller in callers {
        timing::soon("its turn comes", caller).await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..10).collect::<Vec<_>>());
    tidy::end(&server, key, timing::lease(), 0).await;
}

/// The holder's key is gone (its lease is over, an operator removed it) while one waits: a caller that tries in a tight loop is
/// refused until the waiter has had its turn.
///
/// Taken out, in `ask.lua`: `not first or first == me`, who may take a lock that is free while a queue exists.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_barges_in() {
    let server = RedisServer::start();
    let (locks, raw) = (long_lived(&server), server.raw());
    let tries = server.manager();
    let key = "boleto:barge";
    let held = locks.lock(key).acquire().await.unwrap();
    let waiter = {
        let locks = locks.clone();
        tokio::spawn(async move { locks.lock(key).acquire().await.unwrap() })
    };
    until_waiting(&locks, key, 1).await;
    raw.run::<()>(&["DEL", &wire::record(key)]);
    let start = Instant::now();
    while !waiter.is_finished() {
        let refused = tries.lock(key).try_acquire().await;
        assert!(refused.is_err_and(|error| error.is_busy()), "it barged in");
        assert!(start.elapsed() < timing::patience());
    }
    drop(held);
    waiter.await.unwrap().release().await.unwrap();
    tidy::end(&server, key, timing::lease(), 0).await;
}

/// Every announcement is lost: the next one enters a heartbeat later all the same.
///
/// Taken out, in `queue/waiter.rs`: `poll.min(soon)` in `placed`, when a waiter asks again by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wake_up_is_lost_for_good() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let (holder, deaf) = (long_lived(&server), server.manager_at(&proxy.address()));
    let key = "boleto:deaf";
    proxy.drop_messages();
    for _ in 0..3 {
        let guard = holder.lock(key).acquire().await.unwrap();
        let waiter = {
            let deaf = deaf.clone();
            tokio::spawn(async move { deaf.lock(key).acquire().await.unwrap() })
        };
        until_waiting(&holder, key, 1).await;
        guard.release().await.unwrap();
        let start = Instant::now();
        let guard = timing::soon("its turn comes", waiter).await.unwrap();
        let limit = timing::heartbeat() + soon();
        assert!(start.elapsed() < limit, "{:?}", start.elapsed());
        guard.release().await.unwrap();
    }
    tidy::end(&server, key, timing::lease(), 0).await;
}
