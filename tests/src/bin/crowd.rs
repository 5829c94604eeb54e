//! Very many keys, each used once, in a process of its own: its memory is nobody else's. Says in JSON how much of it was resident
//! after a first part of the keys, and after all of them.
//!
//! Arguments: the lock manager's URL, the server's URL, how many keys.

use std::ops::Range;
use std::time::Duration;

use lockruntime::{LockManager, LossReason};
use rand::RngExt;
use tests::server::Raw;
use tests::{timing, wire};
use tokio::task::JoinSet;

/// As many at a time.
const TASKS: usize = 64;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the test reads it")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, server, count] = &arguments[..] else {
        panic!("the arguments are the manager's URL, the server's URL and the number of keys");
    };
    let count: usize = count.parse().expect("a number of keys");
    let manager = LockManager::builder()
        .url(url)
        .lease(timing::short_lease())
        .build()
        .expect("the kit's URL is valid");
    let raw = Raw::connect(server);
    // pools, buffers and the allocator's own are as large as they get
    let warm = count / 4;
    use_keys(&manager, &raw, 0..warm).await;
    let before = resident().await;
    use_keys(&manager, &raw, warm..count).await;
    let after = resident().await;
    println!(r#"{{"before":{before},"after":{after}}}"#);
}

/// Of twenty keys two are contended, one is given up and one is lost.
async fn use_keys(manager: &LockManager, raw: &Raw, keys: Range<usize>) {
    let mut tasks = JoinSet::new();
    for number in keys {
        if tasks.len() >= TASKS {
            tasks
                .join_next()
                .await
                .expect("some run")
                .expect("none panics");
        }
        let (manager, key) = (manager.clone(), format!("boleto:b95-{number}"));
        match number % 20 {
            0 => {
                // deleted under its holder, who learns of it with its next renewal
                let guard = manager.lock(&key).acquire().await.expect("it is free");
                raw.run::<()>(&["DEL", &wire::record(&key)]);
                tasks.spawn(async move {
                    // or the machine stands still for a lease: lost all the same
                    let reason = guard.lost().await;
                    let reasons = [LossReason::Taken, LossReason::LeaseOver];
                    assert!(reasons.contains(&reason), "{reason:?}");
                });
            }
            1 => {
                let micros = rand::rng().random_range(0..1_000);
                tasks.spawn(async move {
                    let call = manager.lock(&key).run(timing::pass(timing::millis(1)));
                    drop(tokio::time::timeout(timing::micros(micros), call).await);
                });
            }
            2 | 3 => {
                tasks.spawn(async move {
                    let call = || manager.lock(&key).run(tokio::task::yield_now());
                    let (first, second) = tokio::join!(call(), call());
                    first.and(second).expect("both enter");
                });
            }
            _ => {
                tasks.spawn(async move {
                    let call = manager.lock(&key).run(async {});
                    call.await.expect("it is free");
                });
            }
        }
    }
    while let Some(task) = tasks.join_next().await {
        task.expect("none panics");
    }
}

/// The resident memory in KiB, once what is given back in the background is through.
async fn resident() -> u64 {
    timing::pass(Duration::from_millis(1_000)).await;
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux says it");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("a size in kB")
}
