//! How managers reach their server: URLs, TLS, users and their rights, clients of the application's own, versions side by side.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, as it should"
)]

mod client;
mod health;
mod rights;
mod sharing;
mod tls;
mod urls;
mod versions;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lockruntime::LockManager;
use tests::server::Raw;
use tests::timing;
use tokio::task::JoinSet;

/// Callers of two managers contend for one key; one body outlives its lease. Nobody fails, nobody meets anybody inside.
async fn contend(managers: [&LockManager; 2], key: &str) {
    const CALLERS: usize = 6;
    const ROUNDS: u64 = 5;
    let inside = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicU64::new(0));
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let locks = managers[caller % 2].clone();
        let (inside, count, key) = (Arc::clone(&inside), Arc::clone(&count), key.to_owned());
        callers.spawn(async move {
            for round in 0..ROUNDS {
                let body = async {
                    assert!(!inside.swap(true, Ordering::SeqCst), "two bodies at once");
                    let long = caller == 0 && round == 0;
                    timing::pass(if long {
                        timing::lease() * 3 / 2
                    } else {
                        timing::tick()
                    })
                    .await;
                    inside.store(false, Ordering::SeqCst);
                    count.fetch_add(1, Ordering::SeqCst);
                };
                let lock = locks.lock(&key).wait(timing::patience());
                lock.run(body).await.unwrap();
            }
        });
    }
    timing::soon("all callers had their turns", callers.join_all()).await;
    assert_eq!(count.load(Ordering::SeqCst), CALLERS as u64 * ROUNDS);
}

/// What a hand-over takes at the most that was heard of. One that is found by asking takes half a heartbeat, which the tests
/// that ask set to 2 s.
fn prompt() -> std::time::Duration {
    timing::millis(250)
}

/// How many connections the server has, the one of `raw` left out.
fn connections(raw: &Raw) -> usize {
    let list: String = raw.run(&["CLIENT", "LIST"]);
    list.lines().count() - 1
}

/// How long the next in line waits when the lock is given back, on average of some hand-overs between two managers.
async fn hand_over(managers: [&LockManager; 2], key: &str) -> std::time::Duration {
    const HAND_OVERS: u32 = 8;
    let lease = timing::long_lease();
    let mut guard = managers[0].lock(key).lease(lease).acquire().await.unwrap();
    let mut taken = std::time::Duration::ZERO;
    for turn in 1..=HAND_OVERS {
        let (locks, key) = (managers[turn as usize % 2].clone(), key.to_owned());
        let next = {
            let key = key.clone();
            let locks = locks.clone();
            tokio::spawn(async move { locks.lock(&key).lease(lease).acquire().await })
        };
        timing::soon("the next one queues", async {
            while locks.snapshot(&key).await.unwrap().waiting.is_empty() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        guard.release().await.unwrap();
        let start = std::time::Instant::now();
        guard = timing::soon("its turn comes", next).await.unwrap().unwrap();
        taken += start.elapsed();
    }
    guard.release().await.unwrap();
    taken / HAND_OVERS
}
