//! A locked function that calls another one with the same key goes on under the lock it has.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use lockruntime::{FencingToken, LockError, LockManager, distributed_lock};

use crate::support::{alone, held, is_busy};

type Tokens = Result<Vec<FencingToken>, LockError>;

fn token() -> FencingToken {
    lockruntime::current().unwrap().fencing_token()
}

#[distributed_lock(key = "boleto:<id>", mode = "queue")]
async fn inner(id: u64) -> Tokens {
    held();
    tokio::task::yield_now().await;
    Ok(vec![token()])
}

#[distributed_lock(key = "boleto:<id>", mode = "reject")]
async fn outer(id: u64) -> Tokens {
    let mut tokens = vec![token()];
    tokens.extend(inner(id).await?);
    tokens.push(token());
    Ok(tokens)
}

/// `depth` calls of itself under one lock.
#[distributed_lock(key = "boleto:7", mode = "queue")]
async fn deep(depth: u32) -> Tokens {
    let mut tokens = vec![token()];
    if depth > 0 {
        tokens.extend(Box::pin(deep(depth - 1)).await?);
    }
    Ok(tokens)
}

#[test]
fn a_nested_call_has_the_same_token_and_the_outermost_gives_back() {
    alone(async |locks| {
        let tokens = outer(42).await.unwrap();
        assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
        assert_eq!(tokens.len(), 3);
        assert!(!is_busy(&locks, "boleto:42").await);
        assert_eq!(deep(20).await.unwrap().len(), 21);
    });
}

#[test]
fn the_lock_is_kept_after_the_nested_call() {
    alone(async |locks| {
        let rival = locks.clone();
        let key = "boleto:42";
        let body = async {
            inner(42).await.unwrap();
            assert!(is_busy(&rival, key).await);
        };
        locks.lock(key).run(body).await.unwrap();
    });
}

#[test]
fn a_spawned_task_is_a_rival() {
    alone(async |locks| {
        let rival = locks.clone();
        let body = async {
            let call = async move { rival.scope(inner(42)).await };
            let mut call = tokio::spawn(call);
            let early = tokio::time::timeout(Duration::from_millis(20), &mut call).await;
            assert!(early.is_err(), "it entered beside us");
            // the block's value, not the task's
            Some(call)
        };
        let call = locks.lock("boleto:42").run(body).await.unwrap();
        assert_eq!(call.unwrap().await.unwrap().unwrap().len(), 1);
    });
}

#[test]
fn nested_calls_of_one_hold_take_turns() {
    alone(async |locks| {
        let inside = Rc::new(Cell::new(0));
        let order = Rc::new(RefCell::new(Vec::new()));
        let nested = |name: u32| {
            let (locks, inside, order) = (locks.clone(), Rc::clone(&inside), Rc::clone(&order));
            async move {
                let body = async {
                    inside.set(inside.get() + 1);
                    assert_eq!(inside.get(), 1, "two bodies under one lock");
                    for _ in 0..3 {
                        tokio::task::yield_now().await;
                    }
                    inside.set(inside.get() - 1);
                    order.borrow_mut().push(name);
                };
                locks.lock("boleto:42").run(body).await.unwrap();
            }
        };
        let body = async {
            tokio::join!(nested(1), nested(2), nested(3));
        };
        locks.lock("boleto:42").run(body).await.unwrap();
        assert_eq!(*order.borrow(), [1, 2, 3]);
    });
}

#[test]
fn a_dropped_nested_call_passes_its_turn_on() {
    alone(async |locks| {
        let body = async {
            let stuck = locks.lock("boleto:42").run(std::future::pending::<()>());
            let short = tokio::time::timeout(Duration::from_millis(5), stuck).await;
            assert!(short.is_err());
            inner(42).await.unwrap();
        };
        locks.lock("boleto:42").run(body).await.unwrap();
    });
}

/// A guard can't be had twice: its holder would wait for itself.
#[test]
fn b83_a_guard_inside_of_its_own_body_is_a_self_deadlock() {
    alone(async |locks| {
        let start = std::time::Instant::now();
        let body = async { locks.lock("boleto:42").acquire().await };
        let error = locks
            .lock("boleto:42")
            .run(body)
            .await
            .unwrap()
            .unwrap_err();
        assert!(matches!(error, LockError::SelfDeadlock { .. }), "{error}");
        assert!(start.elapsed() < Duration::from_millis(500));
    });
}

#[test]
fn another_manager_is_another_lock() {
    alone(async |locks| {
        let other = LockManager::memory();
        let body = async {
            other
                .lock("boleto:42")
                .acquire()
                .await
                .unwrap()
                .release()
                .await
        };
        locks.lock("boleto:42").run(body).await.unwrap().unwrap();
    });
}
