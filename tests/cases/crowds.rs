//! Very many keys.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use rand::RngExt;
use tests::server::{Raw, Settings};
use tests::{RedisServer, tidy, timing, wire};
use tokio::task::JoinSet;

const CROWD: &str = env!("CARGO_BIN_EXE_crowd");

/// Very many keys, 64 at a time, half of them nested in another: no key waits for another one, each is gone with its release, and
/// nothing deadlocks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b35_different_keys_share_a_local_lock() {
    let pairs = if timing::is_long() { 33_333 } else { 3_000 };
    let server = RedisServer::with(Settings::default().line("notify-keyspace-events Kz"));
    let manager = server.manager();
    // whoever has to wait stands in a queue, and the server tells of each that is joined
    let queued = Queued::follow(&server, "boleto:b35");
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..64 {
        let (manager, next, raw) = (manager.clone(), Arc::clone(&next), server.raw());
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::SeqCst);
                if number >= pairs {
                    return;
                }
                let keys =
                    ["alone", "outer", "inner"].map(|name| format!("boleto:b35-{name}-{number}"));
                let [alone, outer, inner] = &keys;
                let body = || timing::pass(timing::micros(rand::rng().random_range(1_000..20_000)));
                manager.lock(alone).run(body()).await.unwrap();
                let nested = async {
                    manager.lock(inner).run(body()).await.unwrap();
                    assert!(!raw.has(&wire::record(inner)));
                };
                manager.lock(outer).run(nested).await.unwrap();
                for key in [alone, outer] {
                    assert!(!raw.has(&wire::record(key)), "{key} is left");
                }
            }
        });
    }
    let limit = timing::patience() * 10;
    let ended = tokio::time::timeout(limit, tasks.join_all()).await;
    assert!(ended.is_ok(), "not within {limit:?}: a deadlock");
    assert_eq!(queued.end(), Vec::<String>::new(), "they waited");
    tidy::end(&server, "boleto:b35", timing::lease(), 0).await;
}

/// Follows which queues are joined.
struct Queued {
    raw: Raw,
    end: String,
    follower: JoinHandle<Vec<String>>,
}

impl Queued {
    fn follow(server: &RedisServer, key: &str) -> Self {
        let client = redis::Client::open(format!("redis://{}", server.address())).unwrap();
        let mut connection = client.get_connection().unwrap();
        let (pattern, end) = (
            format!("__keyspace@0__:*{key}*"),
            format!("__keyspace@0__:{key}:end"),
        );
        let (ready, listens) = std::sync::mpsc::channel();
        let follower = std::thread::spawn({
            let end = end.clone();
            move || {
                let mut events = connection.as_pubsub();
                events.psubscribe(pattern).unwrap();
                ready.send(()).unwrap();
                let mut joined = Vec::new();
                loop {
                    let event = events.get_message().unwrap();
                    if event.get_channel_name() == end {
                        return joined;
                    }
                    if event.get_payload::<String>().unwrap() == "zadd" {
                        joined.push(event.get_channel_name().to_owned());
                    }
                }
            }
        });
        listens.recv().unwrap();
        let raw = server.raw();
        Self { raw, end, follower }
    }

    fn end(self) -> Vec<String> {
        self.raw.run::<()>(&["PUBLISH", &self.end, "end"]);
        self.follower.join().unwrap()
    }
}

/// Keys that are used once leave nothing in the process: its memory is what it was after the first quarter of them.
#[tokio::test]
async fn b95_memory_per_key() {
    let keys = if timing::is_long() { 1_000_000 } else { 20_000 };
    let server = RedisServer::start();
    let mut command = Command::new(CROWD);
    command.args([&server.url(), &format!("redis://{}", server.address())]);
    command.arg(keys.to_string());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let [before, after] = ["before", "after"].map(|name| said[name].as_u64().unwrap());
    assert!(
        after <= before + before / 20,
        "{before} KiB after a quarter of {keys} keys, {after} KiB after all"
    );
    // only the counters stay, for their hour
    assert!(tidy::left_behind(&server.raw()).is_empty());
    tidy::end(&server, "boleto:b95", timing::lease(), 0).await;
}
