//! What is left on the server, and how much of it a process takes.

use std::time::Duration;

use rand::RngExt;
use tests::process::{Door, Holder, Order, Setup};
use tests::register::Register;
use tests::server::{Raw, Settings, manager_builder};
use tests::{RedisServer, tidy, timing};
use tokio::task::JoinSet;

use super::HOLDER;

/// Processes die at random moments while they acquire, renew, queue and release: no key of ours is ever without expiry.
#[tokio::test]
async fn b25_key_without_expiry() {
    let (server, register) = (RedisServer::start(), Register::start());
    let raw = server.raw();
    // a renewal every 40 ms
    let setup = Setup::new(&server, &register).lease(timing::millis(120));
    let mut seen = 0;
    for _ in 0..timing::times(40, 500) {
        let mut holder = Holder::start(HOLDER, &setup);
        holder.tell(&Order::Pay {
            tasks: 12,
            payments: 1_000,
            boletos: 3,
            door: Door::Queue,
        });
        let micros = rand::rng().random_range(0..60_000);
        timing::pass(timing::micros(micros)).await;
        holder.process().kill();
        seen += all_expire(&raw);
    }
    assert!(seen > 40, "only {seen} keys were there to look at");
    tidy::end(&server, "boleto:b25", timing::lease(), 0).await;
}

/// How many keys of the locks there are. One that goes while we look is fine.
fn all_expire(raw: &Raw) -> usize {
    let keys = raw.keys("*");
    for key in &keys {
        assert!(key.starts_with("lib_"), "{key} isn't a lock's");
        // it panics when there is none
        let _left = raw.left(key);
    }
    keys.len()
}

/// What a server knows of its clients: connections, subscriptions, channels.
#[derive(Debug, PartialEq)]
struct Clients {
    connections: usize,
    subscribed: usize,
    channels: usize,
}

fn clients(raw: &Raw) -> Clients {
    let list: String = raw.run(&["CLIENT", "LIST"]);
    Clients {
        connections: list.lines().count(),
        subscribed: list.lines().filter(|line| !line.contains(" sub=0")).count(),
        channels: raw.run::<Vec<String>>(&["PUBSUB", "CHANNELS"]).len(),
    }
}

/// Contended rounds of which a third times out and a third is cancelled: channels, subscriptions and connections are in the end
/// what they were.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b49_subscription_leak() {
    const CALLERS: usize = 20;
    let server = RedisServer::start();
    let raw = server.raw();
    let managers = [server.manager(), server.manager()];
    for locks in &managers {
        assert!(locks.health().await.unwrap().is_sound());
    }
    let before = clients(&raw);
    assert_eq!((before.subscribed, before.channels), (2, 2), "{before:?}");
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let locks = managers[caller % 2].clone();
        callers.spawn(async move {
            for round in 0..timing::times(600, 10_000) / CALLERS {
                let lock = locks.lock("boleto:b49");
                let body = timing::pass(timing::micros(200));
                match (caller + round) % 10 {
                    0..3 => drop(lock.wait(timing::millis(3)).run(body).await),
                    3..6 => {
                        let given_up = timing::millis(u64::try_from(round % 7).unwrap());
                        drop(tokio::time::timeout(given_up, lock.run(body)).await);
                    }
                    _ => lock.run(body).await.unwrap(),
                }
            }
        });
    }
    timing::soon("all rounds are over", callers.join_all()).await;
    tidy::gone_within(&server, timing::ticket_life() * 2).await;
    assert_eq!(clients(&raw), before);
    tidy::end(&server, "boleto:b49", timing::lease(), 0).await;
}

/// Thousands of waiters of one process, each on a key of its own, and a server that lets few connections in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b50_too_many_connections_or_subscriptions() {
    let waiters = timing::times(1_000, 5_000);
    let server = RedisServer::with(Settings::default().line("maxclients 50"));
    let raw = server.raw();
    let build = || {
        manager_builder(&server.url())
            .lease(timing::long_lease())
            .heartbeat(Duration::from_secs(2))
            .grace(timing::millis(10_000))
            .build()
            .unwrap()
    };
    let (holder, waiter) = (build(), build());
    let mut guards = Vec::new();
    for number in 0..waiters {
        let key = format!("boleto:b50-{number}");
        guards.push(holder.lock(&key).acquire().await.unwrap());
    }
    let mut waiting = JoinSet::new();
    for number in 0..waiters {
        let waiter = waiter.clone();
        waiting.spawn(async move {
            let key = format!("boleto:b50-{number}");
            waiter.lock(&key).run(async {}).await.unwrap();
        });
    }
    timing::until("all of them queue", timing::patience(), || {
        raw.keys("lib_mutex_queue:*:w").len() == waiters
    })
    .await;
    // one for each manager, whatever waits; and ours
    let seen = clients(&raw);
    assert_eq!((seen.connections, seen.subscribed), (3, 2), "{seen:?}");
    for guard in guards {
        guard.release().await.unwrap();
    }
    timing::soon("all had their turn", waiting.join_all()).await;
    assert_eq!(clients(&raw), seen);
    tidy::end(&server, "boleto:b50", timing::lease(), 0).await;
}
