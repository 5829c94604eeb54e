//! A body never runs without its lock.

use std::sync::atomic::{AtomicU64, Ordering};

use lockruntime::{LockError, LockManager};
use tests::server::{Settings, lock_url, manager_builder};
use tests::{RedisServer, timing, wire};

/// Busy for too long, something foreign at the key, no right, no server, shut down: an error that says which, and no body.
///
/// Taken out, in `manager/run.rs`: the `?` after `manager.acquire(order).await` in `run_wanted`; the body instead.
#[tokio::test]
async fn never_unlocked() {
    let mut server =
        RedisServer::with(Settings::default().line("user poor on >word ~* &* +@connection"));
    let locks = server.manager();
    let key = "boleto:never";
    let ran = AtomicU64::new(0);
    let call = async |locks: &LockManager| {
        let lock = locks.lock(key).wait(timing::millis(50));
        let body = async { ran.fetch_add(1, Ordering::SeqCst) };
        timing::soon("the call returns", lock.run(body))
            .await
            .map(drop)
            .expect_err("there was no lock to be had")
    };
    let guard = locks.lock(key).acquire().await.unwrap();
    let timed_out = call(&locks).await;
    assert!(
        matches!(timed_out, LockError::WaitTimedOut { .. }),
        "{timed_out:?}"
    );
    guard.release().await.unwrap();

    let raw = server.raw();
    raw.run::<()>(&["SET", &wire::record(key), "theirs"]);
    let foreign = call(&locks).await;
    assert!(matches!(foreign, LockError::Backend { .. }), "{foreign:?}");
    raw.run::<()>(&["DEL", &wire::record(key)]);

    let poor = manager_builder(&lock_url("poor:word@", &server.address()))
        .build()
        .unwrap();
    let denied = call(&poor).await;
    assert!(matches!(denied, LockError::Permission { .. }), "{denied:?}");

    server.kill();
    let down = call(&locks).await;
    assert!(matches!(down, LockError::Backend { .. }), "{down:?}");

    locks.shutdown(timing::moment()).await;
    let stopped = call(&locks).await;
    assert!(
        matches!(stopped, LockError::ShuttingDown { .. }),
        "{stopped:?}"
    );
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}
