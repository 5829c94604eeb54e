//! What a manager finds when it looks at its server, and that it warns of it at the start.

use std::net::TcpListener;

use lockruntime::{BackendErrorKind, Finding, LockError, LockManager};
use tests::masters::Masters;
use tests::server::{Port, Settings, lock_url, manager_builder};
use tests::{RedisServer, logs, timing};

/// The findings, and the warnings that were logged of this server.
async fn look(server: &RedisServer, locks: &LockManager) -> (Vec<Finding>, Vec<String>) {
    let health = timing::soon("an answer", locks.health()).await.unwrap();
    assert!(
        health
            .server
            .as_ref()
            .is_some_and(|name| name.starts_with("Redis ") || name.starts_with("Valkey ")),
        "{health:?}"
    );
    let warned = health.findings.iter().filter(|f| f.is_warning()).count();
    timing::until("the warnings are logged", timing::patience(), || {
        logs::warnings_about(&[&server.address()]).len() >= warned
    })
    .await;
    (health.findings, logs::warnings_about(&[&server.address()]))
}

#[tokio::test]
async fn nothing_is_wrong_with_a_plain_server() {
    let server = RedisServer::start();
    let (findings, warnings) = look(&server, &server.manager()).await;
    assert_eq!(findings, []);
    assert_eq!(warnings, Vec::<String>::new());
}

#[tokio::test]
async fn an_evicting_server_is_warned_of_once() {
    let settings = Settings::default()
        .line("maxmemory 64mb")
        .line("maxmemory-policy allkeys-lru");
    let server = RedisServer::with(settings);
    let locks = server.manager();
    let (findings, warnings) = look(&server, &locks).await;
    assert!(
        matches!(&findings[..], [Finding::Evicts { policy, .. }] if policy == "allkeys-lru"),
        "{findings:?}"
    );
    assert!(
        warnings.len() == 1
            && warnings[0].contains("allkeys-lru")
            && warnings[0].contains("noeviction"),
        "{warnings:?}"
    );
    // a reconnect finds nothing new, and says nothing again
    let raw = server.raw();
    raw.run::<()>(&["CLIENT", "KILL", "SKIPME", "yes"]);
    timing::soon("it connects again", async {
        while locks.health().await.is_err() {}
    })
    .await;
    assert_eq!(logs::warnings_about(&[&server.address()]).len(), 1);
    // what is set right is found right
    raw.run::<()>(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    assert!(locks.health().await.unwrap().is_sound());
}

#[tokio::test]
async fn a_replica_is_named_as_one() {
    let master = RedisServer::start();
    let port = master.address().rsplit(':').next().unwrap().to_owned();
    let replica =
        RedisServer::with(Settings::default().line(&format!("replicaof 127.0.0.1 {port}")));
    let locks = replica.manager();
    let (findings, warnings) = look(&replica, &locks).await;
    assert_eq!(findings, [Finding::Replica]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let error = locks
        .lock("boleto:replica")
        .try_acquire()
        .await
        .unwrap_err();
    let LockError::Backend { source, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(source.kind(), BackendErrorKind::ReadOnly, "{error}");
    assert!(error.to_string().contains("replica"), "{error}");
}

/// A manager whose server can't be reached has no health to tell of.
#[tokio::test]
async fn what_cannot_be_looked_at_is_an_error() {
    let port = Port::claim();
    let address = format!("127.0.0.1:{}", port.number());
    let locks = manager_builder(&lock_url("", &address)).build().unwrap();
    let error = locks.health().await.unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Unreachable, "{error}");
    // one that takes connections and says nothing
    let silent = TcpListener::bind(("127.0.0.1", port.number())).unwrap();
    let error = timing::soon("it gives up", locks.health())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Unreachable, "{error}");
    drop(silent);
}

/// What several masters have in common is found once; too few of them can't be looked at.
#[tokio::test]
async fn a_quorum_is_looked_at_master_by_master() {
    let evicting = "maxmemory 64mb\nmaxmemory-policy allkeys-lru";
    let settings = [evicting, evicting, ""].map(|line| Settings::default().line(line));
    let mut masters = Masters::with(settings);
    let locks = masters.manager();
    let health = timing::soon("an answer", locks.health()).await.unwrap();
    let evicts = |finding: &&Finding| matches!(finding, Finding::Evicts { .. });
    let found = health.findings.iter().filter(evicts).count();
    assert_eq!(found, 1, "{health:?}");
    masters.servers[0].kill();
    assert!(locks.health().await.is_ok());
    masters.servers[1].kill();
    let error = locks.health().await.unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::NoQuorum, "{error}");
}

/// What all masters say alike is the reason, not that there is no quorum.
#[tokio::test]
async fn a_wrong_password_on_a_quorum_is_named() {
    let settings = (0..3).map(|_| Settings::default().password("right"));
    let masters = Masters::with(settings).as_user(":wrong@");
    let refused = masters.manager().lock("boleto:1").try_acquire().await;
    let error = refused.unwrap_err();
    assert!(matches!(error, LockError::Permission { .. }), "{error:?}");
}
