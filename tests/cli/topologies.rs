//! All verbs where several servers have the locks: a master of Sentinels, and a cluster, whole and with a hole.

use std::time::Duration;

use lockruntime::cli::{DONE, NO_ANSWER, UNWELL};
use lockruntime::{LockGuard, LockManager};
use tests::lockctl::lockctl;
use tests::topology::{Cluster, Sentinel, Topology};
use tests::wire::ENVIRONMENT;

/// Longer than anything here takes.
const LEASE: Duration = Duration::from_secs(60);

async fn hold(locks: &LockManager, key: &str) -> LockGuard {
    locks.lock(key).lease(LEASE).acquire().await.unwrap()
}

/// Lists, shows and takes away one lock.
fn act(url: &str, key: &str, owner: &str) {
    let listed = lockctl(url, &["ls"]);
    assert_eq!((listed.code, &*listed.complaints), (DONE, ""), "{listed:?}");
    assert!(listed.out.contains(owner), "{listed:?}");
    let shown = lockctl(url, &["show", key]);
    assert!(shown.out.contains(owner), "{shown:?}");
    let said = lockctl(url, &["release", key, "--owner", owner]);
    assert_eq!(said.code, DONE, "{said:?}");
}

#[tokio::test]
async fn the_master_of_sentinels_is_asked() {
    let sentinel = Sentinel::start();
    let url = sentinel.url_in(ENVIRONMENT);
    let guard = hold(&sentinel.manager(), "boleto:42").await;
    act(&url, "boleto:42", &guard.owner_token().to_string());
    let json = lockctl(&url, &["doctor", "--json"]).json();
    assert_eq!(json["servers"].as_array().unwrap().len(), 1, "{json}");
}

/// A master without an answer, and a slot on its way, leave gaps that are told; everything else is listed.
#[tokio::test]
async fn a_cluster_is_listed_as_far_as_it_answers() {
    let mut cluster = Cluster::start();
    let (locks, url) = (cluster.manager(), cluster.url_in(ENVIRONMENT));
    let mut guards = Vec::new();
    for number in 0..9 {
        guards.push(hold(&locks, &format!("boleto:{number}")).await);
    }
    act(&url, "boleto:0", &guards[0].owner_token().to_string());
    let json = lockctl(&url, &["doctor", "--json"]).json();
    assert_eq!(json["servers"].as_array().unwrap().len(), 3, "{json}");

    let slot = cluster.slot_of("boleto:1");
    let from = cluster.master_of("boleto:1");
    let mut seen = None;
    cluster.move_slot(slot, from, (from + 1) % 3, || {
        seen.get_or_insert_with(|| lockctl(&url, &["ls"]));
    });
    let said = seen.unwrap();
    assert_eq!(said.code, NO_ANSWER, "{said:?}");
    assert!(said.complaints.contains("on their way"), "{said:?}");
    assert!(said.out.ends_with("7 held, 0 waiting\n"), "{said:?}");

    let down = cluster.master_of("boleto:2");
    let keeps = |key: &String| cluster.master_of(key) != down;
    let keys = (1..9).map(|number| format!("boleto:{number}"));
    let left: Vec<_> = keys.filter(keeps).collect();
    let replica = cluster.replica_of(down).unwrap();
    cluster.server(replica).kill();
    let address = cluster.servers()[down].address();
    cluster.server(down).kill();
    let said = lockctl(&url, &["ls", "--json"]);
    assert_eq!(said.code, NO_ANSWER, "{said:?}");
    let json = said.json();
    let listed = json["locks"].as_array().unwrap().iter();
    let listed: Vec<_> = listed.map(|lock| lock["key"].as_str().unwrap()).collect();
    assert_eq!(listed, left);
    let gaps = json["gaps"].as_array().unwrap();
    assert!(gaps[0].as_str().unwrap().contains(&address), "{json}");
    let said = lockctl(&url, &["doctor"]);
    assert_eq!(said.code, UNWELL, "{said:?}");
    assert!(
        said.out
            .contains(&format!("bad  connection  Redis at {address}")),
        "{}",
        said.out
    );
}
