//! `permits` and `access`: the rival, who would have the lock alone, is refused by readers and permits too.

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, locks, refused};

type Answer<T = u8> = Result<T, LockError>;

struct Pool {
    size: u32,
}

#[test]
fn permits() {
    #[distributed_lock(key = "a", permits = 3)]
    async fn locked() -> Answer {
        refused("a").await;
        let beside = locks().lock("a").permits(3).acquire_or_skip().await?;
        assert!(beside.is_some());
        Ok(3)
    }
    case(async { assert_eq!(locked().await.unwrap(), 3) });
}

#[test]
fn permits_of_an_argument() {
    #[distributed_lock(key = "a", mode = "reject", permits = pool.size - 1)]
    async fn locked(pool: &Pool) -> Answer {
        refused("a").await;
        let other = locks().lock("a").permits(3).try_acquire().await;
        assert!(matches!(other, Err(LockError::PermitsDiffer { .. })));
        Ok(3)
    }
    case(async { assert_eq!(locked(&Pool { size: 3 }).await.unwrap(), 3) });
}

#[test]
fn permits_by_a_constant_and_skip() {
    const SLOTS: u32 = 1;

    #[distributed_lock(key = "a", mode = "skip", permits = SLOTS)]
    async fn locked() -> Option<u8> {
        refused("a").await;
        Some(3)
    }
    case(async {
        assert_eq!(locked().await, Some(3));
        let _guard = locks().lock("a").permits(1).acquire().await.unwrap();
        assert_eq!(locked().await, None);
    });
}

#[test]
fn read() {
    #[distributed_lock(key = "a:<id>", access = "read")]
    async fn locked(id: u8) -> Answer {
        refused("a:3").await;
        let beside = locks().lock("a:3").read().acquire_or_skip().await?;
        assert!(beside.is_some());
        Ok(id)
    }
    case(async { assert_eq!(locked(3).await.unwrap(), 3) });
}

#[test]
fn write() {
    #[distributed_lock(key = "a:<id>", access = "write")]
    async fn locked(id: u8) -> Answer {
        refused("a:3").await;
        assert!(
            locks()
                .lock("a:3")
                .read()
                .acquire_or_skip()
                .await?
                .is_none()
        );
        Ok(id)
    }
    case(async { assert_eq!(locked(3).await.unwrap(), 3) });
}

#[test]
fn read_inside_of_write() {
    #[distributed_lock(key = "a", access = "write")]
    async fn outer() -> Answer {
        inner().await
    }

    #[distributed_lock(key = "a", access = "read")]
    async fn inner() -> Answer {
        refused("a").await;
        Ok(3)
    }
    case(async { assert_eq!(outer().await.unwrap(), 3) });
}

#[test]
fn write_inside_of_read() {
    #[distributed_lock(key = "a", access = "read")]
    async fn outer() -> Answer {
        refused("a").await;
        inner().await
    }

    #[distributed_lock(key = "a", access = "write")]
    async fn inner() -> Answer {
        Ok(3)
    }
    case(async {
        let error = outer().await.unwrap_err();
        assert!(matches!(error, LockError::SelfDeadlock { .. }), "{error}");
    });
}
