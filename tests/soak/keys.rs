//! A great many keys, each used once.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lockruntime::LockManager;
use tests::server::Raw;
use tests::{RedisServer, memory, tidy, timing, wire};
use tokio::task::JoinSet;

use super::{alone, clients, no_tasks, quiet};

const CALLERS: usize = 48;

/// One key: mostly a call that is alone; one in ten is contended, one in twenty cancelled, one in twenty loses its lock.
async fn use_once(locks: &LockManager, raw: &Raw, number: usize) {
    let key = format!("boleto:key-{number}");
    let lock = || locks.lock(&key);
    match number % 20 {
        0 | 1 => {
            let guard = lock().acquire().await.unwrap();
            let (next, released) = tokio::join!(lock().run(async {}), guard.release());
            next.unwrap();
            released.unwrap();
        }
        2 => {
            let call = lock().run(pending::<()>());
            let limit = Duration::from_micros(u64::try_from(number % 5_000).unwrap());
            tokio::time::timeout(limit, call).await.unwrap_err();
        }
        3 => {
            let lost = lock().lease(timing::short_lease()).run(async {
                raw.run::<()>(&["DEL", &wire::record(&key)]);
                pending::<()>().await;
            });
            assert!(lost.await.unwrap_err().is_lost());
        }
        _ => lock().run(async {}).await.unwrap(),
    }
}

async fn use_all(locks: &LockManager, raws: &[Arc<Raw>], from: usize, to: usize) {
    let next = Arc::new(AtomicUsize::new(from));
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (locks, next) = (locks.clone(), Arc::clone(&next));
        let raw = Arc::clone(raws.get(caller % raws.len()).unwrap());
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= to {
                    return;
                }
                use_once(&locks, &raw, number).await;
            }
        });
    }
    callers.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_are_used_once_leave_nothing() {
    let _alone = alone().await;
    let count = timing::times(20_000, 1_000_000);
    let server = RedisServer::start();
    let locks = quiet(&server, 3);
    let raws: Vec<_> = (0..4).map(|_| Arc::new(server.raw())).collect();
    // what a process needs at its busiest it keeps
    use_all(&locks, &raws, 0, count / 5).await;
    let start = memory::resident();
    use_all(&locks, &raws, count / 5, count).await;
    memory::assert_flat(start, memory::resident());
    no_tasks().await;
    drop(raws);
    let raw = server.raw();
    timing::until("one connection", timing::patience(), || {
        clients(&raw) == (1, 1)
    })
    .await;
    // the keeper would go on for the sake of a single entry of its map
    drop(locks);
    timing::until("the manager's connection ends", timing::patience(), || {
        clients(&raw) == (0, 0)
    })
    .await;
    tidy::gone_within(&server, timing::ticket_life() * 2).await;
}
