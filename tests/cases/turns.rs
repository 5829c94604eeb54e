//! Whose turn it is, and what it costs to find out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lockruntime::LockError;
use tests::process::{Body, Door, Holder, Setup};
use tests::register::Register;
use tests::server::{Seen, Settings};
use tests::wire::Verb;
use tests::{RedisServer, tidy, timing, wire};
use tokio::task::JoinSet;

use super::{HOLDER, variant};

/// Twenty reject callers in tight loops and a queue that is never empty, for a hundred hand-overs: none of them gets between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b41_newcomer_overtakes_the_queue() {
    const HAND_OVERS: u64 = 100;
    let server = RedisServer::start();
    let managers = [server.manager(), server.manager()];
    let raw = server.raw();
    let (entered, over) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let guard = managers[0].lock("boleto:b41").acquire().await.unwrap();
    let mut waiters = JoinSet::new();
    for waiter in 0..5 {
        let (manager, entered, over) = (
            managers[waiter % 2].clone(),
            Arc::clone(&entered),
            Arc::clone(&over),
        );
        waiters.spawn(async move {
            while !over.load(Ordering::SeqCst) {
                let body = async {
                    let count = entered.fetch_add(1, Ordering::SeqCst) + 1;
                    // those behind it still queue: from here on a free lock is nobody's fault
                    if count >= HAND_OVERS {
                        over.store(true, Ordering::SeqCst);
                    }
                    // the others have time to queue anew
                    timing::pass(timing::millis(2)).await;
                };
                manager.lock("boleto:b41").run(body).await.unwrap();
            }
        });
    }
    let queue = wire::queue("boleto:b41");
    timing::until("all five queue", timing::patience(), || {
        raw.run::<u64>(&["ZCARD", &queue]) == 5
    })
    .await;
    let mut bargers = JoinSet::new();
    for barger in 0..20 {
        let (manager, over) = (managers[barger % 2].clone(), Arc::clone(&over));
        bargers.spawn(async move {
            let mut refused = 0;
            while !over.load(Ordering::SeqCst) {
                match manager.lock("boleto:b41").try_acquire().await {
                    Ok(guard) => {
                        let late = over.load(Ordering::SeqCst);
                        drop(guard);
                        assert!(late, "a reject caller entered");
                    }
                    Err(error) => {
                        assert_eq!(variant(&error), "Busy", "{error}");
                        refused += 1;
                    }
                }
            }
            refused
        });
    }
    guard.release().await.unwrap();
    timing::soon("the hand-overs are through", waiters.join_all()).await;
    let refused: Vec<u32> = timing::soon("the others end", bargers.join_all()).await;
    assert!(refused.iter().sum::<u32>() > 100, "{refused:?}");
    assert!(entered.load(Ordering::SeqCst) >= HAND_OVERS);
    tidy::end(&server, "boleto:b41", timing::lease(), 0).await;
}

/// The lock is free and the head of the queue is dead: the one behind it neither spins nor burns its processor until it may enter.
#[tokio::test]
async fn b43_busy_loop_while_not_first() {
    let (server, register) = (RedisServer::start(), Register::start());
    let (raw, monitor) = (server.raw(), server.monitor());
    let setup = Setup::new(&server, &register).lease(timing::long_lease());
    let queue = wire::queue("boleto:b43");
    let queued = |count: u64| {
        timing::block_until("it is queued", timing::patience(), || {
            raw.run::<u64>(&["ZCARD", &queue]) == count
        })
    };
    let guard = server.manager().lock("boleto:b43").acquire().await.unwrap();
    let [mut dead, mut alive] = [0, 1].map(|_| Holder::start(HOLDER, &setup));
    dead.call("dead", "b43", Door::Queue, Body::For(timing::short_body()));
    queued(1);
    alive.call("alive", "b43", Door::Queue, Body::For(timing::short_body()));
    queued(2);
    dead.process().kill();
    let (start, mark, busy) = (Instant::now(), monitor.mark(), alive.process().busy());
    // handed to the dead one: free after its grace, and then not the living one's until that one is dropped
    guard.release().await.unwrap();
    alive.entered("alive");
    let (took, busy) = (start.elapsed(), alive.process().busy() - busy);
    let ticket = wire::arrivals(&monitor.since(mark)).pop().unwrap().1;
    let asks = monitor
        .since(mark)
        .into_iter()
        .filter(|seen| Verb::of_seen(seen) == Some(Verb::Ask) && seen.has(&ticket));
    let asks = asks.count();
    let lives = took.as_secs_f64() / timing::ticket_life().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a count of asks")]
    let rate = asks as f64 / lives.max(1.0);
    assert!(rate <= 12.0, "{asks} asks in {took:?}");
    // what a debug build needs to answer and to enter is not what spinning needs
    let allowed = took / 200 + timing::millis(15);
    assert!(busy <= allowed, "{busy:?} of {took:?}");
    assert_eq!(alive.returned("alive"), "");
    drop((dead, alive));
    tidy::end(&server, "boleto:b43", timing::lease(), 0).await;
}

/// Five hundred waiters of five managers: a hand-over costs what it costs with few, and the waiters don't ask in step.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b44_thundering_herd() {
    const WAITERS: usize = 500;
    const HAND_OVERS: usize = 100;
    let server = RedisServer::start();
    let monitor = server.monitor();
    // what users get: an ask a second
    let (lease, heartbeat, grace) = timing::DEFAULTS;
    let managers: Vec<_> = (0..5)
        .map(|_| {
            let builder = server.manager_builder();
            let builder = builder.lease(lease).heartbeat(heartbeat).grace(grace);
            builder.build().unwrap()
        })
        .collect();
    let guard = managers[0].lock("boleto:b44").acquire().await.unwrap();
    let (entered, told) = tokio::sync::mpsc::channel(1);
    let mut entered_by = told;
    let mut waiters = JoinSet::new();
    for waiter in 0..WAITERS {
        let (manager, entered) = (managers[waiter % 5].clone(), entered.clone());
        waiters.spawn(async move {
            let body = async { entered.send(()).await };
            manager.lock("boleto:b44").run(body).await.unwrap()
        });
    }
    let raw = server.raw();
    let queue = wire::queue("boleto:b44");
    timing::until("all queue", timing::patience(), || {
        raw.run::<usize>(&["ZCARD", &queue]) == WAITERS
    })
    .await;
    let asks = |seen: Vec<Seen>| -> Vec<u64> {
        let asks = seen.into_iter();
        asks.filter(|seen| Verb::of_seen(seen) == Some(Verb::Ask))
            .map(|seen| seen.micros)
            .collect()
    };
    // the asks of the next two seconds, of which each waiter has two
    let start = monitor.mark();
    timing::pass(heartbeat * 2).await;
    let beats = asks(monitor.since(start));
    let count = beats.len();
    assert!(
        (WAITERS * 3 / 2..WAITERS * 3).contains(&count),
        "{count} asks"
    );
    let mut bins = std::collections::HashMap::<u64, usize>::new();
    for micros in beats {
        *bins.entry(micros / 10_000).or_default() += 1;
    }
    // A machine that stands still for a moment bunches what falls due meanwhile, so it isn't the fullest bin that is judged: a
    // tenth of a second holds a twentieth of two seconds' asks, and two fifths of them if they are in step.
    let mut bins: Vec<_> = bins.into_values().collect();
    bins.sort_unstable();
    let fullest: usize = bins.iter().rev().take(10).sum();
    assert!(
        fullest * 3 <= count,
        "{fullest} of {count} asks are in step"
    );

    let (start, begun) = (monitor.mark(), Instant::now());
    guard.release().await.unwrap();
    for _ in 0..HAND_OVERS {
        timing::soon("the next one enters", entered_by.recv()).await;
    }
    let took = begun.elapsed();
    let seen = monitor.since(start);
    let scripts = seen.iter().filter(|seen| Verb::of_seen(seen).is_some());
    let scripts = scripts.count();
    // an eighth of a heartbeat is jitter
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small count"
    )]
    let due = (took.as_secs_f64() / heartbeat.as_secs_f64() * 8.0 / 7.0 * 500.0) as usize;
    // the bodies go on while this looks
    let through = HAND_OVERS + seen.iter().filter(|seen| seen.name() == "publish").count() / 50;
    assert!(
        scripts <= 3 * through + due + WAITERS / 20,
        "{scripts} scripts for {HAND_OVERS} hand-overs in {took:?}, {due} due by themselves"
    );
    drop(entered_by);
    waiters.abort_all();
    drop(waiters);
    tidy::end(&server, "boleto:b44", timing::lease(), 0).await;
}

/// Five thousand tickets on one key: no call takes longer for it, neither entering nor asking, giving up or handing over; and a
/// crowd of dead ones is dropped in portions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b45_script_cost_grows_with_the_queue() {
    const TICKETS: usize = 5_000;
    let server = RedisServer::start();
    let raw = server.raw();
    // rarely asked for, so that what is measured is what this test does
    let manager = |server: &RedisServer| {
        let builder = server.manager_builder().lease(timing::millis(60_000));
        let builder = builder.heartbeat(timing::millis(5_000));
        builder.grace(timing::millis(12_500)).build().unwrap()
    };
    let (crowd, near) = (manager(&server), manager(&server));
    let guard = near.lock("boleto:b45").acquire().await.unwrap();
    let queue = wire::queue("boleto:b45");
    let mut waiters = JoinSet::new();
    let entered = Arc::new(AtomicU64::new(0));
    let enter = |waiters: &mut JoinSet<()>, entered: &Arc<AtomicU64>, count: usize| {
        for _ in 0..count {
            let (crowd, entered) = (crowd.clone(), Arc::clone(entered));
            waiters.spawn(async move {
                if let Ok(guard) = crowd.lock("boleto:b45").acquire().await {
                    entered.fetch_add(1, Ordering::SeqCst);
                    guard.release().await.unwrap();
                }
            });
        }
    };
    let length = || raw.run::<usize>(&["ZCARD", &queue]);
    let few = timed(&raw, async || {
        enter(&mut waiters, &entered, 100);
        timing::until("they queue", timing::patience(), || length() == 100).await;
    });
    let few = few.await;
    let many = timed(&raw, async || {
        enter(&mut waiters, &entered, TICKETS - 100);
        timing::until("they queue", timing::patience(), || length() == TICKETS).await;
    });
    let many = many.await;
    let full = timed(&raw, async || {
        for _ in 0..50 {
            let call = near.lock("boleto:b45").max_waiters(100);
            let error = call.acquire().await.unwrap_err();
            assert_eq!(variant(&error), "Busy", "{error}");
        }
    });
    let full = full.await;
    let given_up = timed(&raw, async || {
        for _ in 0..50 {
            let call = near.lock("boleto:b45").wait(timing::millis(30));
            let error = call.acquire().await.unwrap_err();
            assert!(["WaitTimedOut", "Backend"].contains(&variant(&error).as_str()));
        }
        timing::until("they are gone", timing::patience(), || length() == TICKETS).await;
    });
    let given_up = given_up.await;
    let handed_over = timed(&raw, async || {
        guard.release().await.unwrap();
        timing::until("some enter", timing::patience(), || {
            entered.load(Ordering::SeqCst) >= 200
        })
        .await;
    });
    let handed_over = handed_over.await;
    for (what, micros) in [
        ("enter, a few", few),
        ("enter, many", many),
        ("a full queue", full),
        ("give up", given_up),
        ("hand over", handed_over),
    ] {
        assert!(micros < 1_000.0, "{what}: {micros} microseconds a call");
        // a machine that does other things disturbs all alike
        assert!(
            micros < few * 4.0 + 100.0,
            "{what}: {micros}, {few} with a few"
        );
    }
    // all of them die at once: each call drops some of them
    waiters.abort_all();
    drop(waiters);
    timing::until("all have left", timing::patience(), || length() == 0).await;
    tidy::end(&server, "boleto:b45", timing::lease(), 0).await;
}

/// The server's time for a script, in microseconds, on average over what `work` does.
async fn timed(raw: &tests::server::Raw, work: impl AsyncFnOnce()) -> f64 {
    raw.run::<()>(&["CONFIG", "RESETSTAT"]);
    work().await;
    let text: String = raw.run(&["INFO", "commandstats"]);
    let (mut calls, mut micros) = (0.0, 0.0);
    for line in text.lines().filter(|line| line.starts_with("cmdstat_eval")) {
        let number = |name: &str| -> f64 {
            let from = line
                .split([':', ','])
                .find_map(|part| part.strip_prefix(name));
            from.unwrap().parse().unwrap()
        };
        calls += number("calls=");
        micros += number("usec=");
    }
    assert!(calls >= 50.0, "only {calls} calls");
    micros / calls
}

/// Connections that listen are killed again and again, and the server restarts once with its data: all waiters enter, and then
/// hand-overs are as fast as before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b47_pub_sub_connection_cut() {
    let (every, rounds) = if timing::is_long() {
        (timing::millis(500), 40)
    } else {
        (timing::millis(300), 8)
    };
    let mut server = RedisServer::with(Settings::default().append_only());
    // a lease that outlives a restart
    let lease = timing::millis(5_000);
    let manager = || server.manager_builder().lease(lease).build().unwrap();
    let managers = [manager(), manager()];
    let entered = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let mut waiters = JoinSet::new();
    for waiter in 0..100 {
        let (manager, entered, over) = (
            managers[waiter % 2].clone(),
            Arc::clone(&entered),
            Arc::clone(&over),
        );
        waiters.spawn(async move {
            while !over.load(Ordering::SeqCst) {
                let body = async {
                    entered.fetch_add(1, Ordering::SeqCst);
                    timing::pass(timing::millis(5)).await;
                };
                match manager.lock("boleto:b47").run(body).await {
                    Ok(()) => {}
                    // whoever asks for the first time while there is no server is told so
                    Err(LockError::Backend { .. }) => timing::pass(timing::tick()).await,
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    for round in 0..rounds {
        timing::pass(every).await;
        if round == rounds / 2 {
            server.kill();
            server.restart();
        } else {
            let killed: u64 = server.raw().run(&["CLIENT", "KILL", "TYPE", "pubsub"]);
            assert!(killed > 0, "nobody listens in round {round}");
        }
    }
    let disturbed = entered.load(Ordering::SeqCst);
    timing::until("they enter again", timing::patience(), || {
        entered.load(Ordering::SeqCst) > disturbed + 20
    })
    .await;
    over.store(true, Ordering::SeqCst);
    timing::soon("all finish", waiters.join_all()).await;
    // undisturbed again, from one process to the other and back
    let mut tasks = JoinSet::new();
    let guard = managers[0].lock("boleto:b47").acquire().await.unwrap();
    let raw = server.raw();
    for waiter in 0..20 {
        let manager = managers[(waiter + 1) % 2].clone();
        tasks.spawn(async move { manager.lock("boleto:b47").run(async {}).await.unwrap() });
        timing::until("it queues", timing::patience(), || {
            raw.run::<usize>(&["ZCARD", &wire::queue("boleto:b47")]) == waiter + 1
        })
        .await;
    }
    let start = Instant::now();
    guard.release().await.unwrap();
    timing::soon("all are through", tasks.join_all()).await;
    let each = start.elapsed() / 20;
    assert!(each < timing::millis(50), "{each:?} a hand-over");
    tidy::end(&server, "boleto:b47", lease, 0).await;
}

/// A waiter's ticket is deleted by hand: it notices within a heartbeat and queues again, at the end; it never enters without one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b51_own_ticket_vanishes_while_waiting() {
    let server = RedisServer::start();
    let (near, far, raw) = (server.manager(), server.manager(), server.raw());
    let queue = wire::queue("boleto:b51");
    let guard = near
        .lock("boleto:b51")
        .lease(timing::long_lease())
        .acquire()
        .await
        .unwrap();
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut waiters = JoinSet::new();
    for waiter in 0..2 {
        let (far, order) = (far.clone(), Arc::clone(&order));
        waiters.spawn(async move {
            let body = async { order.lock().unwrap().push(waiter) };
            far.lock("boleto:b51").run(body).await.unwrap();
        });
        timing::until("it queues", timing::patience(), || {
            raw.run::<usize>(&["ZCARD", &queue]) == waiter + 1
        })
        .await;
    }
    let list = || raw.run::<Vec<(String, f64)>>(&["ZRANGE", &queue, "0", "-1", "WITHSCORES"]);
    let before = list();
    let (member, number) = before[0].clone();
    raw.run::<()>(&["ZREM", &queue, &member]);
    let deleted = Instant::now();
    timing::until("it queues again", timing::patience(), || list().len() == 2).await;
    let took = deleted.elapsed();
    assert!(
        took <= timing::heartbeat() + timing::moment() / 2,
        "{took:?}"
    );
    let after = list();
    assert_eq!(after[0], before[1], "the other is first now");
    assert_eq!(after[1].0, member, "the same ticket");
    assert!(after[1].1 > number && after[1].1 > before[1].1, "{after:?}");
    assert!(order.lock().unwrap().is_empty() && guard.is_held());
    guard.release().await.unwrap();
    timing::soon("both enter", waiters.join_all()).await;
    assert_eq!(*order.lock().unwrap(), [1, 0]);
    tidy::end(&server, "boleto:b51", timing::lease(), 0).await;
}

/// Hand-overs that others win don't end a wait, and don't lengthen it; no wait is one try; a wait that isn't given is the
/// manager's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b53_wait_limit_ignored_or_cut_short() {
    let server = RedisServer::start();
    let (near, raw, monitor) = (server.manager(), server.raw(), server.monitor());
    let far = server
        .manager_builder()
        .wait(timing::millis(700))
        .build()
        .unwrap();
    let queue = wire::queue("boleto:b53");
    let guard = near.lock("boleto:b53").acquire().await.unwrap();
    let mut rivals = JoinSet::new();
    for rival in 0..4 {
        let near = near.clone();
        rivals.spawn(async move {
            let call = near.lock("boleto:b53").wait(timing::patience());
            call.run(timing::pass(timing::millis(500))).await.unwrap();
        });
        timing::until("it queues", timing::patience(), || {
            raw.run::<usize>(&["ZCARD", &queue]) == rival + 1
        })
        .await;
    }
    let wait = timing::millis(2_000);
    let ours = tokio::spawn({
        let far = far.clone();
        async move {
            let start = Instant::now();
            let call = far.lock("boleto:b53").wait(wait);
            (call.acquire().await.map(drop), start.elapsed())
        }
    });
    timing::until("ours is the fifth", timing::patience(), || {
        raw.run::<usize>(&["ZCARD", &queue]) == 5
    })
    .await;
    // the rivals win hand-overs at 0.5, 1.0 and 1.5 s
    timing::pass(timing::millis(500)).await;
    guard.release().await.unwrap();
    let (outcome, took) = timing::soon("the wait ends", ours).await.unwrap();
    let error = outcome.unwrap_err();
    assert_eq!(variant(&error), "WaitTimedOut", "{error}");
    assert!(
        took >= wait && took <= wait + timing::millis(200),
        "{took:?}"
    );

    let start = monitor.mark();
    let zero = far.lock("boleto:b53").wait(Duration::ZERO);
    let error = zero.acquire().await.unwrap_err();
    assert_eq!(variant(&error), "WaitTimedOut", "{error}");
    assert_eq!(wire::executed(&monitor.since(start), Verb::Ask), 1);
    rivals.abort_all();
    drop(rivals);

    let holder = near.lock("boleto:b53").acquire().await.unwrap();
    let start = Instant::now();
    let error = far.lock("boleto:b53").acquire().await.unwrap_err();
    let (took, wait) = (start.elapsed(), timing::millis(700));
    assert_eq!(variant(&error), "WaitTimedOut", "{error}");
    assert!(
        took >= wait && took <= wait + timing::millis(200),
        "{took:?}"
    );
    holder.release().await.unwrap();
    tidy::end(&server, "boleto:b53", timing::lease(), 0).await;
}

/// All processes die, with ten waiters on each of a hundred keys: what they left goes by itself.
#[tokio::test]
async fn b54_queue_data_left_behind() {
    const KEYS: usize = 100;
    const WAITERS: usize = 10;
    let (server, register) = (RedisServer::start(), Register::start());
    let raw = server.raw();
    // a thousand waiters that ask eight times a second would be a test of the machine
    let (heartbeat, grace) = (timing::millis(500), timing::millis(1_250));
    let mut setup = Setup::new(&server, &register).lease(timing::millis(3_000));
    (setup.heartbeat, setup.grace) = (heartbeat, grace);
    let life = heartbeat * 4;
    let mut holders = [0, 1].map(|_| Holder::start(HOLDER, &setup));
    for key in 0..KEYS {
        for waiter in 0..=WAITERS {
            let (name, id) = (format!("{key}-{waiter}"), format!("b54-{key}"));
            holders[waiter % 2].call(&name, &id, Door::Queue, Body::For(timing::patience()));
        }
    }
    timing::block_until("all are there", timing::patience(), || {
        (0..KEYS).all(|key| {
            let key = format!("boleto:b54-{key}");
            let waiting: usize = raw.run(&["ZCARD", &wire::queue(&key)]);
            waiting == WAITERS && raw.has(&wire::record(&key))
        })
    });
    for holder in &mut holders {
        holder.process().kill();
    }
    let limit = setup.lease.max(life * 2) + timing::millis(1_000);
    tidy::gone_within(&server, limit).await;
    let keys = raw.keys("*");
    assert_eq!(keys.len(), KEYS, "a counter for each key, and nothing else");
    assert!(keys.iter().all(|key| key.ends_with(":n")));
    tidy::end(&server, "boleto:b54", timing::lease(), 0).await;
}
