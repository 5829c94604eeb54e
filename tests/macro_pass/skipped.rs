//! `mode = "skip"`: every return type that has room for not having run.

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, locks, refused};

#[derive(Debug, PartialEq)]
enum JobError {
    Lock,
}

impl From<LockError> for JobError {
    fn from(_: LockError) -> Self {
        Self::Lock
    }
}

#[test]
fn nothing() {
    #[distributed_lock(key = "a", mode = "skip")]
    async fn locked() {
        refused("a").await;
    }
    case(locked());
}

#[test]
fn unit() {
    #[distributed_lock(key = "a", mode = "skip")]
    async fn locked() -> () {
        refused("a").await;
    }
    case(locked());
}

#[test]
fn option() {
    #[distributed_lock(key = "a", mode = "skip")]
    async fn locked() -> Option<u8> {
        refused("a").await;
        Some(3)
    }
    case(async { assert_eq!(locked().await, Some(3)) });
}

#[test]
fn option_of_opaque() {
    #[distributed_lock(key = "a", mode = "skip")]
    async fn locked(count: u8) -> Option<impl Iterator<Item = u8>> {
        refused("a").await;
        Some(0..count)
    }
    case(async { assert_eq!(locked(3).await.unwrap().count(), 3) });
}

#[test]
fn result() {
    #[distributed_lock(key = "a", mode = "skip")]
    async fn locked() -> Result<(), JobError> {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn result_of_an_option() {
    type Outcome<T> = Result<Option<T>, JobError>;

    #[distributed_lock(key = "a:<id>", mode = "skip", min_hold = "1ms")]
    async fn locked(id: u8) -> Outcome<u8> {
        refused("a:3").await;
        Ok(Some(id))
    }
    case(async {
        assert_eq!(locked(3).await, Ok(Some(3)));
        let _guard = locks().lock("a:4").acquire().await.unwrap();
        assert_eq!(locked(4).await, Ok(None));
    });
}

#[test]
fn anything_with_or_else() {
    #[distributed_lock(key = "a", mode = "skip", or_else = |error| if error.is_busy() { 0 } else { 1 })]
    async fn locked() -> u8 {
        refused("a").await;
        3
    }
    case(async { assert_eq!(locked().await, 3) });
}

#[test]
fn in_background() {
    #[distributed_lock(key = "a", mode = "skip", release = "background")]
    async fn locked() -> Option<u8> {
        refused("a").await;
        Some(3)
    }
    case(async { assert_eq!(locked().await, Some(3)) });
}

#[test]
fn method_of_an_async_trait() {
    #[async_trait::async_trait]
    trait Job {
        async fn run(&self) -> Option<u8>;
    }

    struct Report;

    #[async_trait::async_trait]
    impl Job for Report {
        #[distributed_lock(key = "a", mode = "skip")]
        async fn run(&self) -> Option<u8> {
            refused("a").await;
            Some(3)
        }
    }
    case(async { assert_eq!(Report.run().await, Some(3)) });
}
