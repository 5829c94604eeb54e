//! `manager = expr`: the expression names the manager, whatever the task's scope and the process's default are.

use std::error::Error;
use std::sync::Arc;

use lockruntime::{LockError, LockManager, distributed_lock};

use crate::support::{alone, held, is_busy};

type Answer = Result<(), LockError>;

struct Service {
    locks: LockManager,
    shared: Arc<LockManager>,
}

impl Service {
    #[distributed_lock(key = "a", manager = self.locks)]
    async fn field(&self) -> Answer {
        held();
        assert!(is_busy(&self.locks, "a").await);
        Ok(())
    }

    #[distributed_lock(key = "a", manager = &self.shared)]
    async fn shared(&self) -> Answer {
        assert!(is_busy(&self.locks, "a").await);
        Ok(())
    }

    #[distributed_lock(key = "a", manager = { let locks: &LockManager = &self.locks; locks })]
    async fn consumed(self) -> Answer {
        assert!(is_busy(&self.locks, "a").await);
        Ok(())
    }
}

#[distributed_lock(key = "a", manager = locks)]
async fn argument(locks: &LockManager) -> Answer {
    assert!(is_busy(locks, "a").await);
    Ok(())
}

#[distributed_lock(key = "a", manager = locks)]
async fn pattern((locks, _): (LockManager, u8)) -> Answer {
    assert!(is_busy(&locks, "a").await);
    Ok(())
}

#[distributed_lock(key = "a", manager = services.get(index).ok_or("no such service")?.locks)]
async fn fallible(services: &[Service], index: usize) -> Result<(), Box<dyn Error>> {
    let service = services.get(index).unwrap();
    assert!(is_busy(&service.locks, "a").await);
    Ok(())
}

#[test]
fn the_expression_names_the_manager() {
    alone(|task| async move {
        // every other manager has the key taken, so a call that asks there never returns
        let elsewhere = task.lock("a").acquire().await.unwrap();
        let locks = LockManager::memory();
        let service = || Service {
            locks: locks.clone(),
            shared: Arc::new(locks.clone()),
        };
        service().field().await.unwrap();
        service().shared().await.unwrap();
        service().consumed().await.unwrap();
        argument(&locks).await.unwrap();
        pattern((locks.clone(), 1)).await.unwrap();
        fallible(&[service()], 0).await.unwrap();
        let error = fallible(&[service()], 1).await.unwrap_err();
        assert_eq!(error.to_string(), "no such service");
        assert!(!is_busy(&locks, "a").await);
        elsewhere.release().await.unwrap();
    });
}

#[distributed_lock(key = "outer", manager = locks)]
async fn outer(locks: &LockManager) -> Answer {
    inner(locks).await
}

/// Finds the task's manager: the argument speaks for its own function alone.
#[distributed_lock(key = "inner")]
async fn inner(other: &LockManager) -> Answer {
    assert!(is_busy(other, "outer").await && !is_busy(other, "inner").await);
    Ok(())
}

#[test]
fn it_speaks_for_its_own_function_alone() {
    alone(|_| async move { outer(&LockManager::memory()).await.unwrap() });
}

#[test]
fn no_other_manager_is_needed() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(argument(&LockManager::memory())).unwrap();
}
