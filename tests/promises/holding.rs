//! How long a lock is held, at the most and at the least.

use std::future::pending;
use std::time::Instant;

use lockruntime::LockError;
use tests::{RedisServer, tidy, timing};

use super::{long_lived, soon};

/// The body is dropped at the cap, and the next one enters.
///
/// Taken out, in `hold.rs`: `started + most` in `cap`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holds_end_at_their_cap() {
    let server = RedisServer::start();
    let locks = long_lived(&server);
    let key = "boleto:cap";
    let most = timing::millis(300);
    let start = Instant::now();
    let capped = locks.lock(key).max_hold(most).run(pending::<()>());
    let error = timing::soon("the cap ends it", capped).await.unwrap_err();
    assert!(
        matches!(error, LockError::HoldCapReached { .. }),
        "{error:?}"
    );
    let taken = start.elapsed();
    assert!(taken >= most - timing::tick() * 2, "{taken:?}");
    assert!(taken < most + soon(), "{taken:?}");
    let next = locks.lock(key).wait(soon());
    next.run(async {}).await.unwrap();
    // what ended by its cap is told once
    let warnings = tests::logs::warnings_about(&[key]).len();
    tidy::end(&server, key, timing::lease(), warnings).await;
    assert!(warnings <= 1);
}

/// A short body's caller goes on at once, and its lock stays for the rest of the time.
///
/// Taken out, in `watchdog/attempt/mod.rs`: `self.order.min_hold`, until when a lock is kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_bodies_keep_their_lock() {
    let server = RedisServer::start();
    let (locks, other) = (long_lived(&server), long_lived(&server));
    let key = "boleto:least";
    let least = timing::millis(1_500);
    let start = Instant::now();
    locks.lock(key).min_hold(least).run(async {}).await.unwrap();
    assert!(start.elapsed() < least, "{:?}", start.elapsed());
    assert!(other.lock(key).try_acquire().await.unwrap_err().is_busy());
    let next = timing::soon("its turn comes", other.lock(key).acquire()).await;
    let taken = start.elapsed();
    assert!(taken >= least - timing::tick() * 2, "{taken:?}");
    assert!(taken < least + soon(), "{taken:?}");
    next.unwrap().release().await.unwrap();
    tidy::end(&server, key, timing::lease(), 0).await;
}
