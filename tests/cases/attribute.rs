//! What the attribute promises, on a real server: which commands a call sends, and which it doesn't.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lockruntime::{BackendErrorKind, LockError, LockManager, distributed_lock};
use tests::fault::Proxy;
use tests::server::Monitor;
use tests::wire::{Verb, executed};
use tests::{RedisServer, logs, tidy, timing, wire};
use tokio::sync::oneshot;

type Answer<T = u64> = Result<T, LockError>;

/// How often the server was asked for a lock, and gave one back, while `call` ran.
async fn asked_by<T>(monitor: &Monitor, call: impl Future<Output = T>) -> (T, usize, usize) {
    let mark = monitor.mark();
    let value = call.await;
    let seen = monitor.since(mark);
    (
        value,
        executed(&seen, Verb::Ask),
        executed(&seen, Verb::Release),
    )
}

struct Payment<T> {
    tenant: T,
    ran: Arc<AtomicU64>,
}

impl<T: Display> Payment<T> {
    #[distributed_lock(key = "boleto:b26-<self.tenant>", mode = "reject")]
    async fn of_self(&self) -> Answer {
        Ok(self.ran.fetch_add(1, Ordering::SeqCst))
    }

    #[distributed_lock(key = "boleto:b26-<self.tenant>:<id>")]
    async fn of_both(self, id: impl Display) -> Answer {
        Ok(self.ran.fetch_add(1, Ordering::SeqCst))
    }
}

#[distributed_lock(key = ["boleto:b26", "boleto:b26-<name>"])]
async fn by_pattern((name, ran): (&str, Arc<AtomicU64>)) -> Answer {
    Ok(ran.fetch_add(1, Ordering::SeqCst))
}

/// A value that is missing when the call comes: no command, no body, an error that names the placeholder. (A name that is
/// missing altogether, an `Option` and a method don't compile: `macro_ui/fail/key`.)
#[tokio::test]
async fn b26_a_missing_value_is_refused_before_any_command() {
    let server = RedisServer::start();
    let (manager, monitor) = (server.manager(), server.monitor());
    let ran = Arc::new(AtomicU64::new(0));
    let payment = |tenant| Payment {
        tenant,
        ran: Arc::clone(&ran),
    };
    // the connection and the scripts are there
    let calls = async {
        payment("x").of_self().await.unwrap();
        payment("x").of_both(1).await.unwrap();
        by_pattern(("x", Arc::clone(&ran))).await.unwrap();
    };
    manager.scope(calls).await;
    assert_eq!(ran.swap(0, Ordering::SeqCst), 3);

    let mark = monitor.mark();
    let missing = async {
        [
            payment("").of_self().await.unwrap_err(),
            payment("x").of_both("").await.unwrap_err(),
            payment("").of_both(1).await.unwrap_err(),
            by_pattern(("", Arc::clone(&ran))).await.unwrap_err(),
        ]
    };
    let errors = manager.scope(missing).await;
    for (error, name) in errors
        .iter()
        .zip(["<self.tenant>", "<id>", "<self.tenant>", "<name>"])
    {
        assert!(matches!(error, LockError::InvalidKey { .. }), "{error}");
        assert!(!error.is_busy() && !error.is_retryable());
        assert!(error.to_string().contains(name), "{error}");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    let seen = monitor.since(mark);
    assert!(
        seen.iter().all(|seen| Verb::of_seen(seen).is_none()),
        "{seen:?}"
    );
    tidy::end(&server, "boleto:b26", timing::lease(), 0).await;
}

#[distributed_lock(key = "boleto:b30-<name>", mode = "reject")]
async fn long_or_not(name: &str) -> Answer<String> {
    Ok(lockruntime::current().unwrap().key().to_string())
}

#[distributed_lock(key = "boleto:b30-<name>", mode = "queue", wait = "300ms")]
async fn long_in_turn(name: &str) -> Answer<String> {
    Ok(lockruntime::current().unwrap().key().to_string())
}

/// Keys are bounded: over the limit a readable prefix and a hash. A long name is never busy by itself, and two names that differ
/// at their very end are two locks.
#[tokio::test]
async fn b30_a_long_name_is_no_busy_name() {
    let server = RedisServer::start();
    let manager = server.manager();
    for length in [513, 100 * 1_024, 10 * 1_024 * 1_024] {
        let name = "x".repeat(length);
        let other = format!("{name}y");
        let calls = async {
            let key = long_or_not(&name).await.unwrap();
            assert!(
                key.len() <= 512 && key.starts_with("boleto:b30-xxx"),
                "{key}"
            );
            assert_eq!(long_in_turn(&name).await.unwrap(), key);
            assert_ne!(long_or_not(&other).await.unwrap(), key);

            let text = format!("boleto:b30-{name}");
            let guard = manager.lock(&text).acquire().await.unwrap();
            assert_eq!(guard.key().as_str(), key);
            assert!(long_or_not(&name).await.unwrap_err().is_busy());
            let error = long_in_turn(&name).await.unwrap_err();
            assert!(matches!(error, LockError::WaitTimedOut { .. }), "{error}");
            long_or_not(&other).await.unwrap();
            guard.release().await.unwrap();
        };
        manager.scope(calls).await;
    }
    tidy::end(&server, "boleto:b30", timing::lease(), 0).await;
}

#[distributed_lock(key = "boleto:b82-<id>")]
async fn pay(id: u64) -> Answer {
    Ok(id)
}

struct Service;

impl Service {
    #[distributed_lock(key = "boleto:b82-<id>")]
    async fn pay(&self, id: u64) -> Answer {
        Ok(id)
    }

    async fn through_self(&self) -> Answer {
        self.pay(1).await
    }
}

trait Dynamic {
    fn pay(&self) -> Pin<Box<dyn Future<Output = Answer> + '_>>;
}

impl Dynamic for Service {
    #[distributed_lock(key = "boleto:b82-boxed")]
    fn pay(&self) -> Pin<Box<dyn Future<Output = Answer> + '_>> {
        Box::pin(async { Ok(1) })
    }
}

#[distributed_lock(key = "boleto:b82-<depth>")]
async fn deep(depth: u64) -> Answer {
    if depth > 1 {
        return Box::pin(deep(depth - 1)).await;
    }
    Ok(depth)
}

/// Whichever way a function is called, the server sees the lock being taken and given back.
#[tokio::test]
async fn b82_every_way_to_call_is_seen_by_the_server() {
    let server = RedisServer::start();
    let (manager, monitor) = (server.manager(), server.monitor());
    let pointer: fn(u64) -> _ = pay;
    let closure = |id| async move { pay(id).await };
    let dynamic: &dyn Dynamic = &Service;
    let calls = async {
        pay(1).await.unwrap();
        let (_, asks, releases) = asked_by(&monitor, pay(1)).await;
        assert_eq!((asks, releases), (1, 1), "by name");
        let (_, asks, releases) = asked_by(&monitor, Service.through_self()).await;
        assert_eq!((asks, releases), (1, 1), "through self");
        let (_, asks, releases) = asked_by(&monitor, dynamic.pay()).await;
        assert_eq!((asks, releases), (1, 1), "through a trait object");
        let (_, asks, releases) = asked_by(&monitor, pointer(1)).await;
        assert_eq!((asks, releases), (1, 1), "through a function pointer");
        let (_, asks, releases) = asked_by(&monitor, closure(1)).await;
        assert_eq!((asks, releases), (1, 1), "through a closure");
        let (_, asks, releases) = asked_by(&monitor, deep(3)).await;
        assert_eq!((asks, releases), (3, 3), "recursion over three keys");
        let (unpolled, asks, releases) = asked_by(&monitor, async { Some(pay(1)) }).await;
        assert_eq!((asks, releases), (0, 0), "not polled");
        drop(unpolled);
    };
    manager.scope(calls).await;
    tidy::end(&server, "boleto:b82", timing::lease(), 0).await;
}

#[distributed_lock(key = "boleto:b85-<id>")]
async fn spawns(id: u64, go: oneshot::Receiver<()>) -> Answer<tokio::task::JoinHandle<bool>> {
    let work = async move {
        go.await.unwrap();
        lockruntime::current().is_none()
    };
    Ok(tokio::spawn(work))
}

#[distributed_lock(key = "boleto:b85-<id>")]
async fn streams(id: u64) -> Answer<impl Iterator<Item = bool>> {
    assert!(lockruntime::current().is_some());
    Ok(std::iter::repeat_with(|| lockruntime::current().is_none()).take(3))
}

/// The lock ends when the function returns, as its documentation says: what it spawned, or a stream that it returned, goes on
/// without it, and can tell. (What isn't async, or returns a future, doesn't compile: `macro_ui/fail/function`.)
#[tokio::test]
async fn b85_work_that_outlives_the_body_is_outside_of_the_lock() {
    let server = RedisServer::start();
    let (manager, raw) = (server.manager(), server.raw());
    let (go, gone) = oneshot::channel();
    let task = manager.scope(spawns(1, gone)).await.unwrap();
    assert!(!task.is_finished());
    assert!(!raw.has(&wire::record("boleto:b85-1")));
    go.send(()).unwrap();
    assert!(
        task.await.unwrap(),
        "the task believes that it has the lock"
    );

    let stream = manager.scope(streams(1)).await.unwrap();
    assert!(!raw.has(&wire::record("boleto:b85-1")));
    assert_eq!(stream.collect::<Vec<_>>(), [true; 3]);
    tidy::end(&server, "boleto:b85", timing::lease(), 0).await;
}

#[distributed_lock(key = "boleto:b92", lease = "30s")]
async fn in_seconds(look: impl Fn() -> Duration) -> Answer<Duration> {
    Ok(look())
}

#[distributed_lock(key = "boleto:b92", lease = "30000ms")]
async fn in_millis(look: impl Fn() -> Duration) -> Answer<Duration> {
    Ok(look())
}

#[distributed_lock(key = "boleto:b92", lease = length)]
async fn computed(length: Duration) -> Answer<()> {
    Ok(())
}

/// A lease is what it says, in whichever unit; one that is computed is checked before any command. (What a literal may not be is
/// in `macro_ui/fail/duration`.)
#[tokio::test]
async fn b92_a_lease_is_what_it_says() {
    let server = RedisServer::start();
    let (manager, monitor, raw) = (server.manager(), server.monitor(), server.raw());
    let look = || raw.left(&wire::record("boleto:b92")).unwrap();
    let leases = async {
        [
            in_seconds(look).await.unwrap(),
            in_millis(look).await.unwrap(),
        ]
    };
    for left in manager.scope(leases).await {
        let short = Duration::from_secs(30) - timing::moment();
        assert!(left <= Duration::from_secs(30) && left > short, "{left:?}");
    }
    let mark = monitor.mark();
    for wrong in [
        Duration::ZERO,
        Duration::from_millis(1),
        Duration::from_secs(86_401),
        Duration::from_millis(u64::MAX),
        Duration::MAX,
    ] {
        let error = manager.scope(computed(wrong)).await.unwrap_err();
        assert!(matches!(error, LockError::InvalidLease { .. }), "{error}");
    }
    let seen = monitor.since(mark);
    assert!(
        seen.iter().all(|seen| Verb::of_seen(seen).is_none()),
        "{seen:?}"
    );
    tidy::end(&server, "boleto:b92", Duration::from_secs(30), 0).await;
}

#[distributed_lock(key = "boleto:b94-<lease_ms>", lease = Duration::from_millis(lease_ms))]
async fn hold_for(lease_ms: u64, length: Duration, inside: &AtomicU64) -> Answer<()> {
    /// Leaves on every way out.
    struct Inside<'a>(&'a AtomicU64);
    impl Drop for Inside<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    assert_eq!(
        inside.fetch_add(1, Ordering::SeqCst),
        0,
        "two bodies at once"
    );
    let _inside = Inside(inside);
    timing::pass(length).await;
    Ok(())
}

/// Two callers behind a round trip of 40 ms, with leases of its size: each is refused by its lease, or told that no answer came
/// in time, or works, or loses its lock; never two at once, never a panic, never a thrashing watchdog.
#[tokio::test]
async fn b94_a_lease_shorter_than_the_network_allows() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let managers: [LockManager; 2] = [0, 1].map(|_| server.manager_at(&proxy.address()));
    let monitor = server.monitor();
    // both are connected
    for manager in &managers {
        manager.snapshot("boleto:b94").await.unwrap();
    }
    proxy.delay(Duration::from_millis(20));
    let length = timing::millis(3_000);
    for lease_ms in [10, 50, 120, 400] {
        let inside = AtomicU64::new(0);
        let mark = monitor.mark();
        let start = std::time::Instant::now();
        let call = |manager: &LockManager| manager.scope(hold_for(lease_ms, length, &inside));
        let both = timing::soon("both calls end", async {
            tokio::join!(call(&managers[0]), call(&managers[1]))
        });
        let outcomes = <[_; 2]>::from(both.await);
        let took = start.elapsed();
        let renewals = executed(&monitor.since(mark), Verb::Renew);
        let refused = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Err(LockError::InvalidLease { .. })))
            .count();
        if lease_ms < 100 {
            assert_eq!((refused, renewals), (2, 0), "{lease_ms} ms: {outcomes:?}");
            continue;
        }
        let failed = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        for error in failed {
            let in_time = matches!(error, LockError::Backend { source, .. } if source.kind() == BackendErrorKind::Timeout);
            assert!(in_time || error.is_lost(), "{lease_ms} ms: {error}");
        }
        if lease_ms == 400 {
            assert!(outcomes.iter().any(Result::is_ok), "{outcomes:?}");
        }
        assert!(
            renewals as f64 <= 100.0 * took.as_secs_f64(),
            "{lease_ms} ms: {renewals} renewals in {took:?}"
        );
    }
    tidy::gone_within(&server, timing::lease() + timing::millis(1_000)).await;
    assert_eq!(logs::panics(), Vec::<String>::new());
}
