//! What goes wrong in a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use lockruntime::{LockGuard, LockManager};
use tests::server::{Monitor, Raw, Seen, manager_builder};
use tests::topology::{Cluster, Network, Topology};
use tests::wire::ENVIRONMENT;
use tests::{RedisServer, tidy, timing, wire};
use tokio::task::JoinSet;

/// The end of a test in a cluster of its own.
async fn end(cluster: &Cluster, id: &str, warnings: usize) {
    let (masters, lease) = (cluster.masters(), timing::lease());
    tidy::end_of_environment(&masters, ENVIRONMENT, &[id], lease, warnings).await;
}

/// One master of three is out of reach for two leases: the locks of the others are kept, its own are stopped before they end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b09_one_bad_node_starves_all_renewals() {
    let count = timing::times(60, 300);
    let lease = timing::millis(1_500);
    let cluster = Cluster::start();
    let network = Network::to_cluster(&cluster);
    let locks = manager_builder(&network.url()).build().unwrap();
    let blocked = cluster.master_of("boleto:b09");
    let mut guards: Vec<(LockGuard, bool)> = Vec::new();
    for number in 0..count {
        let key = format!("boleto:b09:{number}");
        let guard = locks.lock(&key).lease(lease).acquire().await.unwrap();
        guards.push((guard, cluster.master_of(&key) == blocked));
    }
    let theirs = guards.iter().filter(|(_, theirs)| *theirs).count();
    assert!(theirs > 0 && theirs < count);
    network.proxies.get(blocked).unwrap().black_hole();
    let start = Instant::now();
    while start.elapsed() < lease * 2 {
        for (guard, theirs) in &guards {
            assert!(
                *theirs || guard.is_held(),
                "starved after {:?}",
                start.elapsed()
            );
            assert!(!theirs || start.elapsed() < lease || !guard.is_held());
        }
        timing::pass(timing::tick()).await;
    }
    network.proxies.get(blocked).unwrap().heal();
    for (guard, theirs) in guards {
        assert_eq!(guard.is_held(), !theirs);
        if !theirs {
            guard.release().await.unwrap();
        }
    }
    let again = locks.lock("boleto:b09").acquire();
    let again = timing::soon("it is back", again).await.unwrap();
    again.release().await.unwrap();
    timing::soon("it shuts down", locks.shutdown(timing::patience())).await;
    end(&cluster, "boleto:b09", theirs).await;
}

fn odd_names() -> Vec<String> {
    let mut names: Vec<_> = [
        "{",
        "}",
        "{}",
        "{a}b",
        "}{",
        "a{b}c{d}",
        "a\nb",
        "a\0b",
        "\u{1f512}",
        "\u{5de}\u{5e4}\u{5ea}\u{5d7}",
    ]
    .map(|name| format!("boleto:b29:{name}"))
    .into();
    names.push(format!("boleto:b29:{}", " ".repeat(1_024)));
    names
}

/// Takes a lock, renews it, hands it on to three in line, and looks at it.
async fn whole_life(locks: LockManager, key: String) {
    let lease = timing::short_lease();
    let guard = locks.lock(&key).lease(lease).acquire().await.unwrap();
    let seen = locks.snapshot(&key).await.unwrap().held.unwrap();
    assert_eq!(seen.token, guard.fencing_token());
    timing::pass(lease * 3 / 2).await;
    assert!(guard.is_held(), "{key:?}");
    let mut waiters = JoinSet::new();
    for number in 1..=3 {
        waiters.spawn({
            let (locks, key) = (locks.clone(), key.clone());
            async move {
                let guard = locks.lock(&key).acquire().await.unwrap();
                guard.release().await.unwrap();
            }
        });
        let (locks, key) = (&locks, &key);
        timing::until_async("it waits", || async move {
            locks.snapshot(key).await.unwrap().waiting.len() == number
        })
        .await;
    }
    guard.release().await.unwrap();
    timing::soon("all had their turn", waiters.join_all()).await;
    let refused = locks.lock(&key).try_acquire().await.unwrap();
    refused.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b29_braces_control_or_odd_characters() {
    let cluster = Cluster::start();
    let locks = cluster.manager();
    let mut lives = JoinSet::new();
    for name in odd_names() {
        lives.spawn(whole_life(locks.clone(), name));
    }
    timing::soon("all lived", lives.join_all()).await;
    let masters = cluster.masters();
    for name in odd_names() {
        let guard = locks.lock(&name).acquire().await.unwrap();
        let key = wire::record(guard.key().as_str());
        // another slot is another server's
        let get = |raw: &Raw| raw.attempt::<String>(&["GET", &key]).ok();
        let record = masters.iter().find_map(get).unwrap();
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert_eq!(record["key"], key.as_str());
        guard.release().await.unwrap();
    }
    end(&cluster, "boleto:b29", 0).await;
}

/// The keys that a call of a script declares.
fn declared(seen: &Seen) -> Option<Vec<&str>> {
    if seen.by_script || !["eval", "evalsha"].contains(&seen.name()) {
        return None;
    }
    let count: usize = seen.words.get(2)?.parse().ok()?;
    let keys = seen.words.get(3..3 + count)?;
    Some(keys.iter().map(String::as_str).collect())
}

/// Whatever is done to locks: all keys of a call are in one slot, and no script touches a key that its call didn't declare.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b33_crossslot() {
    let cluster = Cluster::start();
    let masters: Vec<&RedisServer> = cluster.servers().iter().take(3).collect();
    let monitors: Vec<Monitor> = masters.iter().map(|master| master.monitor()).collect();
    let marks: Vec<_> = monitors.iter().map(Monitor::mark).collect();
    let locks = cluster.manager();
    let mut lives = JoinSet::new();
    for number in 0..6 {
        lives.spawn(whole_life(locks.clone(), format!("boleto:b33:{number}")));
    }
    timing::soon("all lived", lives.join_all()).await;
    let waits = locks.lock("boleto:b33").acquire().await.unwrap();
    let late = locks.lock("boleto:b33").wait(timing::millis(200)).acquire();
    late.await.map(drop).unwrap_err();
    waits.release().await.unwrap();
    let raw = masters.first().unwrap().raw();
    let mut calls = 0;
    for (monitor, mark) in monitors.iter().zip(marks) {
        let mut keys: Vec<String> = Vec::new();
        for seen in monitor.since(mark) {
            if let Some(declares) = declared(&seen) {
                let slots: BTreeSet<u16> = declares
                    .iter()
                    .map(|key| raw.run(&["CLUSTER", "KEYSLOT", key]))
                    .collect();
                assert_eq!(slots.len(), 1, "{seen:?}");
                keys = declares.iter().map(|key| (*key).to_owned()).collect();
                calls += 1;
            } else if seen.by_script && seen.name() != "publish" {
                for word in seen.words.iter().skip(1) {
                    let is_key = ["lib_lock:", "lib_mutex_queue:"]
                        .iter()
                        .any(|prefix| word.starts_with(prefix));
                    assert!(!is_key || keys.contains(word), "{seen:?} of {keys:?}");
                }
            }
        }
    }
    assert!(calls > 60, "only {calls}");
    end(&cluster, "boleto:b33", 0).await;
}

/// No script makes up a key, on whatever topology it runs: what a command touches is one of `KEYS`.
#[test]
fn b106_undeclared_keys_in_scripts() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../lockruntime/src/backend/redis/scripts"
    );
    let mut folders = vec![std::path::PathBuf::from(folder)];
    let (mut scripts, mut calls) = (0, 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            scripts += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            let code: Vec<_> = text
                .lines()
                .map(|line| line.split("--").next().unwrap())
                .collect();
            let code = code.join("\n");
            assert!(!code.contains("lib_"), "{path:?} knows a key's name");
            for call in code.split("call('").skip(1) {
                let (command, rest) = call.split_once('\'').unwrap();
                let touched = rest.trim_start_matches(',').trim_start();
                let touched: String = touched
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || "[]_".contains(*c))
                    .collect();
                if !["TIME", "PUBLISH"].contains(&command) {
                    calls += 1;
                    assert!(
                        touched.len() == 1 || touched.starts_with("KEYS[") || touched == "key",
                        "{path:?}: {command} {touched}"
                    );
                }
            }
        }
    }
    assert!(
        scripts > 10 && calls > 40,
        "{scripts} scripts, {calls} calls"
    );
}

/// Each master is replaced in turn while the map of the slots can't be had for two seconds: calls go round no more than they must.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b66_redirect_storm() {
    let (holders, waiters) = (timing::times(10, 50), timing::times(20, 100));
    let cluster = Cluster::start();
    let network = Network::to_cluster(&cluster);
    let locks = manager_builder(&network.url()).build().unwrap();
    let lease = timing::millis(6_000);
    let mut guards = BTreeMap::new();
    for number in 0..holders {
        let key = format!("boleto:b66:{number}");
        let guard = locks.lock(&key).lease(lease).acquire().await.unwrap();
        guards.insert(key, guard);
    }
    let keys: Vec<_> = guards.keys().cloned().collect();
    let mut waiting = JoinSet::new();
    for key in keys.iter().cycle().take(waiters) {
        let (locks, key) = (locks.clone(), key.clone());
        waiting.spawn(async move {
            let guard = locks.lock(&key).lease(lease).acquire().await.unwrap();
            guard.release().await.unwrap();
        });
    }
    let processed = |cluster: &Cluster| -> u64 {
        let evals = ["evalsha", "eval"].map(|name| {
            let servers = cluster.servers().iter();
            servers.map(|server| server.raw().calls(name)).sum::<u64>()
        });
        evals.iter().sum()
    };
    let second = timing::millis(1_000);
    timing::pass(second).await;
    let before = processed(&cluster);
    timing::pass(second * 2).await;
    let normal = processed(&cluster) - before;
    for master in 0..3 {
        let traps = network.proxies.iter();
        let traps: Vec<_> = traps
            .map(|proxy| proxy.swallow_requests(|request| request.is("CLUSTER")))
            .collect();
        let before = processed(&cluster);
        let replica = cluster.replica_of(master).unwrap();
        let raw = cluster.servers().get(replica).unwrap().raw();
        raw.run::<()>(&["CLUSTER", "FAILOVER"]);
        timing::pass(second * 2).await;
        let during = processed(&cluster) - before;
        assert!(during <= normal * 3, "{during} commands, normally {normal}");
        drop(traps);
        network.proxies.iter().for_each(tests::fault::Proxy::heal);
    }
    for (key, guard) in guards {
        assert!(guard.is_held(), "{key}");
        guard.release().await.unwrap();
    }
    timing::soon("all had their turn", waiting.join_all()).await;
    timing::soon("it shuts down", locks.shutdown(timing::patience())).await;
    end(&cluster, "boleto:b66", 0).await;
}

/// Hand-overs are announced from one server to the listener on another, and to a new one when that is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wake_ups_survive_the_server_that_is_listened_to() {
    let cluster = Cluster::start();
    let network = Network::to_cluster(&cluster);
    let slow = Duration::from_secs(5);
    let manager = |url: &str| {
        manager_builder(url)
            .heartbeat(slow)
            .grace(slow * 4)
            .build()
            .unwrap()
    };
    let (locks, rival) = (
        manager(&network.url()),
        manager(&cluster.url_in(ENVIRONMENT)),
    );
    let lease = timing::long_lease();
    let woken = async |key: &str| {
        let guard = rival.lock(key).lease(lease).acquire().await.unwrap();
        let waiter = tokio::spawn({
            let (locks, key) = (locks.clone(), key.to_owned());
            async move { locks.lock(&key).lease(lease).acquire().await.unwrap() }
        });
        timing::until_async("it waits", || async {
            rival.snapshot(key).await.unwrap().waiting.len() == 1
        })
        .await;
        let start = Instant::now();
        guard.release().await.unwrap();
        let guard = timing::soon("it is woken", waiter).await.unwrap();
        let took = start.elapsed();
        guard.release().await.unwrap();
        took
    };
    let took = woken("boleto:wake:1").await;
    assert!(took < timing::moment(), "{took:?}");
    // whichever it listens to, it has to find another one
    for proxy in &network.proxies {
        proxy.cut(tests::fault::Close::Reset);
    }
    timing::pass(timing::millis(700)).await;
    let took = woken("boleto:wake:2").await;
    assert!(took < timing::moment(), "{took:?}");
    end(&cluster, "boleto:wake", 0).await;
}
