//! While the body runs, a rival is refused or waits; B82: whichever way the function is called.

use std::pin::Pin;
use std::sync::Arc;

use lockruntime::{LockError, LockManager, distributed_lock};
use tokio::sync::Notify;

use crate::support::{alone, held, is_busy};

type Answer = Result<u64, LockError>;

/// The body says that it is inside, and leaves when it may.
#[derive(Clone, Default)]
struct Door {
    inside: Arc<Notify>,
    leave: Arc<Notify>,
}

impl Door {
    async fn pass(&self) {
        held();
        self.inside.notify_one();
        self.leave.notified().await;
    }
}

#[distributed_lock(key = "boleto:<id>", lease = "30s", mode = "reject")]
async fn reject(id: u64, door: Door) -> Answer {
    door.pass().await;
    Ok(id)
}

#[distributed_lock(key = "boleto:<id>", lease = "30s", mode = "queue")]
async fn queue(id: u64, door: Door) -> Answer {
    door.pass().await;
    Ok(id)
}

#[distributed_lock(key = "boleto:<id>", wait = "0s")]
async fn one_try(id: u64) -> Answer {
    held();
    Ok(id)
}

/// Runs `call` until its body is inside, and asserts that the rivals of every kind stay outside until it left.
async fn excludes(locks: &LockManager, key: &str, door: Door, call: impl Future<Output = Answer>) {
    let rival = async {
        door.inside.notified().await;
        assert!(is_busy(locks, key).await);
        let snapshot = locks.snapshot(key).await.unwrap();
        assert!(snapshot.held.is_some());
        door.leave.notify_one();
        let guard = locks.lock(key).acquire().await.unwrap();
        guard.release().await.unwrap();
    };
    let (value, ()) = tokio::join!(call, rival);
    assert_eq!(value.unwrap(), 1);
    assert!(locks.snapshot(key).await.unwrap().held.is_none());
}

#[test]
fn both_modes_exclude() {
    alone(|locks| async move {
        let door = Door::default();
        excludes(&locks, "boleto:1", door.clone(), reject(1, door)).await;
        let door = Door::default();
        excludes(&locks, "boleto:1", door.clone(), queue(1, door)).await;
    });
}

#[test]
fn a_refused_call_says_busy_and_does_not_run() {
    alone(|locks| async move {
        let guard = locks.lock("boleto:1").acquire().await.unwrap();
        let error = reject(1, Door::default()).await.unwrap_err();
        assert!(matches!(error, LockError::Busy { .. }), "{error}");
        assert_eq!(
            (error.key(), error.mode()),
            ("boleto:1", lockruntime::Mode::Reject)
        );
        let error = one_try(1).await.unwrap_err();
        assert!(matches!(error, LockError::WaitTimedOut { .. }), "{error}");
        guard.release().await.unwrap();
        assert_eq!(one_try(1).await.unwrap(), 1);
    });
}

#[test]
fn different_keys_do_not_exclude() {
    alone(|_| async move {
        let (first, second) = (Door::default(), Door::default());
        let rivals = async {
            first.inside.notified().await;
            second.inside.notified().await;
            first.leave.notify_one();
            second.leave.notify_one();
        };
        let (one, two, ()) =
            tokio::join!(reject(1, first.clone()), reject(2, second.clone()), rivals);
        assert_eq!((one.unwrap(), two.unwrap()), (1, 2));
    });
}

#[distributed_lock(key = "<a>:<b>")]
async fn two_values(a: &str, b: &str) -> Result<String, LockError> {
    Ok(lockruntime::current().unwrap().key().to_string())
}

#[test]
fn separators_in_values_do_not_mix_keys() {
    alone(|_| async {
        assert_eq!(two_values("a:b", "c").await.unwrap(), "a%3Ab:c");
        assert_eq!(two_values("a", "b:c").await.unwrap(), "a:b%3Ac");
    });
}

#[test]
fn the_record_names_the_function() {
    alone(|locks| async move {
        let door = Door::default();
        let look = async {
            door.inside.notified().await;
            let holder = locks
                .snapshot("boleto:1")
                .await
                .unwrap()
                .held
                .unwrap()
                .holder
                .unwrap();
            door.leave.notify_one();
            holder.name_of
        };
        let (_, name) = tokio::join!(reject(1, door.clone()), look);
        assert_eq!(name, concat!(module_path!(), "::reject"));
    });
}

struct Service {
    door: Door,
}

impl Service {
    #[distributed_lock(key = "boleto:<id>")]
    async fn pay(&self, id: u64) -> Answer {
        self.door.pass().await;
        Ok(id)
    }

    async fn through_self(&self) -> Answer {
        self.pay(1).await
    }
}

trait Dynamic {
    fn pay(&self, id: u64) -> Pin<Box<dyn Future<Output = Answer> + '_>>;
}

impl Dynamic for Service {
    fn pay(&self, id: u64) -> Pin<Box<dyn Future<Output = Answer> + '_>> {
        Box::pin(Service::pay(self, id))
    }
}

trait Native {
    async fn native(&self, door: Door) -> Answer {
        self.default_body(door).await
    }

    #[distributed_lock(key = "boleto:1")]
    async fn default_body(&self, door: Door) -> Answer {
        door.pass().await;
        Ok(1)
    }
}

impl Native for Service {}

#[distributed_lock(key = "depth:<depth>")]
async fn recursive(depth: u64, door: Door) -> Answer {
    if depth == 0 {
        door.pass().await;
        return Ok(1);
    }
    Box::pin(recursive(depth - 1, door)).await
}

#[test]
fn b82_every_way_to_call_takes_the_lock() {
    alone(|locks| async move {
        let door = Door::default();
        let service = Service { door: door.clone() };
        let dynamic: &dyn Dynamic = &service;
        let pointer: fn(u64, Door) -> _ = queue;
        let closure = |id| queue(id, door.clone());
        excludes(&locks, "boleto:1", door.clone(), service.pay(1)).await;
        excludes(&locks, "boleto:1", door.clone(), service.through_self()).await;
        excludes(&locks, "boleto:1", door.clone(), dynamic.pay(1)).await;
        excludes(
            &locks,
            "boleto:1",
            door.clone(),
            service.native(door.clone()),
        )
        .await;
        excludes(&locks, "boleto:1", door.clone(), pointer(1, door.clone())).await;
        excludes(&locks, "boleto:1", door.clone(), closure(1)).await;
        for key in ["depth:0", "depth:1", "depth:2"] {
            excludes(&locks, key, door.clone(), recursive(2, door.clone())).await;
        }
    });
}

#[distributed_lock(key = "upper:<a>")]
#[distributed_lock(key = "lower:<b>")]
async fn twice_locked((a, b): (u64, u64), door: Door) -> Answer {
    door.pass().await;
    Ok(a * b)
}

#[test]
fn of_two_locks_the_lower_is_taken_first() {
    alone(|locks| async move {
        let door = Door::default();
        for key in ["upper:1", "lower:1"] {
            excludes(
                &locks,
                key,
                door.clone(),
                twice_locked((1, 1), door.clone()),
            )
            .await;
        }
        let guard = locks.lock("upper:1").acquire().await.unwrap();
        let rival = async {
            while locks.snapshot("upper:1").await.unwrap().waiting.is_empty() {
                tokio::task::yield_now().await;
            }
            assert!(is_busy(&locks, "lower:1").await);
            guard.release().await.unwrap();
            door.inside.notified().await;
            door.leave.notify_one();
        };
        let (value, ()) = tokio::join!(twice_locked((1, 1), door.clone()), rival);
        assert_eq!(value.unwrap(), 1);
    });
}

#[test]
fn an_unpolled_call_takes_nothing() {
    alone(|locks| async move {
        let call = queue(1, Door::default());
        assert!(!is_busy(&locks, "boleto:1").await);
        drop(call);
    });
}
