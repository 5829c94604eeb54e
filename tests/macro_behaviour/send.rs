//! The future is `Send` whenever body and output are: inferred, never demanded.

use std::rc::Rc;

use lockruntime::{LockError, distributed_lock};

use crate::support::{alone, held};

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

#[distributed_lock(key = "a:<id>")]
async fn sendable(id: u64, text: &str) -> Result<String, LockError> {
    held();
    tokio::task::yield_now().await;
    Ok(format!("{text}{id}"))
}

#[distributed_lock(key = "a")]
async fn generic<T>(value: T) -> Result<T, LockError> {
    held();
    tokio::task::yield_now().await;
    Ok(value)
}

/// Written nowhere, true for `Send` types only.
async fn spawned<T: Send + 'static>(value: T) -> Result<T, LockError> {
    is_send(generic(value)).await
}

#[test]
fn sendable_bodies_give_sendable_futures() {
    alone(|locks| async move {
        assert_eq!(is_send(sendable(1, "x")).await.unwrap(), "x1");
        let task = tokio::spawn(locks.scope(spawned(3)));
        assert_eq!(task.await.unwrap().unwrap(), 3);
    });
}

#[test]
fn other_bodies_run_on_one_thread() {
    alone(|_| async { assert_eq!(*generic(Rc::new(3)).await.unwrap(), 3) });
}
