//! B82: whichever way a function is called, it takes its lock.

use std::future::Future;
use std::pin::Pin;

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, here, locks, refused};

type Answer = Result<u64, LockError>;

#[distributed_lock(key = "a:<id>", mode = "reject")]
async fn pay(id: u64) -> Answer {
    refused("a:1").await;
    Ok(id)
}

struct Service;

impl Service {
    #[distributed_lock(key = "self:<id>")]
    async fn pay(&self, id: u64) -> Answer {
        refused("self:1").await;
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
        Box::pin(self.pay(id))
    }
}

#[test]
fn b82_by_name() {
    case(async { assert_eq!(pay(1).await.unwrap(), 1) });
}

#[test]
fn b82_through_self() {
    case(async { assert_eq!(Service.through_self().await.unwrap(), 1) });
}

#[test]
fn b82_through_a_trait_object() {
    case(async {
        let dynamic: &dyn Dynamic = &Service;
        assert_eq!(dynamic.pay(1).await.unwrap(), 1);
    });
}

#[test]
fn b82_through_a_function_pointer() {
    case(async {
        let pointer: fn(u64) -> _ = pay;
        assert_eq!(pointer(1).await.unwrap(), 1);
    });
}

#[test]
fn b82_handed_to_a_generic() {
    async fn call<F: Future<Output = Answer>>(function: impl Fn(u64) -> F) -> Answer {
        function(1).await
    }
    case(async {
        assert_eq!(call(pay).await.unwrap(), 1);
        assert_eq!(call(|id| pay(id)).await.unwrap(), 1);
    });
}

#[test]
fn b82_through_an_async_closure() {
    case(async {
        let closure = async |id| pay(id).await;
        assert_eq!(closure(1).await.unwrap(), 1);
    });
}

#[test]
fn b82_boxed() {
    case(async {
        let boxed: Pin<Box<dyn Future<Output = Answer> + Send>> = Box::pin(pay(1));
        assert_eq!(boxed.await.unwrap(), 1);
    });
}

#[test]
fn b82_spawned() {
    case(async {
        let call = here().scope(pay(1));
        let task = tokio::spawn(locks().scope(call));
        assert_eq!(task.await.unwrap().unwrap(), 1);
    });
}

#[test]
fn b82_from_another_module() {
    mod inner {
        pub(super) async fn through_a_path() -> super::Answer {
            super::pay(1).await
        }
    }
    case(async { assert_eq!(inner::through_a_path().await.unwrap(), 1) });
}

#[test]
fn b82_recursion() {
    #[distributed_lock(key = "down:<n>")]
    async fn down(n: u64) -> Answer {
        refused(&format!("down:{n}")).await;
        if n == 0 {
            return Ok(0);
        }
        Ok(1 + Box::pin(down(n - 1)).await?)
    }
    case(async { assert_eq!(down(3).await.unwrap(), 3) });
}

#[test]
fn b82_recursion_of_a_method() {
    struct Tree(Vec<Tree>);

    impl Tree {
        #[distributed_lock(key = "tree:<depth>")]
        async fn depth(&self, depth: u64) -> Answer {
            refused(&format!("tree:{depth}")).await;
            let mut deepest = depth;
            for child in &self.0 {
                deepest = deepest.max(Box::pin(child.depth(depth + 1)).await?);
            }
            Ok(deepest)
        }
    }
    case(async {
        let tree = Tree(vec![Tree(vec![]), Tree(vec![Tree(vec![])])]);
        assert_eq!(tree.depth(0).await.unwrap(), 2);
    });
}

#[test]
fn b82_two_that_call_each_other() {
    #[distributed_lock(key = "even:<n>")]
    async fn even(n: u64) -> Result<bool, LockError> {
        refused(&format!("even:{n}")).await;
        if n == 0 {
            Ok(true)
        } else {
            Box::pin(odd(n - 1)).await
        }
    }

    #[distributed_lock(key = "odd:<n>")]
    async fn odd(n: u64) -> Result<bool, LockError> {
        refused(&format!("odd:{n}")).await;
        if n == 0 {
            Ok(false)
        } else {
            Box::pin(even(n - 1)).await
        }
    }
    case(async { assert!(even(4).await.unwrap()) });
}
