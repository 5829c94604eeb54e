//! Each cause has a variant of its own.

use std::collections::HashSet;
use std::error::Error;
use std::time::Duration;

use lockruntime::{LockError, LockManager, Mode, distributed_lock};
use tests::server::{Port, Settings, lock_url, manager_builder};
use tests::{RedisServer, tidy, timing, wire};

use super::variant;

#[distributed_lock(key = "boleto:<id>", mode = "reject")]
async fn without_a_manager(id: &str) -> Result<(), LockError> {
    Ok(())
}

/// Busy, waited too long, shutting down, no server, no right, wrong key, wrong lease, lost, cap, own lock, no manager: eleven variants,
/// each with key and mode, the storage's with what it said.
#[tokio::test(flavor = "multi_thread")]
async fn b90_causes_not_told_apart() {
    let server =
        RedisServer::with(Settings::default().line("user poor on >word ~* &* +@connection"));
    let locks = server.manager();
    let key = "boleto:b90";
    let mut errors = Vec::new();
    let guard = locks.lock(key).acquire().await.unwrap();
    errors.push(locks.lock(key).try_acquire().await.unwrap_err());
    let wait = timing::millis(50);
    errors.push(locks.lock(key).wait(wait).acquire().await.unwrap_err());
    guard.release().await.unwrap();
    let stopped = server.manager();
    stopped.shutdown(Duration::ZERO).await;
    errors.push(stopped.lock(key).acquire().await.unwrap_err());
    let port = Port::claim();
    let nowhere = lock_url("", &format!("127.0.0.1:{}", port.number()));
    let nowhere = manager_builder(&nowhere).build().unwrap();
    errors.push(nowhere.lock(key).try_acquire().await.unwrap_err());
    let poor = manager_builder(&lock_url("poor:word@", &server.address()))
        .build()
        .unwrap();
    errors.push(poor.lock(key).try_acquire().await.unwrap_err());
    errors.push(locks.lock("").acquire().await.unwrap_err());
    let short = locks.lock(key).lease(Duration::from_millis(1));
    errors.push(short.acquire().await.unwrap_err());
    let raw = server.raw();
    let lost = locks.lock(key).run(async {
        raw.run::<()>(&["DEL", &wire::record(key)]);
        std::future::pending::<()>().await;
    });
    errors.push(timing::soon("the loss is noticed", lost).await.unwrap_err());
    let capped = locks.lock(key).max_hold(timing::millis(50));
    let capped = capped.run(std::future::pending::<()>());
    errors.push(timing::soon("the cap ends it", capped).await.unwrap_err());
    let nested = locks
        .lock(key)
        .run(async { locks.lock(key).acquire().await.map(drop) });
    errors.push(nested.await.unwrap().unwrap_err());
    errors.push(without_a_manager("b90").await.unwrap_err());

    let variants: HashSet<_> = errors.iter().map(variant).collect();
    assert_eq!(variants.len(), errors.len(), "{errors:#?}");
    for error in &errors {
        let whole: &(dyn Error + Send + Sync + 'static) = error;
        let at_storage = matches!(
            error,
            LockError::Backend { .. } | LockError::Permission { .. }
        );
        assert_eq!(whole.source().is_some(), at_storage, "{error:?}");
        let expected = if matches!(error, LockError::InvalidKey { .. }) {
            ""
        } else if matches!(error, LockError::NotConfigured { .. }) {
            "boleto:<id>"
        } else {
            key
        };
        assert_eq!(error.key(), expected, "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let modes: Vec<_> = errors.iter().map(LockError::mode).collect();
    let (queue, reject) = (Mode::Queue, Mode::Reject);
    assert_eq!(
        modes,
        [
            reject, queue, queue, reject, reject, queue, queue, queue, queue, queue, reject
        ]
    );
    // two warnings: the lost lock, and the poor user's missing rights
    tidy::end(&server, key, timing::lease(), 2).await;
    drop::<LockManager>(stopped);
}
