//! `or_else`: what the call returns when the lock isn't to be had, whatever the return type is.

use std::rc::Rc;

use lockruntime::{LockError, distributed_lock};

use crate::support::{alone, held};

fn minus_one(error: LockError) -> i64 {
    assert!(error.is_busy());
    -1
}

#[distributed_lock(key = "a", mode = "reject", or_else = minus_one)]
async fn path() -> i64 {
    held();
    7
}

#[distributed_lock(key = "a", mode = "reject", or_else = |error| error.to_string())]
async fn closure() -> String {
    held();
    String::new()
}

/// An argument is copied before it moves into the body.
#[distributed_lock(key = "a", mode = "reject", or_else = move |error| (id, error.is_busy()))]
async fn copies(id: u64) -> (u64, bool) {
    held();
    (id, false)
}

#[distributed_lock(key = "a:<name>", mode = "reject", or_else = { let name = name.clone(); |_error| name })]
async fn clones(name: String) -> String {
    held();
    name + "!"
}

#[distributed_lock(key = "a", mode = "reject", or_else = drop)]
async fn nothing(ran: &std::cell::Cell<bool>) {
    held();
    ran.set(true);
}

#[distributed_lock(key = "a", mode = "reject", or_else = |_| ())]
async fn unit(ran: &std::cell::Cell<bool>) -> () {
    ran.set(true);
}

#[distributed_lock(key = "a", mode = "reject", or_else = |_| None)]
async fn option(id: u64) -> Option<Rc<u64>> {
    held();
    let half = id.checked_sub(1)?;
    Some(Rc::new(half))
}

/// It takes precedence over what the type itself would say.
#[distributed_lock(key = "a", mode = "reject", or_else = |_| Ok(0))]
async fn result() -> Result<u64, LockError> {
    held();
    Ok(1)
}

struct Service {
    name: &'static str,
}

impl Service {
    #[distributed_lock(key = "a", mode = "reject", or_else = Self::busy)]
    async fn method(&self) -> &'static str {
        held();
        self.name
    }

    fn busy(_: LockError) -> &'static str {
        "busy"
    }

    #[distributed_lock(key = "a", mode = "reject", or_else = |_| Box::new(|| 0))]
    async fn coerced(&self) -> Box<dyn Fn() -> u64> {
        held();
        Box::new(|| 1)
    }
}

#[test]
fn it_is_called_for_a_refusal_and_for_nothing_else() {
    alone(|locks| async move {
        let ran = std::cell::Cell::new(false);
        let service = Service { name: "free" };
        assert_eq!(path().await, 7);
        assert_eq!(closure().await, "");
        assert_eq!(copies(3).await, (3, false));
        assert_eq!(clones("x".to_owned()).await, "x!");
        nothing(&ran).await;
        assert!(ran.replace(false));
        unit(&ran).await;
        assert!(ran.replace(false));
        assert_eq!(option(3).await.as_deref(), Some(&2));
        assert_eq!(option(0).await, None);
        assert_eq!(result().await.unwrap(), 1);
        assert_eq!(service.method().await, "free");
        assert_eq!((service.coerced().await)(), 1);

        let guard = locks.lock("a").acquire().await.unwrap();
        let other = locks.lock("a:x").acquire().await.unwrap();
        assert_eq!(path().await, -1);
        assert!(closure().await.contains("is busy"), "{}", closure().await);
        assert_eq!(copies(3).await, (3, true));
        assert_eq!(clones("x".to_owned()).await, "x");
        nothing(&ran).await;
        unit(&ran).await;
        assert!(!ran.get());
        assert_eq!(option(3).await, None);
        assert_eq!(result().await.unwrap(), 0);
        assert_eq!(service.method().await, "busy");
        assert_eq!((service.coerced().await)(), 0);
        guard.release().await.unwrap();
        other.release().await.unwrap();
    });
}

#[test]
fn without_a_manager_it_is_told_so() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    assert!(runtime.block_on(closure()).contains("install"));
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

#[test]
fn the_future_stays_send() {
    alone(|_| async {
        is_send(path()).await;
        is_send(clones("x".to_owned())).await;
    });
}
