//! Passwords of sentinels and servers, TLS, and users with exactly the documented rights.

use std::sync::Arc;

use lockruntime::{Finding, LockError, LockManager};
use tests::server::{Certificates, Folder, Settings, documented_rights, manager_builder};
use tests::timing;
use tests::topology::{Cluster, MASTER, Sentinel, Topology};
use tests::wire::{APP, ENVIRONMENT};

const KEY: &str = "boleto:rights";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_and_servers_have_passwords_of_their_own() {
    let rights = documented_rights(APP, ENVIRONMENT).join(" ");
    let data = Settings::default()
        .password("data")
        .line("masterauth data")
        .line(&format!("user locks on >word {rights} +role"));
    let watching = Settings::default()
        .password("watch")
        .line("user look on >look +sentinel +subscribe &+switch-master &+selected-slave")
        .line("sentinel sentinel-pass watch");
    let about = format!("auth-pass {MASTER} data");
    let topology = Sentinel::with(&data, &watching, &[&about])
        .as_user("locks:word@", "&sentinel_password=watch");
    let locks = topology.manager();
    let guard = locks.lock(KEY).acquire().await.unwrap();
    guard.release().await.unwrap();
    let health = locks.health().await.unwrap();
    let unchecked = |finding: &Finding| matches!(finding, Finding::Unchecked { .. });
    assert!(health.findings.iter().all(unchecked), "{health:?}");
    let url = topology.url_in(ENVIRONMENT);
    let own_user = url.replace("password=watch", "password=look&sentinel_user=look");
    let locks = manager_builder(&own_user).build().unwrap();
    let guard = locks.lock(KEY).acquire().await.unwrap();
    guard.release().await.unwrap();
    // a wrong one is an error that says which, and shows none
    for (right, wrong, names) in [
        (
            "sentinel_password=watch",
            "sentinel_password=secret",
            "sentinel_password",
        ),
        ("locks:word@", "locks:secret@", "refused user, password"),
    ] {
        let locks = manager_builder(&url.replace(right, wrong)).build().unwrap();
        let error = locks.lock(KEY).try_acquire().await.map(drop).unwrap_err();
        assert!(matches!(error, LockError::Permission { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(names) && !text.contains("secret"), "{text}");
    }
    let unknown = manager_builder(&url.replace(MASTER, "another"))
        .build()
        .unwrap();
    let error = unknown.lock(KEY).try_acquire().await.map(drop).unwrap_err();
    assert!(
        error.to_string().contains("no master of this name"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_has_users_and_says_what_is_missing() {
    let rights = documented_rights(APP, ENVIRONMENT).join(" ");
    let least = rights.replace(" +hset", "");
    let settings = Settings::default()
        .line(&format!(
            "user locks on >word {rights} +cluster|slots +asking"
        ))
        .line(&format!("user few on >word {least} +cluster|slots +asking"))
        .line(&format!(
            "user deaf on >word {} +cluster|slots",
            rights.replace(" +subscribe", "")
        ));
    let cluster = Cluster::with(&settings).as_user("locks:word@");
    let locks = cluster.manager();
    for number in 0..20 {
        let guard = locks
            .lock(&format!("{KEY}:{number}"))
            .acquire()
            .await
            .unwrap();
        guard.release().await.unwrap();
    }
    let health = locks.health().await.unwrap();
    assert!(health.is_sound(), "{health:?}");
    let cluster = cluster.as_user("few:word@");
    let locks = cluster.manager();
    let error = locks.lock(KEY).try_acquire().await.map(drop).unwrap_err();
    assert!(error.to_string().contains("+hset"), "{error}");
    let cluster = cluster.as_user("deaf:word@");
    let locks = cluster.manager();
    let guard = locks.lock(KEY).acquire().await.unwrap();
    guard.release().await.unwrap();
    timing::until_async("it is found", || async {
        let health = locks.health().await.unwrap();
        health
            .findings
            .iter()
            .any(|finding| matches!(finding, Finding::Polls { .. }))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_servers_and_clients_speak_tls() {
    let folder = Folder::new("tls");
    let certificates = Arc::new(Certificates::new(folder.path()));
    let ca = format!("&tls_ca={}", certificates.file("ca.pem"));
    let settings = Settings::default().tls_among(&certificates);
    let topology = Sentinel::with(&settings, &settings, &[]).as_user("", &ca);
    assert!(topology.place().starts_with("rediss+sentinel://"));
    lives_on(&topology.manager()).await;
    // another authority is trusted by nobody
    let distrusting = manager_builder(&topology.url_in(ENVIRONMENT).replace(&ca, ""));
    let error = distrusting.build().unwrap().lock(KEY).try_acquire().await;
    assert!(error.is_err());

    let cluster = Cluster::with(&settings.line("tls-cluster yes"));
    let url = format!("{}{ca}", cluster.url_in(ENVIRONMENT));
    assert!(url.starts_with("rediss+cluster://"));
    lives_on(&manager_builder(&url).build().unwrap()).await;
}

/// Locks on all servers are taken, renewed and given back.
async fn lives_on(locks: &LockManager) {
    let mut guards = Vec::new();
    for number in 0..12 {
        guards.push(
            locks
                .lock(&format!("{KEY}:{number}"))
                .acquire()
                .await
                .unwrap(),
        );
    }
    timing::pass(timing::lease() * 3 / 2).await;
    for guard in guards {
        assert!(guard.is_held());
        guard.release().await.unwrap();
    }
}
