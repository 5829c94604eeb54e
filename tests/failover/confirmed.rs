//! A grant that the replicas don't have is lost with its master; with `confirm_replicas` there is none.

use std::time::Instant;

use lockruntime::LockError;
use tests::server::{Raw, manager_builder};
use tests::topology::{Cluster, Sentinel, Topology};
use tests::{logs, timing, wire};

use super::lease;
use super::load::say;

const KEY: &str = "boleto:b63";

/// The replicas have another master, which is none, until the sentinels put that right after seconds.
fn cut_replicas(topology: &Sentinel, master: usize) {
    for (place, server) in topology.servers().iter().enumerate() {
        if place != master {
            server.raw().run::<()>(&["REPLICAOF", "127.0.0.1", "1"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b63_lock_lost_in_failover() {
    let mut topology = Sentinel::start();
    let (one, two) = (topology.manager(), topology.manager());
    let master = topology.master();
    // connections stand
    let warm = two.lock("boleto:warm").acquire().await.unwrap();
    warm.release().await.unwrap();
    cut_replicas(&topology, master);
    let first = one.lock(KEY).lease(lease()).acquire().await.unwrap();
    let token = first.fencing_token();
    topology.server(master).kill();
    let killed = Instant::now();
    let asking = two.lock(KEY).lease(lease()).acquire();
    let second = timing::soon("the other one enters", asking).await.unwrap();
    assert!(second.fencing_token() > token);
    // not a third of its lease later, which is 3 s: at once when its process finds the new master
    timing::until("the first is stopped", timing::millis(600), || {
        !first.is_held()
    })
    .await;
    say(&format!(
        "lost in a failover, and told after {:?}",
        killed.elapsed()
    ));
    second.release().await.unwrap();
    assert_eq!(logs::panics(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b63_a_grant_that_no_replica_has_is_undone() {
    let topology = Sentinel::start();
    let locks = topology.builder().confirm_replicas(1).build().unwrap();
    let master = topology.master();
    let raw = topology.servers().get(master).unwrap().raw();
    let guard = locks.lock(KEY).acquire().await.unwrap();
    timing::pass(timing::lease() * 3 / 2).await;
    assert!(guard.is_held(), "renewals are confirmed");
    // handed over to another caller, who has it confirmed too
    let waiting = tokio::spawn({
        let locks = locks.clone();
        async move { locks.lock(KEY).acquire().await }
    });
    timing::until("it waits", timing::patience(), || {
        raw.has(&wire::queue(KEY))
    })
    .await;
    guard.release().await.unwrap();
    let guard = timing::soon("it enters", waiting).await.unwrap().unwrap();
    guard.release().await.unwrap();
    cut_replicas(&topology, master);
    for mode in ["queue", "reject"] {
        let request = locks.lock(KEY);
        let outcome = match mode {
            "queue" => request.acquire().await,
            _ => request.try_acquire().await,
        };
        let error = outcome.map(drop).unwrap_err();
        assert!(
            matches!(error, LockError::NotReplicated { .. }),
            "{error:?}"
        );
        assert!(error.is_retryable());
        let record = wire::record(KEY);
        timing::until("no key is left", timing::moment() * 5, || !raw.has(&record)).await;
    }
    timing::until("the replicas are back", timing::patience() * 2, || {
        raw.run::<String>(&["INFO", "replication"])
            .contains("state=online")
    })
    .await;
    let guard = locks.lock(KEY).acquire().await.unwrap();
    guard.release().await.unwrap();
}

/// What frozen replicas had before doesn't count. The renewal that confirms a grant often falls into its millisecond.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b63_frozen_replicas_confirm_nothing() {
    let mut topology = Sentinel::start();
    let locks = topology.builder().confirm_replicas(1).build().unwrap();
    let guard = locks.lock(KEY).acquire().await.unwrap();
    guard.release().await.unwrap();
    let master = topology.master();
    for place in (0..3).filter(|place| *place != master) {
        topology.server(place).pause();
    }
    for number in 0..5 {
        let key = format!("{KEY}:{number}");
        let error = locks.lock(&key).try_acquire().await.map(drop).unwrap_err();
        assert!(
            matches!(error, LockError::NotReplicated { .. }),
            "{error:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_confirms_each_lock_with_its_own_replicas() {
    let mut cluster = Cluster::start();
    let url = format!("{}&confirm_replicas=1", cluster.url_in(wire::ENVIRONMENT));
    let locks = manager_builder(&url).build().unwrap();
    let guard = locks.lock(KEY).acquire().await.unwrap();
    guard.release().await.unwrap();
    let master = cluster.master_of(KEY);
    let replica = cluster.replica_of(master).unwrap();
    cluster.server(replica).kill();
    let error = locks.lock(KEY).try_acquire().await.map(drop).unwrap_err();
    assert!(
        matches!(error, LockError::NotReplicated { .. }),
        "{error:?}"
    );
    // another master has its replica
    let other = (0..)
        .map(|number| format!("boleto:{number}"))
        .find(|key| cluster.master_of(key) != master)
        .unwrap();
    let guard = locks.lock(&other).acquire().await.unwrap();
    guard.release().await.unwrap();
    let raw: Raw = cluster.servers().get(master).unwrap().raw();
    let record = wire::record(KEY);
    timing::until("no key is left", timing::moment() * 5, || !raw.has(&record)).await;
}
