//! A lock is given back on every way out, and nobody gives back another's.

use std::future::pending;

use tests::{RedisServer, tidy, timing, wire};
use tokio::sync::oneshot;

use super::{long_lived, soon};

/// An error, a panic, a call that is cancelled inside, a guard that is dropped: the lock is gone at once each time.
///
/// Taken out, in `guard/mod.rs`: `self.hold.leave` in `LockGuard`'s `Drop`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_way_out() {
    let server = RedisServer::start();
    let locks = long_lived(&server);
    let key = "boleto:ways-out";
    let value: Result<(), &str> = locks
        .lock(key)
        .run(async { Err("declined") })
        .await
        .unwrap();
    assert_eq!(value, Err("declined"));
    tidy::gone_within(&server, soon()).await;

    let panics = {
        let locks = locks.clone();
        tokio::spawn(async move {
            let body = async { panic!("this panic belongs to the test") };
            locks
                .lock(key)
                .run::<_>(async {
                    let () = body.await;
                })
                .await
        })
    };
    assert!(panics.await.unwrap_err().is_panic());
    tidy::gone_within(&server, soon()).await;

    let (begun, begins) = oneshot::channel();
    let cancelled = {
        let locks = locks.clone();
        tokio::spawn(async move {
            let body = async {
                begun.send(()).unwrap();
                pending::<()>().await;
            };
            locks.lock(key).run(body).await
        })
    };
    timing::soon("the body begins", begins).await.unwrap();
    cancelled.abort();
    assert!(cancelled.await.unwrap_err().is_cancelled());
    tidy::gone_within(&server, soon()).await;

    drop(locks.lock(key).acquire().await.unwrap());
    tidy::gone_within(&server, soon()).await;
    tidy::end(&server, key, timing::lease(), 0).await;
}

/// The lock is another's by now: the old holder's release leaves it as it is.
///
/// Taken out, in `prelude.lua`: `owner_of(record) ~= ticket` in `hand_over`.
#[tokio::test]
async fn only_ones_own() {
    let server = RedisServer::start();
    let (old, new, raw) = (long_lived(&server), long_lived(&server), server.raw());
    let key = "boleto:own";
    let guard = old.lock(key).acquire().await.unwrap();
    raw.run::<()>(&["DEL", &wire::record(key)]);
    let theirs = new.lock(key).acquire().await.unwrap();
    let record: String = raw.run(&["GET", &wire::record(key)]);
    assert!(guard.release().await.unwrap_err().is_lost());
    assert_eq!(
        raw.run::<Option<String>>(&["GET", &wire::record(key)]),
        Some(record)
    );
    theirs.release().await.unwrap();
    tidy::end(&server, key, timing::lease(), 0).await;
}
