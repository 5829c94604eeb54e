//! Shutting down in no time, and twice.

use std::time::Duration;

use lockruntime::{LockError, LockManager};
use tests::timing;
use tokio::sync::oneshot;

/// No budget is no time for bodies, not leave to run on.
#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_without_budget_stops_bodies() {
    let locks = LockManager::memory();
    let (begun, body) = oneshot::channel();
    let call = {
        let locks = locks.clone();
        tokio::spawn(async move {
            let body = async {
                begun.send(()).expect("the test waits for it");
                std::future::pending::<()>().await;
            };
            locks.lock("k").run(body).await
        })
    };
    timing::soon("the body begins", body)
        .await
        .expect("it begins");
    locks.shutdown(Duration::ZERO).await;
    let result = timing::soon("the body is stopped", call)
        .await
        .expect("no panic");
    assert!(matches!(result, Err(LockError::Lost { .. })), "{result:?}");
}

/// A second shutdown returns by its own budget, though somebody keeps a guard all the time.
#[tokio::test(flavor = "multi_thread")]
async fn every_shutdown_keeps_its_own_budget() {
    let locks = LockManager::memory();
    let guard = locks.lock("k").acquire().await.expect("the lock is free");
    for _ in 0..2 {
        timing::soon("the shutdown ends", locks.shutdown(timing::millis(50))).await;
    }
    drop(guard);
}
