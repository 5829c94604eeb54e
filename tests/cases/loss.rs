//! Losing the lock, and who learns of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use lockruntime::{LockError, LossReason};
use tests::fault::{Flow, Proxy};
use tests::history::What;
use tests::process::{Body, Door, Holder, Setup};
use tests::register::Register;
use tests::server::{Raw, Seen};
use tests::wire::Verb;
use tests::{RedisServer, check, tidy, timing, wire};

use super::HOLDER;

/// How an old holder ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Value,
    Error,
    Panic,
    Cancelled,
}

/// An operator deletes the key and another takes it: whatever way the old holder ends, the new one's lock stays as it is.
#[tokio::test]
async fn b04_releases_anothers_lock() {
    let server = RedisServer::start();
    let (old, new, raw) = (server.manager(), server.manager(), server.raw());
    let monitor = server.monitor();
    for end in [End::Value, End::Error, End::Panic, End::Cancelled] {
        let key = format!("boleto:b04-{end:?}");
        let record = wire::record(&key);
        let (begin, begun) = tokio::sync::oneshot::channel();
        let (finish, finished) = tokio::sync::oneshot::channel::<()>();
        let call = tokio::spawn({
            let (old, key) = (old.clone(), key.clone());
            async move {
                let body = async {
                    begin.send(()).unwrap();
                    finished.await.unwrap();
                    match end {
                        End::Value | End::Cancelled => Ok(7),
                        End::Error => Err("declined"),
                        End::Panic => panic!("this panic belongs to the test"),
                    }
                };
                // so long that no renewal tells the old holder
                old.lock(&key).lease(timing::long_lease()).run(body).await
            }
        });
        begun.await.unwrap();
        raw.run::<()>(&["DEL", &record]);
        let guard = new
            .lock(&key)
            .lease(timing::long_lease())
            .acquire()
            .await
            .unwrap();
        let (before, left) = (
            raw.run::<String>(&["GET", &record]),
            raw.left(&record).unwrap(),
        );
        let (start, ending) = (Instant::now(), monitor.mark());
        if matches!(end, End::Cancelled) {
            call.abort();
        } else {
            finish.send(()).unwrap();
        }
        let ended = call.await;
        match end {
            End::Value => assert_eq!(ended.unwrap().unwrap(), Ok(7)),
            End::Error => assert_eq!(ended.unwrap().unwrap(), Err("declined")),
            End::Panic => assert!(ended.unwrap_err().is_panic()),
            End::Cancelled => assert!(ended.unwrap_err().is_cancelled()),
        }
        timing::until("its release has come", timing::patience(), || {
            let seen = monitor.since(ending);
            seen.iter()
                .any(|seen| Verb::of_seen(seen) == Some(Verb::Release) && seen.has(&record))
        })
        .await;
        assert_eq!(raw.run::<String>(&["GET", &record]), before);
        let now = raw.left(&record).unwrap();
        assert!(
            now <= left && now + start.elapsed() + timing::millis(2) >= left,
            "{left:?} became {now:?}"
        );
        assert!(guard.is_held());
        guard.release().await.unwrap();
    }
    tidy::end(&server, "boleto:b04", timing::lease(), 0).await;
}

/// The same while the old holder still runs: its next renewal tells it, and doesn't touch the new one's lock.
#[tokio::test]
async fn b04_a_running_holder_is_told() {
    let server = RedisServer::start();
    let (old, new, raw) = (server.manager(), server.manager(), server.raw());
    let record = wire::record("boleto:running-b04");
    let (begin, begun) = tokio::sync::oneshot::channel();
    let call = tokio::spawn(async move {
        let body = async {
            begin.send(()).unwrap();
            std::future::pending::<()>().await;
        };
        old.lock("boleto:running-b04").run(body).await
    });
    begun.await.unwrap();
    raw.run::<()>(&["DEL", &record]);
    let guard = new
        .lock("boleto:running-b04")
        .lease(timing::long_lease())
        .acquire()
        .await
        .unwrap();
    let before = raw.run::<String>(&["GET", &record]);
    let start = Instant::now();
    let error = timing::soon("the old holder is told", call)
        .await
        .unwrap()
        .unwrap_err();
    assert!(
        matches!(
            error,
            LockError::Lost {
                reason: LossReason::Taken,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(
        start.elapsed() < timing::lease() / 3 + timing::moment(),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(raw.run::<String>(&["GET", &record]), before);
    guard.release().await.unwrap();
    tidy::end(&server, "boleto:running-b04", timing::lease(), 1).await;
}

/// Renewals arrive two leases late, when somebody else has held the lock and is gone: they don't bring it back.
#[tokio::test]
async fn b06_renewal_revives_a_lost_lock() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let (far, near, raw) = (
        server.manager_at(&proxy.address()),
        server.manager(),
        server.raw(),
    );
    let monitor = server.monitor();
    let start = monitor.mark();
    let record = wire::record("boleto:b06");
    let ticks = Arc::new(AtomicU64::new(0));
    let call = tokio::spawn({
        let ticks = Arc::clone(&ticks);
        async move {
            let body = async {
                loop {
                    ticks.fetch_add(1, Ordering::SeqCst);
                    timing::pass(timing::millis(1)).await;
                }
            };
            far.lock("boleto:b06").run(body).await.map(|(): ()| ())
        }
    });
    // the server knows the script by then: a late call of an unknown one would do nothing anyway
    let renewed = || wire::renewals(&monitor.since(start), "boleto:b06") > 0;
    timing::until("the lock is renewed", timing::patience(), renewed).await;
    proxy.flow(Flow::Hold, Flow::Pass);
    let held = Instant::now();
    // waits its turn: in the moment in which it enters, the first body must be over
    let at_entry = near
        .lock("boleto:b06")
        .run(async { ticks.load(Ordering::SeqCst) })
        .await
        .unwrap();
    let error = timing::soon("the first call returns", call)
        .await
        .unwrap()
        .unwrap_err();
    assert!(error.is_lost(), "{error:?}");
    assert_eq!(
        ticks.load(Ordering::SeqCst),
        at_entry,
        "the first body ran beside the second"
    );
    timing::pass((timing::lease() * 2).saturating_sub(held.elapsed())).await;
    assert!(!raw.has(&record));
    let open = monitor.mark();
    proxy.heal();
    let renewed = || wire::executed(&monitor.since(open), Verb::Renew) > 0;
    timing::until(
        "the late renewals are executed",
        timing::patience(),
        renewed,
    )
    .await;
    // not even for the moment until the late release comes
    let set = |seen: &Seen| seen.by_script && seen.name() == "set" && seen.has(&record);
    let late = monitor.since(open);
    assert!(
        !late.iter().any(set),
        "a late renewal created {record}: {late:?}"
    );
    assert!(!raw.has(&record));
    tidy::end(&server, "boleto:b06", timing::lease(), 1).await;
}

/// A partition that drops everything silently: the old body is over before the new one begins, and its call says so within a
/// lease.
#[tokio::test]
async fn b14_holder_not_told_of_the_loss() {
    let (server, register) = (RedisServer::start(), Register::start());
    let proxy = Proxy::before(&server.address());
    let lease = timing::crash_lease();
    let near = Setup::new(&server, &register).lease(lease);
    let mut first = Holder::start(HOLDER, &near.clone().through(&server, &proxy.address()));
    let mut second = Holder::start(HOLDER, &near);
    first.call("first", "b14", Door::Queue, Body::UntilTold);
    let (_, token) = first.entered("first");
    second.call(
        "second",
        "b14",
        Door::Queue,
        Body::For(timing::short_body()),
    );
    timing::pass(timing::millis(300)).await;
    proxy.black_hole();
    let cut = Instant::now();
    let error = first.returned("first");
    assert!(error.starts_with("Lost: "), "{error}");
    assert!(
        cut.elapsed() <= lease + timing::moment(),
        "told after {:?}",
        cut.elapsed()
    );
    let (_, next) = second.entered("second");
    assert_eq!(second.returned("second"), "");

    let events = register.events();
    check::assert_exclusive(&events);
    let last = events.iter().rfind(|event| event.token == token).unwrap();
    let entered = events
        .iter()
        .find(|event| event.token == next && event.what == What::Entered)
        .unwrap();
    assert!(
        last.at < entered.at,
        "the first body was alive {:?} after the second began",
        last.at - entered.at
    );
    tidy::end(&server, "boleto:b14", lease, 0).await;
}

/// The server stands still: for half a lease the hold is kept; for one and a half the body is stopped before the server goes
/// on, and late answers don't revive it.
#[tokio::test]
async fn b71_server_slow_or_blocked() {
    let mut server = RedisServer::start();
    let (manager, lease) = (server.manager(), timing::lease());
    let guard = manager.lock("boleto:b71").acquire().await.unwrap();
    server.pause();
    timing::pass(lease / 2).await;
    assert!(guard.is_held());
    server.resume();
    // two renewals later it still is
    timing::pass(lease).await;
    assert!(guard.is_held());
    guard.release().await.unwrap();

    let ticks = Arc::new(AtomicU64::new(0));
    let call = tokio::spawn({
        let (manager, ticks) = (manager.clone(), Arc::clone(&ticks));
        async move {
            let body = async {
                loop {
                    ticks.fetch_add(1, Ordering::SeqCst);
                    timing::pass(timing::millis(1)).await;
                }
            };
            manager.lock("boleto:b71").run(body).await.map(|(): ()| ())
        }
    });
    timing::until("the body runs", timing::patience(), || {
        ticks.load(Ordering::SeqCst) > 0
    })
    .await;
    server.pause();
    let start = Instant::now();
    let error = timing::soon("the call returns", call)
        .await
        .unwrap()
        .unwrap_err();
    assert!(
        error.is_lost() && start.elapsed() < lease * 3 / 2,
        "{error:?} after {:?}",
        start.elapsed()
    );
    let ended = ticks.load(Ordering::SeqCst);
    timing::pass((lease * 3 / 2).saturating_sub(start.elapsed())).await;
    server.resume();
    assert_free_for_good(&server.raw(), "boleto:b71").await;
    assert_eq!(ticks.load(Ordering::SeqCst), ended);
    tidy::end(&server, "boleto:b71", lease, 1).await;
}

/// The key goes, and doesn't come back within a lease.
async fn assert_free_for_good(raw: &Raw, key: &str) {
    let record = wire::record(key);
    timing::until("the key goes", timing::lease(), || !raw.has(&record)).await;
    let start = Instant::now();
    while start.elapsed() < timing::lease() {
        assert!(!raw.has(&record), "{record} came back");
        timing::pass(timing::tick()).await;
    }
}
