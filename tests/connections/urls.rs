//! Every part of a URL reaches the server, and no password reaches anybody else.

use std::error::Error;

use lockruntime::{LockError, LockManager};
use tests::server::{Port, Settings, lock_url, manager_builder};
use tests::wire::{APP, ENVIRONMENT};
use tests::{RedisServer, logs, tidy, timing, wire};

use super::{connections, contend, hand_over, prompt};

/// User, password with characters that URLs escape, and a database.
#[tokio::test(flavor = "multi_thread")]
async fn user_password_and_database() {
    let settings = Settings::default().line("user worker on >p@ss:w/rd? ~* &* +@all");
    let server = RedisServer::with(settings);
    let url = format!(
        "redis://worker:p%40ss%3Aw%2Frd%3F@{}/3?app={APP}&env={ENVIRONMENT}",
        server.address()
    );
    let locks = manager_builder(&url).build().unwrap();
    let guard = locks.lock("boleto:url").acquire().await.unwrap();
    let raw = server.raw();
    assert!(!raw.has(&wire::record("boleto:url")), "it is in database 0");
    raw.run::<()>(&["SELECT", "3"]);
    assert!(raw.has(&wire::record("boleto:url")));
    let clients: String = raw.run(&["CLIENT", "LIST"]);
    assert!(clients.contains("user=worker"), "{clients}");
    guard.release().await.unwrap();
    raw.run::<()>(&["SELECT", "0"]);
    tidy::end(&server, "boleto:url", timing::lease(), 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_a_socket() {
    let settings = Settings::default().line("user worker on >word ~* &* +@all");
    let server = RedisServer::with(settings);
    let names = format!("app={APP}&env={ENVIRONMENT}");
    let socket = server.socket();
    let plain = manager_builder(&format!("redis+unix://{socket}?{names}"))
        .build()
        .unwrap();
    let named = manager_builder(&format!(
        "redis+unix://{socket}?{names}&user=worker&pass=word&db=0&protocol=2"
    ))
    .build()
    .unwrap();
    contend([&plain, &named], "boleto:socket").await;
    let raw = server.raw();
    let clients: String = raw.run(&["CLIENT", "LIST"]);
    assert!(
        clients.contains(&socket) && clients.contains("user=worker"),
        "{clients}"
    );
    tidy::end(&server, "boleto:socket", timing::lease(), 0).await;
    // what is wrong with a socket is said as of an address
    drop(server);
    let error = plain.lock("boleto:socket").try_acquire().await.unwrap_err();
    assert!(matches!(error, LockError::Backend { .. }), "{error:?}");
    assert!(error.to_string().contains(&socket), "{error}");
}

/// RESP2 knows no pushes: a second connection hears of hand-overs, and they are as fast.
#[tokio::test(flavor = "multi_thread")]
async fn resp2_and_resp3_side_by_side() {
    let server = RedisServer::start();
    let raw = server.raw();
    let url = |protocol: u32| format!("{}&protocol={protocol}", server.url());
    let build = |protocol| {
        manager_builder(&url(protocol))
            .lease(timing::long_lease())
            .heartbeat(timing::millis(2_000))
            .grace(timing::millis(8_000))
            .build()
            .unwrap()
    };
    let before = connections(&raw);
    let old = build(2);
    assert!(old.health().await.unwrap().is_sound());
    assert_eq!(connections(&raw) - before, 2, "with RESP2");
    let new = build(3);
    assert!(new.health().await.unwrap().is_sound());
    assert_eq!(connections(&raw) - before, 3, "with RESP3 as well");
    let clients: String = raw.run(&["CLIENT", "LIST"]);
    for (words, count) in [(" resp=3", 1), (" sub=1", 2)] {
        // servers before 7.0 don't say what their clients speak
        if !clients.contains(" resp=") && words == " resp=3" {
            continue;
        }
        let seen = clients.lines().filter(|line| line.contains(words)).count();
        assert_eq!(seen, count, "{words} in {clients}");
    }
    for managers in [[&old, &old], [&old, &new], [&new, &old]] {
        let taken = hand_over(managers, "boleto:resp").await;
        assert!(taken < prompt(), "{taken:?}");
    }
    contend([&old, &new], "boleto:resp").await;
    assert_eq!(connections(&raw) - before, 3, "in the end");
    tidy::end(&server, "boleto:resp", timing::lease(), 0).await;
}

/// The second connection of RESP2 dies alone: both are replaced, and hand-overs are fast again.
#[tokio::test(flavor = "multi_thread")]
async fn the_second_connection_of_resp2_comes_back() {
    let server = RedisServer::start();
    let raw = server.raw();
    let url = format!("{}&protocol=2", server.url());
    let locks = manager_builder(&url)
        .lease(timing::long_lease())
        .heartbeat(timing::millis(2_000))
        .grace(timing::millis(8_000))
        .build()
        .unwrap();
    locks.health().await.unwrap();
    for _ in 0..3 {
        assert_eq!(raw.run::<u64>(&["CLIENT", "KILL", "TYPE", "pubsub"]), 1);
        timing::until("it subscribes again", timing::patience(), || {
            let clients: String = raw.run(&["CLIENT", "LIST", "TYPE", "pubsub"]);
            clients.contains("sub=1")
        })
        .await;
        let taken = hand_over([&locks, &locks], "boleto:second").await;
        assert!(taken < prompt(), "{taken:?}");
    }
    timing::until("the old ones are closed", timing::patience(), || {
        connections(&raw) == 2
    })
    .await;
    tidy::end(&server, "boleto:second", timing::lease(), 0).await;
}

/// The whole of an error, with all its causes.
fn told(error: &dyn Error) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(" {cause} {cause:?}");
        source = cause.source();
    }
    text
}

/// Wherever a manager with a password goes wrong, the password stays out of errors, logs and `Debug`.
#[tokio::test(flavor = "multi_thread")]
async fn passwords_stay_secret() {
    const SECRET: &str = "zqxsecretw";
    let server = RedisServer::with(Settings::default().password("another"));
    let port = Port::claim();
    let nowhere = format!("127.0.0.1:{}", port.number());
    let mut said = Vec::new();
    let names = format!("app={APP}&env={ENVIRONMENT}");
    let socket = server.socket();
    for url in [
        lock_url(&format!(":{SECRET}@"), &server.address()),
        lock_url(&format!("{SECRET}:{SECRET}@"), &server.address()),
        lock_url(&format!("u:{SECRET}@"), &nowhere),
        format!("redis+unix://{socket}?{names}&user=u&pass={SECRET}"),
        format!("redis+unix:///nowhere?{names}&user=u&pass={SECRET}"),
        format!("rediss://u:{SECRET}@{}?{names}", server.address()),
        format!("redis://u:{SECRET}@{}?{names}&protocol=2", server.address()),
    ] {
        logs::listen();
        let builder = LockManager::builder().url(&url);
        said.push(format!("{builder:?}"));
        let locks = match builder.build() {
            Ok(locks) => locks,
            Err(error) => {
                said.push(told(&error));
                continue;
            }
        };
        said.push(format!("{locks:?} {:?}", locks.lock("k")));
        said.push(told(&locks.lock("k").try_acquire().await.unwrap_err()));
        said.push(told(&locks.snapshot("k").await.unwrap_err()));
        said.push(told(&locks.health().await.unwrap_err()));
        said.push(format!("{locks:?}"));
    }
    for text in said.iter().chain(&logs::warnings_about(&[""])) {
        assert!(!text.contains(SECRET), "{text}");
    }
    assert!(said.len() > 30, "{}", said.len());
}
