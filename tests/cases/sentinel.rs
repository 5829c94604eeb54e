//! What goes wrong where a master has replicas, with and without sentinels.

use lockruntime::{BackendErrorKind, LockError};
use tests::topology::{MASTER, Sentinel, Topology};
use tests::{RedisServer, logs, timing};

const KEY: &str = "boleto:b62";

/// A plain server becomes a replica under its connections: calls say so, and don't storm it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b62_talking_to_a_read_only_replica() {
    let server = RedisServer::start();
    let (locks, raw) = (server.manager(), server.raw());
    let held = locks.lock("boleto:b62:held").acquire().await.unwrap();
    raw.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]);
    let error = locks.lock(KEY).try_acquire().await.map(drop).unwrap_err();
    let LockError::Backend { source, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(source.kind(), BackendErrorKind::ReadOnly);
    assert!(error.to_string().contains("read-only replica"), "{error}");
    let before = raw.calls("evalsha");
    timing::until("it is stopped", timing::lease() * 2, || !held.is_held()).await;
    let calls = raw.calls("evalsha") - before;
    assert!(calls <= 20, "{calls} in a lease");
    raw.run::<()>(&["REPLICAOF", "NO", "ONE"]);
    let guard = locks.lock(KEY).acquire().await.unwrap();
    guard.release().await.unwrap();
}

/// A master that has too few replicas says so, and is no replica; callers wait for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_few_replicas_are_told_as_that() {
    let server = RedisServer::start();
    let (locks, raw) = (server.manager(), server.raw());
    raw.run::<()>(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let error = locks.lock(KEY).try_acquire().await.map(drop).unwrap_err();
    let LockError::Backend { source, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(source.kind(), BackendErrorKind::NotReady);
    assert!(
        error.to_string().contains("min-replicas-to-write"),
        "{error}"
    );
    let asking = tokio::spawn({
        let locks = locks.clone();
        async move { locks.lock(KEY).acquire().await }
    });
    timing::pass(timing::moment()).await;
    raw.run::<()>(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    let guard = timing::soon("it enters", asking).await.unwrap().unwrap();
    guard.release().await.unwrap();
}

/// With sentinels the demoted server is left at once: the hold goes on under its token, and so do calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b62_demoted_under_sentinels() {
    let topology = Sentinel::start();
    let locks = topology.manager();
    let lease = timing::millis(5_000);
    let held = locks
        .lock("boleto:b62:held")
        .lease(lease)
        .acquire()
        .await
        .unwrap();
    let token = held.fencing_token();
    let old = topology.master();
    let raw = topology.servers().get(old).unwrap().raw();
    let before = raw.calls("evalsha");
    let sentinel = topology.sentinels.first().unwrap().raw();
    sentinel.run::<()>(&["SENTINEL", "FAILOVER", MASTER]);
    timing::until("another is the master", timing::patience(), || {
        topology.master() != old
    })
    .await;
    let guard = locks.lock(KEY).lease(lease).acquire().await.unwrap();
    guard.release().await.unwrap();
    timing::until_async("the new master has it", || async {
        let seen = locks.snapshot("boleto:b62:held").await;
        seen.is_ok_and(|seen| seen.held.is_some_and(|held| held.token == token))
    })
    .await;
    timing::pass(lease).await;
    assert!(held.is_held());
    held.release().await.unwrap();
    // it was disconnected when it was demoted: what it counted since is little
    let raw = tests::server::Raw::try_connect(&topology.servers().get(old).unwrap().address());
    let calls = raw.unwrap().calls("evalsha") - before;
    assert!(calls <= 100, "{calls} on the old master");
    assert_eq!(logs::panics(), Vec::<String>::new());
}
