//! Managers over the application's own client, and several in one process.

use lockruntime::{LockError, LockManager, distributed_lock};
use tests::server::{Settings, manager_builder};
use tests::wire::{APP, ENVIRONMENT};
use tests::{RedisServer, logs, tidy, timing, wire};

use super::{connections, contend};

fn over(client: &redis::Client) -> LockManager {
    logs::listen();
    LockManager::builder()
        .client(client)
        .app(APP)
        .environment(ENVIRONMENT)
        .lease(timing::lease())
        .heartbeat(timing::heartbeat())
        .grace(timing::grace())
        .build()
        .unwrap()
}

/// User, database and protocol are the client's; its connections stay its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_taken_as_it_is() {
    let settings = Settings::default().line("user worker on >word ~* &* +@all");
    let server = RedisServer::with(settings);
    let raw = server.raw();
    let client =
        redis::Client::open(format!("redis://worker:word@{}/2", server.address())).unwrap();
    let locks = over(&client);
    assert!(locks.health().await.unwrap().is_sound());
    // the client library speaks RESP2 unless told otherwise: one connection, and one that hears
    assert_eq!(connections(&raw), 2);
    let resp3 = redis::Client::open(format!(
        "redis://worker:word@{}/2?protocol=resp3",
        server.address()
    ))
    .unwrap();
    let other = over(&resp3);
    contend([&locks, &other], "boleto:client").await;
    assert_eq!(connections(&raw), 3);
    let guard = locks.lock("boleto:client").acquire().await.unwrap();
    raw.run::<()>(&["SELECT", "2"]);
    assert!(raw.has(&wire::record("boleto:client")));
    guard.release().await.unwrap();
    // the client goes on as if nothing had been
    let mut own = client.get_multiplexed_async_connection().await.unwrap();
    let pong: String = redis::cmd("PING").query_async(&mut own).await.unwrap();
    assert_eq!(pong, "PONG");
    raw.run::<()>(&["SELECT", "0"]);
    tidy::end(&server, "boleto:client", timing::lease(), 0).await;
}

#[distributed_lock(key = "boleto:<id>", mode = "reject")]
async fn whose(id: &str) -> Result<u64, LockError> {
    Ok(lockruntime::current().map_or(0, |hold| hold.fencing_token().get()))
}

/// Managers of two servers in one process: each call finds its own by task, and they don't exclude each other.
#[tokio::test(flavor = "multi_thread")]
async fn several_managers_in_one_process() {
    let servers = [RedisServer::start(), RedisServer::start()];
    let [orders, payments] = servers.each_ref().map(RedisServer::manager);
    let held = orders.lock("boleto:shared").acquire().await.unwrap();
    let busy = orders.scope(whose("shared")).await.unwrap_err();
    assert!(busy.is_busy(), "{busy}");
    let token = payments.scope(whose("shared")).await.unwrap();
    let raw = servers[1].raw();
    let counter: u64 = raw.run(&["GET", &format!("{}:n", wire::queue("boleto:shared"))]);
    assert_eq!(token, counter, "the other server gave it");
    // the innermost scope counts, and ends with its future
    let inner = orders.scope(async {
        let inner = payments.scope(whose("shared")).await;
        (inner, whose("shared").await)
    });
    let (inner, outer) = inner.await;
    assert!(inner.is_ok() && outer.is_err());
    // a task that is spawned inside is outside of it, and nothing is installed here
    let spawned = payments
        .scope(async { tokio::spawn(whose("shared")).await.unwrap() })
        .await;
    assert!(
        matches!(spawned, Err(LockError::NotConfigured { .. })),
        "{spawned:?}"
    );
    held.release().await.unwrap();
    for server in &servers {
        tidy::end(server, "boleto:shared", timing::lease(), 0).await;
    }
}

/// Two managers of one server exclude each other as two processes do, also where one call runs inside the other's body.
#[tokio::test(flavor = "multi_thread")]
async fn two_managers_of_one_server_are_rivals() {
    let server = RedisServer::start();
    let [one, two] = [(), ()].map(|()| manager_builder(&server.url()).build().unwrap());
    let nested = one
        .lock("boleto:rivals")
        .run(two.lock("boleto:rivals").try_acquire())
        .await
        .unwrap();
    assert!(nested.is_err_and(|error| error.is_busy()));
    contend([&one, &two], "boleto:rivals").await;
    tidy::end(&server, "boleto:rivals", timing::lease(), 0).await;
}
