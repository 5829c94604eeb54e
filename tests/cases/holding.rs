//! How long a lock is held, by whom, and who gives it back.

use std::collections::HashMap;
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use lockruntime::LockManager;
use rand::RngExt;
use rand::seq::IndexedRandom;
use tests::fault::{Close, Proxy};
use tests::history::What;
use tests::process::{Body, Door, Holder, Setup};
use tests::register::Register;
use tests::wire::Verb;
use tests::{RedisServer, check, tidy, timing, wire};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::{HOLDER, variant};

/// A body that never ends is dropped at its cap, however long its lease is renewed, and the waiter behind it enters.
#[tokio::test]
async fn b11_no_cap_on_the_hold() {
    let server = RedisServer::start();
    let (manager, other) = (server.manager(), server.manager());
    let (lease, cap) = (timing::millis(600), timing::millis(2_000));
    let monitor = server.monitor();
    let start = monitor.mark();
    let begun = Arc::new(Notify::new());
    let call = tokio::spawn({
        let begun = Arc::clone(&begun);
        async move {
            let ended = Arc::new(Mutex::new(None));
            let bomb = Ended(Instant::now(), Arc::clone(&ended));
            let body = async {
                let _bomb = bomb;
                begun.notify_one();
                pending::<()>().await;
            };
            let call = manager.lock("boleto:b11").lease(lease).max_hold(cap);
            let error = call.run(body).await.unwrap_err();
            let ended = ended.lock().unwrap().take();
            (
                error,
                ended.expect("the body is gone when the call returns"),
            )
        }
    });
    timing::soon("the body begins", begun.notified()).await;
    let guard = timing::soon("the waiter enters", other.lock("boleto:b11").acquire())
        .await
        .unwrap();
    let (error, held) = call.await.unwrap();
    assert_eq!(variant(&error), "HoldCapReached", "{error}");
    assert!(!error.is_lost(), "{error}");
    assert!(
        held >= cap && held <= cap + timing::millis(150),
        "held {held:?}"
    );
    assert!(wire::renewals(&monitor.since(start), "boleto:b11") >= 6);
    guard.release().await.unwrap();
    tidy::end(&server, "boleto:b11", lease, 0).await;
}

/// Writes down how long it lived.
struct Ended(Instant, Arc<Mutex<Option<std::time::Duration>>>);

impl Drop for Ended {
    fn drop(&mut self) {
        *self.1.lock().unwrap() = Some(self.0.elapsed());
    }
}

/// A nested call of the same key: an error at once where that is wanted, else it goes on under the same grant; a spawned task
/// is a rival; two tasks that nest two keys in opposite orders end by their wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b83_self_deadlock() {
    let server = RedisServer::start();
    let manager = server.manager();
    let monitor = server.monitor();

    let outer = async {
        let start = monitor.mark();
        let asked = Instant::now();
        let strict = manager.lock("boleto:b83").reentrant(false);
        let error = strict.run(async {}).await.unwrap_err();
        let took = asked.elapsed();
        assert_eq!(variant(&error), "SelfDeadlock", "{error}");
        assert!(took < timing::millis(10), "{took:?}");
        let guard = manager.lock("boleto:b83").acquire().await.unwrap_err();
        assert_eq!(variant(&guard), "SelfDeadlock", "{guard}");
        assert_eq!(wire::executed(&monitor.since(start), Verb::Ask), 0);

        let token = || lockruntime::current().unwrap().fencing_token();
        let nested = manager.lock("boleto:b83").run(async { token() });
        assert_eq!(nested.await.unwrap(), token());

        let spawned = tokio::spawn({
            let manager = manager.clone();
            async move { manager.lock("boleto:b83").acquire().await.unwrap() }
        });
        let queue = wire::queue("boleto:b83");
        let raw = server.raw();
        timing::until("the spawned task queues", timing::patience(), || {
            raw.has(&queue)
        })
        .await;
        assert!(!spawned.is_finished());
        // the block's value, not the task's
        Some(spawned)
    };
    let spawned = manager.lock("boleto:b83").run(outer).await.unwrap();
    let rival = timing::soon("the spawned task enters", spawned.unwrap()).await;
    rival.unwrap().release().await.unwrap();

    let both = Arc::new(tokio::sync::Barrier::new(2));
    let nested = |first: &'static str, second: &'static str| {
        let (manager, both) = (manager.clone(), Arc::clone(&both));
        tokio::spawn(async move {
            let body = async {
                both.wait().await;
                let inner = manager.lock(second).wait(timing::millis(300));
                inner.run(async {}).await
            };
            manager.lock(first).run(body).await.unwrap()
        })
    };
    let tasks = [
        nested("boleto:b83-a", "boleto:b83-b"),
        nested("boleto:b83-b", "boleto:b83-a"),
    ];
    let mut timed_out = 0;
    for task in tasks {
        let outcome = timing::soon("the waits end", task).await.unwrap();
        if let Err(error) = outcome {
            assert_eq!(variant(&error), "WaitTimedOut", "{error}");
            timed_out += 1;
        }
    }
    assert!(timed_out > 0);
    tidy::end(&server, "boleto:b83", timing::lease(), 0).await;
}

/// However the lock was lost, the same key is to be had again at once: by the same task, another task, another runtime.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b97_local_state_stuck_after_remote_expiry() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let (manager, raw) = (server.manager_at(&proxy.address()), server.raw());
    let record = wire::record("boleto:b97");
    for loss in ["deleted", "expired", "release failed"] {
        for door in ["same task", "another task", "another runtime"] {
            let guard = manager.lock("boleto:b97").acquire().await.unwrap();
            match loss {
                "deleted" => {
                    raw.run::<()>(&["DEL", &record]);
                    timing::soon("it is told", guard.lost()).await;
                }
                "expired" => {
                    proxy.black_hole();
                    timing::soon("it is told", guard.lost()).await;
                    timing::until("the server's lease ends", timing::patience(), || {
                        !raw.has(&record)
                    })
                    .await;
                    proxy.heal();
                }
                _ => {
                    let release = |request: &_| Verb::of(request) == Some(Verb::Release);
                    let mut lost = proxy.swallow_request(release, Some(Close::Reset));
                    // dropped, and its first release gets lost
                    drop(guard);
                    timing::soon("the release is lost", lost.sprung()).await;
                }
            }
            let again = {
                let manager = manager.clone();
                async move {
                    let start = Instant::now();
                    let guard = manager.lock("boleto:b97").acquire().await.unwrap();
                    guard.release().await.unwrap();
                    start.elapsed()
                }
            };
            let took = match door {
                "same task" => again.await,
                "another task" => tokio::spawn(again).await.unwrap(),
                _ => std::thread::spawn(|| {
                    let runtime = tokio::runtime::Builder::new_current_thread();
                    { runtime }.build().unwrap().block_on(again)
                })
                .join()
                .unwrap(),
            };
            // a new connection included, and the second try of a release
            let bound = timing::moment() * 2;
            assert!(took < bound, "{loss}, {door}: {took:?}");
        }
    }
    tidy::end(&server, "boleto:b97", timing::lease(), 6).await;
}

/// A short job with a minimum: its caller returns at once, the next one enters at the minimum and not before, a reject caller
/// is refused until then, nothing is renewed after the return; and a process that dies doesn't stretch it.
#[tokio::test]
async fn b107_minimum_hold() {
    let least = timing::millis(2_000);
    for death in ["none", "after the return", "in the body"] {
        let (server, register) = (RedisServer::start(), Register::start());
        let (raw, monitor) = (server.raw(), server.monitor());
        let setup = Setup::new(&server, &register);
        let (mut first, mut second) =
            (Holder::start(HOLDER, &setup), Holder::start(HOLDER, &setup));
        let body = match death {
            "in the body" => Body::UntilTold,
            _ => Body::For(timing::millis(10)),
        };
        let called = Instant::now();
        first.call("first", "b107", Door::AtLeast(least), body);
        let (owner, token) = first.entered("first");
        second.call(
            "second",
            "b107",
            Door::Queue,
            Body::For(timing::short_body()),
        );
        let queue = wire::queue("boleto:b107");
        timing::block_until("the second queues", timing::patience(), || raw.has(&queue));
        if death != "in the body" {
            assert_eq!(first.returned("first"), "");
            let took = called.elapsed();
            assert!(took < timing::moment() * 2, "the caller waited {took:?}");
        }
        let returned = monitor.mark();
        if death != "none" {
            first.process().kill();
        }
        let third = server.manager();
        let mut refused = 0;
        let next = loop {
            match third.lock("boleto:b107").try_acquire().await {
                Err(error) => assert_eq!(variant(&error), "Busy", "{error}"),
                Ok(guard) => {
                    // the second has been through by then; its report is on its way
                    let (_, next) = second.entered("second");
                    assert!(
                        guard.fencing_token().get() > next,
                        "a reject caller was first"
                    );
                    assert!(next > token);
                    break next;
                }
            }
            refused += 1;
            timing::pass(timing::tick()).await;
            assert!(called.elapsed() < timing::patience());
        };
        assert!(refused > 10, "{refused}");
        assert_eq!(second.returned("second"), "");
        let events = register.events();
        check::assert_exclusive(&events);
        let entered = |token| {
            let enters = |event: &&tests::history::Event| {
                event.what == What::Entered && event.token == token
            };
            events.iter().find(enters).unwrap().at
        };
        let after = entered(next) - entered(token);
        if death == "in the body" {
            // its lease ends, as ever
            assert!(
                after < timing::lease() + timing::moment() * 2,
                "a death stretched the hold to {after:?}"
            );
        } else {
            // the register is told of the first entry a little after the hold began
            let early = timing::millis(20);
            assert!(
                after + early >= least && after <= least + timing::millis(200),
                "death {death}: the second entered after {after:?}"
            );
            let renewals = monitor.since(returned);
            let renewed = renewals.iter().any(|seen| {
                Verb::of_seen(seen) == Some(Verb::Renew)
                    && seen.words.iter().any(|word| word.contains(&owner))
            });
            assert!(!renewed, "renewed after the return");
        }
        tidy::end(&server, "boleto:b107", timing::lease(), 0).await;
    }
}

/// Fifty callers of two processes lock pairs in any order, some twice the same, and are cancelled at random: all finish, no two
/// bodies share a key, and nothing stays of the calls that didn't come through.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b108_several_keys_at_once() {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let server = RedisServer::start();
    let managers = [server.manager(), server.manager()];
    let inside: Arc<HashMap<String, AtomicU64>> = Arc::new(
        NAMES
            .map(|name| (format!("boleto:b108-{name}"), AtomicU64::new(0)))
            .into(),
    );
    let mut tasks = JoinSet::new();
    for task in 0..50 {
        let (manager, inside) = (managers[task % 2].clone(), Arc::clone(&inside));
        tasks.spawn(async move {
            let (mut ran, mut failed) = (0, 0);
            for _ in 0..10 {
                let (keys, wait, cancel) = {
                    let mut random = rand::rng();
                    let count = random.random_range(1..=3);
                    let keys: Vec<_> = (0..count)
                        .map(|_| format!("boleto:b108-{}", NAMES.choose(&mut random).unwrap()))
                        .collect();
                    let wait = timing::millis(random.random_range(50..400));
                    let cancel = random
                        .random_ratio(1, 3)
                        .then(|| timing::millis(random.random_range(0..100)));
                    (keys, wait, cancel)
                };
                let names: std::collections::HashSet<_> = keys.iter().cloned().collect();
                let body = async {
                    for name in &names {
                        let before = inside[name].fetch_add(1, Ordering::SeqCst);
                        assert_eq!(before, 0, "another body has {name}");
                    }
                    let _leave = Leave(&inside, &names);
                    timing::pass(timing::millis(2)).await;
                };
                let call = manager.lock_all(keys.iter().map(String::as_str));
                let call = call.wait(wait).run(body);
                let outcome = match cancel {
                    None => Some(call.await),
                    Some(limit) => tokio::time::timeout(limit, call).await.ok(),
                };
                match outcome {
                    Some(Ok(())) => ran += 1,
                    Some(Err(error)) => {
                        // or a busy machine answered no ask within the wait
                        let ends = ["WaitTimedOut", "Backend"];
                        assert!(ends.contains(&variant(&error).as_str()), "{error}");
                        failed += 1;
                    }
                    None => failed += 1,
                }
            }
            (ran, failed)
        });
    }
    let (mut ran, mut failed) = (0, 0);
    for outcome in timing::soon("all finish", tasks.join_all()).await {
        ran += outcome.0;
        failed += outcome.1;
    }
    assert!(ran > 50 && failed > 50, "{ran} ran, {failed} failed");
    // what was cancelled is given back in the background
    tidy::gone_within(&server, timing::moment() * 2).await;
    not_even_for_a_moment(&server, &managers).await;
    budget(&server, &managers).await;
    tidy::end(&server, "boleto:b108", timing::lease(), 1).await;
}

struct Leave<'a>(
    &'a HashMap<String, AtomicU64>,
    &'a std::collections::HashSet<String>,
);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        for name in self.1 {
            self.0[name].fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// When a call returns without its locks, none of them is held by it; and one that is lost stops the body, whose others are
/// given back.
async fn not_even_for_a_moment(server: &RedisServer, managers: &[LockManager; 2]) {
    let raw = server.raw();
    let [a, b] = ["boleto:b108-a", "boleto:b108-b"];
    let taken = managers[1].lock(b).acquire().await.unwrap();
    let error = managers[0].lock_all([b, a]).try_acquire().await;
    assert_eq!(variant(&error.unwrap_err()), "Busy");
    assert!(!raw.has(&wire::record(a)));
    taken.release().await.unwrap();

    let begun = Arc::new(Notify::new());
    let call = tokio::spawn({
        let (manager, begun) = (managers[0].clone(), Arc::clone(&begun));
        async move {
            let body = async {
                begun.notify_one();
                pending::<()>().await;
            };
            let error = manager
                .lock_all([a, b])
                .on_lost(lockruntime::OnLost::Cancel);
            error.run(body).await.unwrap_err()
        }
    });
    timing::soon("the body begins", begun.notified()).await;
    // another's from now on
    raw.run::<()>(&["DEL", &wire::record(b)]);
    let taken = managers[1].lock(b).acquire().await.unwrap();
    let error = timing::soon("the loss of one stops it", call)
        .await
        .unwrap();
    assert!(error.is_lost() && error.key() == b, "{error:?}");
    timing::until("the other is given back", timing::moment(), || {
        !raw.has(&wire::record(a))
    })
    .await;
    assert!(taken.is_held());
    taken.release().await.unwrap();
}

/// What the wait for the first key took is not there for the second.
async fn budget(_server: &RedisServer, managers: &[LockManager; 2]) {
    let [a, b] = ["boleto:b108-a", "boleto:b108-b"];
    let first = managers[1].lock(a).acquire().await.unwrap();
    let second = managers[1].lock(b).acquire().await.unwrap();
    let (wait, start) = (timing::millis(500), Instant::now());
    let call = tokio::spawn({
        let manager = managers[0].clone();
        async move {
            manager
                .lock_all([b, a])
                .wait(wait)
                .acquire()
                .await
                .map(drop)
        }
    });
    timing::pass(wait / 2).await;
    first.release().await.unwrap();
    let error = call.await.unwrap().unwrap_err();
    let took = start.elapsed();
    assert_eq!(variant(&error), "WaitTimedOut", "{error}");
    assert!(took >= wait && took < wait + timing::moment(), "{took:?}");
    second.release().await.unwrap();
}

/// Given back twice, in every way there is, with a new owner in between: one command, and the new owner isn't touched.
#[tokio::test]
async fn b110_double_release() {
    let server = RedisServer::start();
    let (manager, other) = (server.manager(), server.manager());
    let (raw, monitor) = (server.raw(), server.monitor());
    let record = wire::record("boleto:b110");
    for way in [
        "release, drop",
        "twice",
        "dropped while releasing",
        "in the body",
    ] {
        let start = monitor.mark();
        let lock = manager.lock("boleto:b110");
        let guard = match way {
            "in the body" => {
                let body = async {
                    let hold = lockruntime::current().unwrap();
                    hold.release().await.unwrap();
                    other.lock("boleto:b110").acquire().await.unwrap()
                };
                lock.run(body).await.unwrap()
            }
            "dropped while releasing" => {
                let guard = lock.acquire().await.unwrap();
                let hold = guard.hold();
                {
                    let mut releasing = std::pin::pin!(guard.release());
                    // sent, not answered
                    let first = std::future::poll_fn(|context| {
                        std::task::Poll::Ready(releasing.as_mut().poll(context))
                    });
                    assert!(first.await.is_pending());
                }
                let next = other.lock("boleto:b110").acquire().await.unwrap();
                hold.release().await.unwrap();
                next
            }
            way => {
                let guard = lock.acquire().await.unwrap();
                let hold = guard.hold();
                if way == "twice" {
                    guard.release().await.unwrap();
                } else {
                    hold.release().await.unwrap();
                    drop(guard);
                }
                let next = other.lock("boleto:b110").acquire().await.unwrap();
                hold.release().await.unwrap();
                next
            }
        };
        let before: String = raw.run(&["GET", &record]);
        assert!(guard.is_held(), "{way}");
        assert_eq!(wire::owner_of(&before).0, guard.owner_token().to_string());
        let releases = wire::executed(&monitor.since(start), Verb::Release);
        assert_eq!(releases, 1, "{way}");
        guard.release().await.unwrap();
    }
    tidy::end(&server, "boleto:b110", timing::lease(), 0).await;
}
