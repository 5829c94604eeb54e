//! A server that is down, loads, restarts empty, forgets scripts, or removes keys.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use lockruntime::{BackendErrorKind, Finding, LockError, LossReason};
use tests::fault::Proxy;
use tests::server::{Port, Settings, lock_url, manager_builder};
use tests::{RedisServer, logs, tidy, timing, wire};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// A limited try at this address: over within its limit, give or take, with a storage error; the body isn't run.
async fn hangs_no_longer_than_its_limit(what: &str, address: &str) {
    let wait = timing::millis(1_000);
    let locks = manager_builder(&lock_url("", address)).build().unwrap();
    let ran = AtomicBool::new(false);
    let start = Instant::now();
    let call = locks
        .lock("boleto:b52")
        .wait(wait)
        .run(async { ran.store(true, Ordering::SeqCst) });
    let error = timing::soon("the call returns", call).await.unwrap_err();
    let taken = start.elapsed();
    assert!(
        taken < wait + timing::millis(250),
        "{what}: {taken:?}: {error}"
    );
    assert!(
        taken >= wait
            || matches!(&error, LockError::Backend { source, .. } if source.kind() == BackendErrorKind::Unreachable),
        "{what}: gave up after {taken:?}: {error}"
    );
    assert!(
        matches!(&error, LockError::Backend { source, .. } if source.kind().is_transient()),
        "{what}: {error:?}"
    );
    assert!(error.is_retryable() && error.to_string().contains(address));
    assert!(!ran.load(Ordering::SeqCst), "{what}: the body ran");
    // a reject call doesn't wait for it either
    let start = Instant::now();
    let reject = locks.lock("boleto:b52").try_acquire().await.unwrap_err();
    assert!(
        matches!(reject, LockError::Backend { .. }),
        "{what}: {reject:?}"
    );
    assert!(start.elapsed() < wait + timing::millis(250), "{what}");
}

#[tokio::test]
async fn b52_hang_when_redis_is_down() {
    let closed = Port::claim();
    let closed = (format!("127.0.0.1:{}", closed.number()), closed);
    let open = Port::claim();
    let silent = TcpListener::bind(("127.0.0.1", open.number())).unwrap();
    let silent = (format!("127.0.0.1:{}", open.number()), silent);
    let mut server = RedisServer::with(
        Settings::default()
            .line("key-load-delay 20000")
            .line("loading-process-events-interval-bytes 1024"),
    );
    let proxy = Proxy::before(&server.address());
    proxy.black_hole();
    let black_hole = proxy.address();
    tokio::join!(
        hangs_no_longer_than_its_limit("refused", &closed.0),
        hangs_no_longer_than_its_limit("black-holed", &black_hole),
        hangs_no_longer_than_its_limit("never answering", &silent.0),
    );

    let raw = server.raw();
    for number in 0..1_000 {
        raw.run::<()>(&["SET", &format!("other:{number}"), &"x".repeat(100)]);
    }
    raw.run::<()>(&["SAVE"]);
    server.kill();
    server.restart_loading();
    hangs_no_longer_than_its_limit("loading", &server.address()).await;
    assert_eq!(logs::panics(), Vec::<String>::new());
}

/// Scripts are flushed all the time under load: no caller notices, no lock is lost, and a script is sent again only where it was
/// forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b55_script_cache_lost() {
    const CALLERS: usize = 8;
    /// ask, renew, release, withdraw
    const SCRIPTS: u64 = 4;
    let server = RedisServer::start();
    let raw = server.raw();
    let managers = [server.manager(), server.manager()];
    let stop = Instant::now() + timing::millis(if timing::is_long() { 10_000 } else { 2_000 });
    let inside = Arc::new(AtomicBool::new(false));
    let calls = Arc::new(AtomicU64::new(0));
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (locks, inside, calls) = (
            managers[caller % 2].clone(),
            Arc::clone(&inside),
            Arc::clone(&calls),
        );
        callers.spawn(async move {
            while Instant::now() < stop {
                let body = async {
                    assert!(!inside.swap(true, Ordering::SeqCst));
                    timing::pass(timing::micros(300)).await;
                    inside.store(false, Ordering::SeqCst);
                };
                locks.lock("boleto:b55").run(body).await.unwrap();
                calls.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    // held all the time, and renewed
    let long = {
        let locks = managers[0].clone();
        tokio::spawn(async move {
            let body = timing::past(stop);
            let lock = locks.lock("boleto:b55-held").lease(timing::short_lease());
            lock.run(body).await
        })
    };
    let before = raw.calls("eval");
    let mut flushes = 0;
    while Instant::now() < stop {
        raw.run::<()>(&["SCRIPT", "FLUSH"]);
        flushes += 1;
        timing::pass(timing::millis(50)).await;
    }
    timing::soon("the callers end", callers.join_all()).await;
    timing::soon("the long one ends", long)
        .await
        .unwrap()
        .unwrap();
    let sent = raw.calls("eval") - before;
    assert!(calls.load(Ordering::Relaxed) > 100, "{calls:?}");
    // each of the two managers may have had a call of each script under way when it was forgotten, and a waiter's beat beside
    let most = flushes * SCRIPTS * 3;
    assert!(
        sent >= flushes && sent <= most,
        "{sent} for {flushes} flushes"
    );
    tidy::end(&server, "boleto:b55", timing::lease(), 0).await;
}

/// The server restarts with nothing: the old holder is stopped as soon as its process is connected again, the next one enters
/// with a greater token, and what they overlap by is that time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b57_redis_restarts_empty() {
    for protocol in [3, 2] {
        restarts_empty(protocol).await;
    }
}

async fn restarts_empty(protocol: u32) {
    let key = &*format!("boleto:b57-{protocol}");
    let lease = timing::millis(9_000);
    let mut server = RedisServer::start();
    let build = || {
        manager_builder(&format!("{}&protocol={protocol}", server.url()))
            .lease(lease)
            .build()
            .unwrap()
    };
    let (one, two) = (build(), build());
    let (begun, begins) = oneshot::channel();
    let first = {
        let (one, key) = (one.clone(), key.to_owned());
        tokio::spawn(async move {
            let body = async {
                let token = lockruntime::current().unwrap().fencing_token();
                begun.send(token).unwrap();
                std::future::pending::<()>().await;
            };
            let result = one.lock(&key).run(body).await;
            (result, Instant::now())
        })
    };
    let token = timing::soon("the first enters", begins).await.unwrap();
    // a server that never answered isn't waited for: this one has, before it goes down
    assert!(two.lock(key).try_acquire().await.unwrap_err().is_busy());
    let second = {
        let (two, key) = (two.clone(), key.to_owned());
        tokio::spawn(async move {
            let guard = two.lock(&key).acquire().await.unwrap();
            (guard, Instant::now())
        })
    };
    timing::soon("the second queues", async {
        while one.snapshot(key).await.unwrap().waiting.is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    server.kill();
    server.restart();
    let back = Instant::now();
    let (result, stopped) = timing::soon("the first is stopped", first).await.unwrap();
    assert!(
        matches!(
            result,
            Err(LockError::Lost {
                reason: LossReason::Taken,
                ..
            })
        ),
        "{result:?}"
    );
    // a connection that is missed is tried again after a second at most
    let until = timing::millis(1_100);
    assert!(stopped - back < until, "{protocol}: {:?}", stopped - back);
    let (guard, entered) = timing::soon("the second enters", second).await.unwrap();
    assert!(guard.fencing_token() > token);
    let overlap = stopped.saturating_duration_since(entered);
    assert!(overlap < until, "{protocol}: {overlap:?}");
    guard.release().await.unwrap();
    // one warning: the lost lock
    tidy::end(&server, key, lease, 1).await;
}

/// A server that is full of other things removes the lock: the holder is stopped at its next renewal with a hint at eviction,
/// the next grant has a greater token, and the policy was warned of at the start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b60_lock_key_evicted() {
    let key = "boleto:b60";
    let server = RedisServer::with(
        Settings::default()
            .line("maxmemory 3mb")
            .line("maxmemory-policy allkeys-random"),
    );
    let (locks, raw) = (server.manager(), server.raw());
    let health = locks.health().await.unwrap();
    assert!(
        matches!(&health.findings[..], [Finding::Evicts { policy, .. }] if policy == "allkeys-random"),
        "{health:?}"
    );
    let (begun, begins) = oneshot::channel();
    let call = {
        let locks = locks.clone();
        tokio::spawn(async move {
            let body = async {
                begun
                    .send(lockruntime::current().unwrap().fencing_token())
                    .unwrap();
                std::future::pending::<()>().await;
            };
            let result = locks.lock(key).run(body).await;
            (result, Instant::now())
        })
    };
    let token = timing::soon("the body begins", begins).await.unwrap();
    let record = wire::record(key);
    let mut number = 0;
    while raw.has(&record) {
        raw.run::<()>(&["SET", &format!("cache:{number}"), &"x".repeat(1_000)]);
        number += 1;
    }
    let gone = Instant::now();
    let (result, stopped) = timing::soon("the holder is stopped", call).await.unwrap();
    let error = result.unwrap_err();
    assert!(
        error.is_lost() && error.to_string().contains("evicted"),
        "{error}"
    );
    let limit = timing::lease() / 3 + timing::moment() * 3;
    assert!(stopped - gone < limit, "{:?}", stopped - gone);
    // whatever else was removed, the counter among it
    raw.run::<()>(&["FLUSHALL"]);
    let guard = locks.lock(key).try_acquire().await.unwrap();
    assert!(guard.fencing_token() > token);
    guard.release().await.unwrap();
    // two warnings: the policy, and the lost lock
    tidy::end(&server, key, timing::lease(), 2).await;
    let policy = logs::warnings_about(&["allkeys-random"]);
    assert!(
        policy.iter().any(|line| line.contains(&server.address())),
        "{policy:?}"
    );
}
