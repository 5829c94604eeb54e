//! What goes wrong where several masters decide.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lockruntime::LockError;
use tests::fault::{Close, Request};
use tests::masters::Masters;
use tests::{logs, tidy, timing, wire};
use tokio::task::JoinSet;

/// The third of three masters fails in each way there is, and nobody notices but the log, once.
#[tokio::test(flavor = "multi_thread")]
async fn b76_one_bad_node_fails_all() {
    for way in ["refused", "black hole", "read-only", "full", "password"] {
        let masters = Masters::start(3);
        let (bad, proxy) = (&masters.servers[2], &masters.proxies[2]);
        let raw = bad.raw();
        let locks = masters.fragile_manager();
        let key = format!("boleto:b76:{}", way.replace(' ', "-"));
        // the quorum has been in use, all nodes have done their part
        let guard = locks.lock(&key).acquire().await.unwrap();
        guard.release().await.unwrap();
        let before = logs::notices_about(&proxy.address()).len();
        match way {
            "refused" => proxy.refuse(),
            "black hole" => proxy.black_hole(),
            "read-only" => raw.run(&["REPLICAOF", "127.0.0.1", "1"]),
            "full" => raw.run(&["CONFIG", "SET", "maxmemory", "1"]),
            _ => {
                raw.run::<()>(&["CONFIG", "SET", "requirepass", "another"]);
                proxy.cut(Close::Reset);
            }
        }
        let guard = locks.lock(&key).acquire().await.unwrap();
        let token = guard.fencing_token();
        timing::pass(timing::lease() * 3 / 2).await;
        assert!(guard.is_held(), "{way}: renewed");
        guard.release().await.unwrap();
        let guard = locks.lock(&key).try_acquire().await.unwrap();
        assert!(guard.fencing_token() > token, "{way}");
        guard.release().await.unwrap();
        // nobody waits for the bad one, so its failure may be noticed later
        timing::until("it is told", timing::patience(), || {
            logs::notices_about(&proxy.address()).len() > before
        })
        .await;
        let told = logs::notices_about(&proxy.address());
        assert_eq!(told.len() - before, 1, "{way}: {told:?}");
        assert_eq!(logs::warnings_about(&[&key]), Vec::<String>::new());
        drop(locks);
        for good in &masters.servers[..2] {
            tidy::end(good, &key, timing::lease(), 0).await;
        }
    }
}

/// One of three nodes answers half a second late: nobody waits for it, and it is cleaned all the same.
#[tokio::test(flavor = "multi_thread")]
async fn b77_waits_for_the_slowest_node() {
    const KEY: &str = "boleto:b77";
    let masters = Masters::start(3);
    let locks = masters.fragile_manager();
    let warm = locks.lock(KEY).acquire().await.unwrap();
    warm.release().await.unwrap();
    // the first node: it would have the queue as well
    masters.proxies[0].delay(timing::millis(250));
    let mut times = Vec::new();
    for _ in 0..100 {
        let start = Instant::now();
        let guard = locks.lock(KEY).acquire().await.unwrap();
        times.push(start.elapsed());
        let start = Instant::now();
        guard.release().await.unwrap();
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let p99 = times[times.len() * 99 / 100];
    assert!(p99 <= timing::millis(60), "p99 {p99:?}");
    let slow = &masters.servers[0];
    tidy::gone_within(slow, timing::millis(2_000)).await;
    drop(locks);
    for server in &masters.servers {
        tidy::end(server, KEY, timing::lease(), 0).await;
    }
}

/// A rival holds three of five; the other two grant, and their answers are lost: the caller is told no at once, and nothing of
/// it stays there.
#[tokio::test(flavor = "multi_thread")]
async fn b79_minority_left_overs() {
    const KEY: &str = "boleto:b79";
    let masters = Masters::start(5);
    let rival = masters.manager();
    let locks = masters.fragile_manager();
    // everybody is connected, and the rival's renewals hold the first three only
    let warm = locks.lock(KEY).acquire().await.unwrap();
    warm.release().await.unwrap();
    let long = Duration::from_secs(30);
    let held = rival.lock(KEY).lease(long).acquire().await.unwrap();
    timing::until("the rival holds all five", timing::patience(), || {
        let has = |server: &tests::RedisServer| server.raw().has(&wire::record(KEY));
        masters.servers.iter().all(has)
    })
    .await;
    for server in &masters.servers[3..] {
        server.raw().run::<u64>(&["DEL", &wire::record(KEY)]);
    }
    let traps: Vec<_> = (masters.proxies[3..].iter())
        .map(|proxy| proxy.swallow_reply(Request::is_script, None))
        .collect();
    let start = Instant::now();
    let refused = locks.lock(KEY).lease(long).try_acquire().await;
    let took = start.elapsed();
    assert!(
        matches!(refused, Err(LockError::Busy { .. })),
        "{refused:?}"
    );
    assert!(took < timing::millis(600), "{took:?}");
    assert!(traps.iter().all(tests::fault::Trap::is_sprung));
    let start = Instant::now();
    for server in &masters.servers[3..] {
        tidy::gone_within(server, timing::millis(1_000)).await;
    }
    assert!(start.elapsed() < timing::millis(1_100));
    assert!(held.is_held());
    held.release().await.unwrap();
    drop((locks, rival));
    for server in &masters.servers {
        tidy::end(server, KEY, timing::lease(), 0).await;
    }
}

/// Twenty contenders, three masters: each round has one winner, soon.
#[tokio::test(flavor = "multi_thread")]
async fn b80_no_winner_among_many() {
    const KEY: &str = "boleto:b80";
    let masters = Masters::start(3);
    let managers: Vec<_> = (0..4).map(|_| masters.manager()).collect();
    let inside = Arc::new(AtomicU32::new(0));
    let mut calls = JoinSet::new();
    let start = Instant::now();
    for contender in 0..20 {
        let (locks, inside) = (managers[contender % 4].clone(), Arc::clone(&inside));
        calls.spawn(async move {
            let mut longest = Duration::ZERO;
            for _ in 0..10 {
                let start = Instant::now();
                let guard = locks.lock(KEY).acquire().await.unwrap();
                longest = longest.max(start.elapsed());
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
                inside.fetch_sub(1, Ordering::SeqCst);
                guard.release().await.unwrap();
            }
            longest
        });
    }
    let longest = calls.join_all().await.into_iter().max().unwrap();
    let mean = start.elapsed() / 200;
    assert!(longest <= mean * 50, "{longest:?}, a round took {mean:?}");
    drop(managers);
    for server in &masters.servers {
        tidy::end(server, KEY, timing::lease(), 0).await;
    }
}

/// A node that lost its data is left out for the longest lease, so no lease is longer than that.
#[tokio::test]
async fn leases_are_bounded_by_what_a_forgetful_node_waits() {
    const KEY: &str = "boleto:quorum:long";
    let masters = Masters::start(3);
    let locks = masters.manager();
    let error = locks.lock(KEY).lease(Duration::from_secs(61)).acquire();
    let error = error.await.unwrap_err();
    assert!(matches!(error, LockError::InvalidLease { .. }), "{error:?}");
    assert!(error.to_string().contains("100 ms to 1m"), "{error}");
    let guard = locks.lock(KEY).acquire().await.unwrap();
    let error = guard.extend(Duration::from_secs(61)).await.unwrap_err();
    assert!(matches!(error, LockError::InvalidLease { .. }), "{error:?}");
    guard.release().await.unwrap();
    drop(locks);
    for server in &masters.servers {
        tidy::end(server, KEY, timing::lease(), 0).await;
    }
}

/// A dead master doesn't make a lock that somebody holds undecidable: its refusals are waited for.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_lock_is_busy_with_a_master_down() {
    const KEY: &str = "boleto:quorum:busy";
    let mut masters = Masters::start(5);
    let (first, second) = (masters.manager(), masters.manager());
    let guard = first.lock(KEY).acquire().await.unwrap();
    let busy = second.lock(KEY).try_acquire().await.unwrap_err();
    assert!(busy.is_busy(), "{busy:?}");
    masters.servers[2].kill();
    for _ in 0..200 {
        let busy = second.lock(KEY).try_acquire().await.unwrap_err();
        assert!(busy.is_busy(), "{busy:?}");
    }
    guard.release().await.unwrap();
    drop(second.lock(KEY).try_acquire().await.unwrap());
}

/// A master that restarts empty grants nothing for as long as a lease may last: with it, three of five would be a second
/// majority beside the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_forgot_is_left_out() {
    const KEY: &str = "boleto:quorum:forgot";
    let mut masters = Masters::start(5);
    let (first, second) = (masters.manager(), masters.manager());
    let warm = second.lock(KEY).acquire().await.unwrap();
    warm.release().await.unwrap();
    // two are out of reach while the first one takes its lock
    for server in &mut masters.servers[3..] {
        server.pause();
    }
    let guard = first.lock(KEY).lease(Duration::from_secs(30)).acquire();
    let guard = guard.await.unwrap();
    masters.servers[0].kill();
    masters.servers[0].restart();
    for server in &mut masters.servers[3..] {
        server.resume();
    }
    timing::until("the forgetful one is back", timing::patience(), || {
        masters.servers[0].raw().keys("lib_*").is_empty()
    })
    .await;
    let start = Instant::now();
    while start.elapsed() < timing::lease() {
        match second.lock(KEY).try_acquire().await {
            // the first one has noticed that it has no majority any more, and gave the rest back
            Ok(_) => assert!(!guard.is_held()),
            Err(LockError::Busy { .. } | LockError::NoQuorum { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    drop(guard);
}

/// Masters that lose their data one after the other are no new quorum: somebody may hold what they have forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn masters_that_forget_in_turn_are_no_new_quorum() {
    const KEY: &str = "boleto:quorum:in-turn";
    let mut masters = Masters::start(3);
    let (first, second) = (masters.fragile_manager(), masters.manager());
    let warm = second.lock(KEY).acquire().await.unwrap();
    warm.release().await.unwrap();
    let guard = first.lock(KEY).lease(Duration::from_secs(30)).acquire();
    let guard = guard.await.unwrap();
    // the holder doesn't hear of it
    masters
        .proxies
        .iter()
        .for_each(tests::fault::Proxy::black_hole);
    for server in &mut masters.servers {
        server.kill();
        server.restart();
        // long enough apart that they were not started together
        let start = Instant::now();
        while start.elapsed() < timing::millis(1_100) {
            let error = second.lock(KEY).try_acquire().await.unwrap_err();
            assert!(
                matches!(error, LockError::Busy { .. } | LockError::NoQuorum { .. }),
                "{error:?}"
            );
        }
    }
    assert!(guard.is_held());
    let error = second.lock(KEY).try_acquire().await.unwrap_err();
    assert!(error.to_string().contains("without its data"), "{error}");
}
