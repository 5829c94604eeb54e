//! What the attribute says about the hold reaches it: its bounds, its loss, its release, and several keys.

use std::future::pending;
use std::rc::Rc;
use std::time::{Duration, Instant};

use lockruntime::backend::memory::MemoryBackend;
use lockruntime::{LockError, LockManager, distributed_lock};
use tests::fault::FaultyBackend;
use tokio::sync::oneshot;

use crate::support::{alone, held, is_busy};

type Answer<T = ()> = Result<T, LockError>;

#[distributed_lock(key = "a", max_hold = "30ms")]
async fn capped() -> Answer {
    held();
    pending().await
}

#[distributed_lock(key = "a", max_hold = most)]
async fn capped_by(most: Duration) -> Answer {
    held();
    pending().await
}

#[distributed_lock(key = "a", lease = "100ms", watchdog = false)]
async fn unwatched() -> Answer {
    held();
    pending().await
}

#[test]
fn a_body_over_its_cap_is_dropped() {
    alone(|locks| async move {
        for error in [
            capped().await.unwrap_err(),
            capped_by(Duration::from_millis(20)).await.unwrap_err(),
            unwatched().await.unwrap_err(),
        ] {
            assert!(matches!(error, LockError::HoldCapReached { .. }), "{error}");
        }
        let guard = locks.lock("a").acquire().await.unwrap();
        guard.release().await.unwrap();
    });
}

#[distributed_lock(key = "a", min_hold = "150ms")]
async fn kept() -> Answer<Instant> {
    held();
    Ok(Instant::now())
}

#[test]
fn a_short_hold_is_kept_without_delaying_its_caller() {
    alone(|locks| async move {
        let begun = kept().await.unwrap();
        assert!(is_busy(&locks, "a").await, "it was given back early");
        let guard = locks.lock("a").acquire().await.unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(140));
        guard.release().await.unwrap();
    });
}

#[distributed_lock(key = "a", max_waiters = 0)]
async fn unqueued() -> Answer {
    held();
    Ok(())
}

#[distributed_lock(key = "a", max_waiters = u32::from(most))]
async fn queued(most: u8) -> Answer {
    held();
    Ok(())
}

#[test]
fn a_queue_has_a_length() {
    alone(|locks| async move {
        let guard = locks.lock("a").acquire().await.unwrap();
        let error = unqueued().await.unwrap_err();
        assert!(error.is_busy(), "{error}");
        let release = async {
            while locks.snapshot("a").await.unwrap().waiting.is_empty() {
                tokio::task::yield_now().await;
            }
            let error = queued(1).await.unwrap_err();
            assert!(error.is_busy(), "{error}");
            guard.release().await.unwrap();
        };
        let (waited, ()) = tokio::join!(queued(1), release);
        waited.unwrap();
        unqueued().await.unwrap();
    });
}

#[distributed_lock(key = "a", reentrant = false)]
async fn not_nested() -> Answer {
    held();
    Ok(())
}

#[distributed_lock(key = "a", reentrant = true)]
async fn nested(into_itself: bool) -> Answer {
    held();
    if into_itself {
        return Box::pin(nested(false)).await;
    }
    not_nested().await
}

#[test]
fn a_nested_call_may_be_refused() {
    alone(|_| async {
        let error = nested(true).await.unwrap_err();
        assert!(matches!(error, LockError::SelfDeadlock { .. }), "{error}");
        not_nested().await.unwrap();
    });
}

/// Enters, loses its lock, and says what it knew of that.
#[distributed_lock(key = "a", lease = "100ms", on_lost = "continue", guard = hold)]
async fn goes_on(entered: oneshot::Sender<()>) -> Answer<bool> {
    entered.send(()).unwrap();
    hold.lost().await;
    Ok(hold.is_held())
}

#[distributed_lock(key = "a", lease = "100ms", on_lost = "cancel", guard = hold)]
async fn stops(entered: oneshot::Sender<()>) -> Answer<bool> {
    entered.send(()).unwrap();
    pending::<()>().await;
    Ok(hold.is_held())
}

/// Runs a call and cuts the storage off while its body runs.
fn lose<F: Future<Output = Answer<bool>>>(call: fn(oneshot::Sender<()>) -> F) -> Answer<bool> {
    let backend = FaultyBackend::around(MemoryBackend::new());
    let locks = LockManager::builder()
        .backend(backend.clone())
        .build()
        .unwrap();
    alone(|_| async move {
        let (entered, inside) = oneshot::channel();
        let cut = async {
            inside.await.unwrap();
            backend.cut();
        };
        let (answer, ()) = tokio::join!(locks.scope(call(entered)), cut);
        answer
    })
}

#[test]
fn a_body_goes_on_when_it_says_so() {
    assert!(!lose(goes_on).unwrap());
    let error = lose(stops).unwrap_err();
    assert!(error.is_lost(), "{error}");
}

#[distributed_lock(key = "a:<id>", release = "background")]
async fn handed_over(id: u64) -> Answer<Rc<u64>> {
    held();
    tokio::task::yield_now().await;
    Ok(Rc::new(id))
}

#[distributed_lock(key = "a:<id>", release = "background", or_else = move |_| Rc::new(id))]
async fn handed_over_or_else(id: u64) -> Rc<u64> {
    held();
    Rc::new(id)
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

#[test]
fn a_release_in_the_background_keeps_send_whatever_is_returned() {
    alone(|locks| async move {
        assert_eq!(*is_send(handed_over(7)).await.unwrap(), 7);
        assert_eq!(*is_send(handed_over_or_else(7)).await, 7);
        let guard = locks.lock("a:7").acquire().await.unwrap();
        guard.release().await.unwrap();
    });
}

#[distributed_lock(key = ["account:<from>", "account:<to.0>", "transfers"], guard = hold)]
async fn transfer(from: u64, to: (u64, u8), locks: &LockManager) -> Answer {
    for key in [
        format!("account:{from}"),
        format!("account:{}", to.0),
        "transfers".to_owned(),
    ] {
        assert!(is_busy(locks, &key).await, "{key}");
    }
    assert!(hold.is_held());
    Ok(())
}

#[distributed_lock(key = ["one:<id>", "two:<id>"], mode = "reject")]
async fn all_or_none(id: &str) -> Answer {
    held();
    Ok(())
}

#[test]
fn several_keys_are_held_together() {
    alone(|locks| async move {
        transfer(1, (2, 0), &locks).await.unwrap();
        transfer(3, (3, 0), &locks).await.unwrap();
        assert!(!is_busy(&locks, "transfers").await);
    });
}

#[test]
fn of_several_keys_all_are_had_or_none() {
    alone(|locks| async move {
        let guard = locks.lock("two:x").acquire().await.unwrap();
        let error = all_or_none("x").await.unwrap_err();
        assert!(error.is_busy(), "{error}");
        assert!(!is_busy(&locks, "one:x").await);
        guard.release().await.unwrap();
        all_or_none("x").await.unwrap();
        let error = all_or_none("").await.unwrap_err();
        assert!(matches!(error, LockError::InvalidKey { .. }), "{error}");
    });
}
