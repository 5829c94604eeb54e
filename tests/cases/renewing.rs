//! Renewals under faults, in crowds, and in the moment in which a body ends.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use lockruntime::LockGuard;
use rand::RngExt;
use tests::fault::{Close, Proxy};
use tests::wire::Verb;
use tests::{RedisServer, tidy, timing, wire};
use tokio::task::JoinSet;

use super::variant;

/// The connection breaks for half a lease: the hold is kept under its token, and later locks of the process are renewed every
/// third of their lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b08_watchdog_dies_after_one_error() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let lease = timing::millis(1_500);
    let (first_leases, second_leases) = if timing::is_long() { (6, 4) } else { (3, 2) };
    let (manager, monitor) = (server.manager_at(&proxy.address()), server.monitor());
    let first = manager.lock("boleto:b08-first").lease(lease);
    let start = Instant::now();
    let body = async {
        let hold = lockruntime::current().unwrap();
        timing::pass(lease / 6).await;
        proxy.refuse();
        timing::pass(lease / 2).await;
        proxy.heal();
        timing::pass((lease * first_leases).saturating_sub(start.elapsed())).await;
        assert!(hold.is_held());
        hold
    };
    let hold = first.run(body).await.unwrap();
    let mark = monitor.mark();
    let second = manager.lock("boleto:b08-second").lease(lease);
    second
        .run(timing::pass(lease * second_leases))
        .await
        .unwrap();
    let renewals = wire::renewals(&monitor.since(mark), "boleto:b08-second");
    let due = 3 * second_leases as usize;
    assert!(
        (due - 3..=due + 1).contains(&renewals),
        "{renewals} in {second_leases} leases"
    );
    let next = manager.lock("boleto:b08-first").acquire().await.unwrap();
    assert!(next.fencing_token() > hold.fencing_token());
    next.release().await.unwrap();
    tidy::end(&server, "boleto:b08", lease, 0).await;
}

/// Very many holds of one process: all are kept, with no more renewals than needed, and none of them late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b10_many_locks_in_one_process() {
    let (holds, lease, leases) = if timing::is_long() {
        (20_000, timing::millis(6_000), 10)
    } else {
        (1_000, timing::millis(3_000), 2)
    };
    let server = RedisServer::start();
    // what users get: asks that have half a second, whoever else keeps the machine busy
    let (_, heartbeat, grace) = timing::DEFAULTS;
    let builder = server.manager_builder().heartbeat(heartbeat).grace(grace);
    let (manager, raw) = (builder.build().unwrap(), server.raw());
    let mut guards: Vec<LockGuard> = Vec::with_capacity(holds);
    while guards.len() < holds {
        let mut batch = JoinSet::new();
        for number in guards.len()..(guards.len() + 500).min(holds) {
            let manager = manager.clone();
            batch.spawn(async move {
                let key = format!("boleto:b10-{number}");
                manager.lock(&key).lease(lease).acquire().await.unwrap()
            });
        }
        guards.extend(timing::soon("they are taken", batch.join_all()).await);
    }
    let before = raw.calls("pexpire");
    let start = Instant::now();
    let (mut looks, mut late) = (0_u32, 0_u32);
    while start.elapsed() < lease * leases {
        timing::pass(lease / 10).await;
        for guard in &guards {
            looks += 1;
            // what was confirmed before 0.6 of a lease was over has at least 0.4 left
            late += u32::from(guard.remaining() < lease * 2 / 5);
        }
    }
    let periods = start.elapsed().as_secs_f64() / lease.as_secs_f64();
    let lost = guards.iter().filter(|guard| !guard.is_held()).count();
    assert!(
        lost == 0 && late <= looks / 100,
        "{lost} of {holds} were lost, {late} of {looks} looks found one renewed late"
    );
    #[expect(clippy::cast_precision_loss, reason = "a count of renewals")]
    let renewals = (raw.calls("pexpire") - before) as f64 / holds as f64 / periods;
    assert!(renewals <= 3.5, "{renewals} a lease");
    for guard in guards {
        drop(guard);
    }
    timing::until("all are given back", timing::patience(), || {
        tidy::left_behind(&raw).is_empty()
    })
    .await;
    tidy::end(&server, "boleto:b10-", lease, 0).await;
}

/// Ten thousand bodies that end in the very millisecond of a renewal, whose answers come late or with an end of the connection:
/// each call is its own value, or lost; never both, and nothing panics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b12_two_paths_end_a_hold_at_once() {
    const TASKS: usize = 200;
    let rounds = if timing::is_long() { 50 } else { 10 };
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let manager = server.manager_at(&proxy.address());
    let lease = timing::millis(300);
    let (values, losses) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (manager, values, losses) = (manager.clone(), Arc::clone(&values), Arc::clone(&losses));
        tasks.spawn(async move {
            let key = format!("boleto:b12-{task}");
            for _ in 0..rounds {
                let off = rand::rng().random_range(0..2_000);
                let length =
                    (lease / 3).saturating_sub(timing::micros(1_000)) + timing::micros(off);
                let ended = Arc::new(AtomicU64::new(0));
                let body = async {
                    timing::pass(length).await;
                    ended.fetch_add(1, Ordering::SeqCst);
                    7
                };
                match manager.lock(&key).lease(lease).run(body).await {
                    Ok(value) => {
                        assert_eq!((value, ended.load(Ordering::SeqCst)), (7, 1));
                        values.fetch_add(1, Ordering::SeqCst);
                    }
                    Err(error) => {
                        // a call that couldn't be asked for while the connection was cut has not run
                        let ran = ended.load(Ordering::SeqCst);
                        assert!(
                            ["Lost", "Backend"].contains(&variant(&error).as_str()),
                            "{error}"
                        );
                        assert_eq!(ran, 0, "a value and {error}");
                        losses.fetch_add(1, Ordering::SeqCst);
                    }
                }
            }
        });
    }
    // the answers of the renewals get lost, with the connection they were to come on
    let cuts = async {
        loop {
            let mut lost = proxy.swallow_reply(
                |request| Verb::of(request) == Some(Verb::Renew),
                Some(Close::Reset),
            );
            lost.sprung().await;
            timing::pass(timing::millis(50)).await;
        }
    };
    tokio::select! {
        () = cuts => unreachable!("it goes on"),
        _ = timing::soon("all end", tasks.join_all()) => {}
    }
    let (values, losses) = (values.load(Ordering::SeqCst), losses.load(Ordering::SeqCst));
    assert_eq!(values + losses, (TASKS * rounds) as u64);
    assert!(values > losses, "{values} values, {losses} losses");
    proxy.heal();
    let warned = tests::logs::warnings_about(&["boleto:b12"]).len();
    tidy::end(&server, "boleto:b12", lease, warned).await;
}

/// Ten holds; one key is deleted, then one renewal times out, then the server is gone for three leases: each time only the calls
/// concerned are told, and the process goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b16_loss_kills_the_process() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let (manager, raw) = (server.manager_at(&proxy.address()), server.raw());
    let lease = timing::lease();
    let mut calls = JoinSet::new();
    for number in 0..10 {
        let manager = manager.clone();
        calls.spawn(async move {
            let key = format!("boleto:b16-{number}");
            let call = manager.lock(&key).run(pending::<()>());
            (number, call.await.unwrap_err())
        });
    }
    timing::until("all are held", timing::patience(), || {
        let held = |number| raw.has(&wire::record(&format!("boleto:b16-{number}")));
        (0..10).all(held)
    })
    .await;
    raw.run::<()>(&["DEL", &wire::record("boleto:b16-3")]);
    let told = timing::soon("the one is told", calls.join_next()).await;
    let (number, error) = told.unwrap().expect("no task ends by a panic");
    assert_eq!(number, 3);
    assert!(error.is_lost(), "{error:?}");

    let mut lost = proxy.swallow_reply(
        |request| Verb::of(request) == Some(Verb::Renew),
        Some(Close::Reset),
    );
    timing::soon("a renewal times out", lost.sprung()).await;
    timing::pass(lease * 3 / 2).await;
    assert!(
        calls.try_join_next().is_none(),
        "a lost answer ended a hold"
    );

    proxy.refuse();
    let start = Instant::now();
    let mut left = 0;
    while let Some(told) = timing::soon("all are told", calls.join_next()).await {
        let (_, error) = told.expect("no task ends by a panic");
        assert!(error.is_lost(), "{error:?}");
        assert!(start.elapsed() < lease + timing::moment());
        left += 1;
    }
    assert_eq!(left, 9);
    timing::pass((lease * 3).saturating_sub(start.elapsed())).await;
    proxy.heal();
    let again = manager.lock("boleto:b16-3").acquire();
    let again = timing::soon("the process goes on", again).await.unwrap();
    again.release().await.unwrap();
    tidy::end(&server, "boleto:b16", lease, 10).await;
}

/// The key is deleted and every answer takes 400 ms: the call returns as soon as the loss is known, and what gives back ends with
/// the lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b17_loss_known_call_still_hangs() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let (manager, raw, monitor) = (
        server.manager_at(&proxy.address()),
        server.raw(),
        server.monitor(),
    );
    let lease = timing::lease();
    let (begin, begun) = tokio::sync::oneshot::channel();
    let call = tokio::spawn(async move {
        let dropped = Arc::new(std::sync::Mutex::new(None));
        let bomb = WhenDropped(Arc::clone(&dropped));
        let body = async {
            let _bomb = bomb;
            begin.send(()).unwrap();
            pending::<()>().await;
        };
        let error = manager.lock("boleto:b17").run(body).await.unwrap_err();
        let detected: Instant = dropped.lock().unwrap().take().unwrap();
        (error, detected.elapsed())
    });
    begun.await.unwrap();
    raw.run::<()>(&["DEL", &wire::record("boleto:b17")]);
    proxy.delay(timing::millis(200));
    let start = Instant::now();
    let (error, after) = timing::soon("the call returns", call).await.unwrap();
    let detected = monitor.mark();
    assert!(error.is_lost(), "{error:?}");
    assert!(after < timing::millis(50), "{after:?} after it was known");
    assert!(start.elapsed() < lease + timing::moment());
    timing::pass(lease * 2).await;
    let late = monitor.mark();
    let releases = monitor.between(detected, late);
    let releases = releases
        .iter()
        .filter(|seen| Verb::of_seen(seen) == Some(Verb::Release));
    // one try after the other, each with its time-out, while anything could be left
    assert!(releases.count() <= 4);
    timing::pass(lease).await;
    let verbs = monitor.since(late);
    let more = verbs.iter().filter(|seen| Verb::of_seen(seen).is_some());
    assert_eq!(more.count(), 0, "it goes on after the lease");
    proxy.heal();
    tidy::end(&server, "boleto:b17", lease, 1).await;
}

struct WhenDropped(Arc<std::sync::Mutex<Option<Instant>>>);

impl Drop for WhenDropped {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = Some(Instant::now());
    }
}
