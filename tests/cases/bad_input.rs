//! A server that can't serve: each fault has an error of its own that names the address and the fix, and the body doesn't run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lockruntime::{BackendErrorKind, LockError, LockManager};
use tests::server::{Port, Settings, lock_url, manager_builder};
use tests::{RedisServer, logs, timing, wire};

use super::{count_in_turn, count_or_not};

/// The error of both modes; the body didn't run.
async fn refused(manager: &LockManager, id: &str) -> [LockError; 2] {
    let count = Arc::new(AtomicU64::new(0));
    let reject = timing::soon(
        "the call returns",
        manager.scope(count_or_not(id, Arc::clone(&count))),
    )
    .await;
    let queue = timing::soon(
        "the call returns",
        manager.scope(count_in_turn(id, Arc::clone(&count))),
    )
    .await;
    assert_eq!(count.load(Ordering::SeqCst), 0);
    [reject.unwrap_err(), queue.unwrap_err()]
}

/// Panics unless the text has every word.
#[track_caller]
fn assert_says(error: &LockError, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(
            text.to_lowercase().contains(&word.to_lowercase()),
            "{word:?} is not in {text:?}"
        );
    }
}

#[tokio::test]
async fn an_unreachable_server() {
    let port = Port::claim();
    let address = format!("127.0.0.1:{}", port.number());
    let manager = manager_builder(&lock_url("", &address)).build().unwrap();
    for error in refused(&manager, "unreachable").await {
        let LockError::Backend { source, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(source.kind(), BackendErrorKind::Unreachable, "{error}");
        assert!(error.is_retryable());
        assert_says(&error, &[&address]);
    }
}

#[tokio::test]
async fn a_wrong_password() {
    let server = RedisServer::with(Settings::default().password("right"));
    for credentials in [":wrong@", "nobody:right@", ""] {
        let manager = manager_builder(&lock_url(credentials, &server.address()))
            .build()
            .unwrap();
        for error in refused(&manager, "password").await {
            assert!(matches!(error, LockError::Permission { .. }), "{error:?}");
            assert!(!error.is_retryable());
            assert_says(&error, &[&server.address(), "password"]);
            assert!(
                !error.to_string().contains("wrong") || credentials != ":wrong@",
                "the password stands in {error}"
            );
        }
    }
    // the same server with the right one
    let manager = server.manager();
    manager
        .lock("boleto:password")
        .try_acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
}

/// Somebody else's string or list stands at our key: named, and left as it is.
#[tokio::test]
async fn a_foreign_value_at_our_key() {
    let server = RedisServer::start();
    let (manager, raw) = (server.manager(), server.raw());
    let record = wire::record("boleto:foreign");
    for fill in [
        &["SET", record.as_str(), "theirs"][..],
        &["RPUSH", record.as_str(), "theirs"],
        &["HSET", record.as_str(), "a", "b"],
    ] {
        raw.run::<()>(fill);
        let before: Vec<u8> = raw.run(&["DUMP", &record]);
        for error in refused(&manager, "foreign").await {
            let LockError::Backend { source, .. } = &error else {
                panic!("{error:?}")
            };
            assert_eq!(source.kind(), BackendErrorKind::Foreign, "{error}");
            assert!(!error.is_retryable());
            assert_says(&error, &[&server.address(), "boleto:foreign", "remove"]);
        }
        assert_eq!(raw.run::<Vec<u8>>(&["DUMP", &record]), before);
        assert_eq!(raw.run::<i64>(&["PTTL", &record]), -1, "it got an expiry");
        raw.run::<()>(&["DEL", &record]);
    }
    manager
        .lock("boleto:foreign")
        .try_acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    assert_eq!(logs::panics(), Vec::<String>::new());
}
