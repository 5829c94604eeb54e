//! A slot moves to another master while its locks are held and waited for.

use std::time::Duration;

use tests::topology::{Cluster, Topology};
use tests::{logs, timing};
use tokio::task::JoinSet;

use super::lease;
use super::load::{Holds, Load};

const KEY: &str = "boleto:moves";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_and_queued_lock_moves() {
    let cluster = Cluster::start();
    let (locks, others) = (cluster.manager(), cluster.manager());
    let slot = cluster.slot_of(KEY);
    let from = cluster.master_of(KEY);
    let to = (from + 1) % 3;
    let guard = locks.lock(KEY).lease(lease()).acquire().await.unwrap();
    let token = guard.fencing_token();
    let mut waiters = JoinSet::new();
    for number in 0..3 {
        let manager = if number == 1 { &others } else { &locks };
        let locks = manager.clone();
        waiters.spawn(async move {
            let guard = locks.lock(KEY).lease(lease()).acquire().await.unwrap();
            let token = guard.fencing_token();
            timing::pass(timing::short_body()).await;
            guard.release().await.unwrap();
            (number, token)
        });
        let wanted = number + 1;
        timing::until_async("it waits", || async {
            locks_waiting(&others).await == wanted
        })
        .await;
    }
    let load = Load::start(
        &locks,
        &["boleto:a".into(), "boleto:b".into(), "boleto:c".into()],
    );
    let there = Holds::take(
        &locks,
        (0..20).map(|number| format!("boleto:held-{number}")),
    )
    .await;
    // the lock's keys are on two servers for a while
    let cluster = tokio::task::spawn_blocking(move || {
        // all in all less than a ticket lives: a waiter that can't be heard of for longer loses its place
        let pause = || timing::block(timing::heartbeat() / 2);
        cluster.move_slot(slot, from, to, pause);
        cluster
    })
    .await
    .unwrap();
    assert_eq!(cluster.master_of(KEY), to);
    timing::pass(timing::lease()).await;
    assert!(guard.is_held());
    assert_eq!(locks_waiting(&locks).await, 3);
    guard.release().await.unwrap();
    let mut entered = timing::soon("all enter", waiters.join_all()).await;
    let tokens: Vec<_> = entered.iter().map(|(_, token)| *token).collect();
    entered.sort_unstable_by_key(|(_, token)| *token);
    assert_eq!(
        entered
            .iter()
            .map(|(number, _)| *number)
            .collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert!(tokens.iter().all(|other| *other > token));
    load.stop("resharding").await;
    there.assert_kept(&locks).await;
    assert_eq!(logs::panics(), Vec::<String>::new());
}

/// Of a lock that is shared more keys move. Once all of them have, its holders are renewed where they are by then, though nobody
/// waits and the queue's keys are nowhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_lock_without_waiters_moves() {
    const KEY: &str = "report:moves";
    let cluster = Cluster::start();
    let locks = cluster.manager();
    let (slot, from) = (cluster.slot_of(KEY), cluster.master_of(KEY));
    let lease = timing::lease() * 2;
    let guard = locks.lock(KEY).lease(lease).read().acquire().await.unwrap();
    let cluster = tokio::task::spawn_blocking(move || {
        let mut moved = 0;
        let pause = || {
            moved += 1;
            // the record, the holds, their records, the counter
            if moved == 4 {
                timing::block(lease * 3 / 2);
            }
        };
        cluster.move_slot(slot, from, (from + 1) % 3, pause);
        assert_eq!(moved, 4);
        cluster
    })
    .await
    .unwrap();
    assert!(guard.is_held());
    guard.release().await.unwrap();
    drop(cluster);
}

async fn locks_waiting(locks: &lockruntime::LockManager) -> usize {
    match locks.snapshot(KEY).await {
        Ok(seen) => seen.waiting.len(),
        Err(_) => usize::MAX,
    }
}

/// Slots of many locks move there and back under load: nobody is inside twice, no hold is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_slots_move_under_load() {
    let cluster = Cluster::start();
    let locks = cluster.manager();
    let keys: Vec<_> = (0..6).map(|number| format!("boleto:{number}")).collect();
    let held = (0..10).map(|number| format!("boleto:held-{number}"));
    let slots: Vec<_> = keys
        .iter()
        .cloned()
        .chain(held.clone())
        .map(|key| (cluster.slot_of(&key), cluster.master_of(&key)))
        .collect();
    let holds = Holds::take(&locks, held).await;
    let load = Load::start(&locks, &keys);
    timing::until("it works", timing::patience(), || load.successes() > 50).await;
    tokio::task::spawn_blocking(move || {
        let pause = || timing::block(Duration::from_millis(5));
        for (slot, home) in &slots {
            cluster.move_slot(*slot, *home, (home + 1) % 3, pause);
        }
        for (slot, home) in &slots {
            cluster.move_slot(*slot, (home + 1) % 3, *home, pause);
        }
        cluster
    })
    .await
    .map(|cluster| async move {
        let before = load.successes();
        timing::until("it works on", timing::patience(), || {
            load.successes() > before + 50
        })
        .await;
        load.stop("resharding there and back").await;
        holds.assert_kept(&locks).await;
        drop(cluster);
    })
    .unwrap()
    .await;
}
