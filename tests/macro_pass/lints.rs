//! The compiler still says what it says of the function without the attribute: each expectation below must be met.
#![deny(unfulfilled_lint_expectations)]

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, refused};

type Answer = Result<(), LockError>;

#[test]
fn dead_code() {
    #[expect(dead_code)]
    #[distributed_lock(key = "a")]
    async fn never_called() -> Answer {
        Ok(())
    }

    #[distributed_lock(key = "a")]
    async fn called() -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { called().await.unwrap() });
}

#[test]
fn unused_argument() {
    #[distributed_lock(key = "a")]
    async fn locked(#[expect(unused_variables)] id: u64) -> Answer {
        refused("a").await;
        Ok(())
    }
    case(async { locked(1).await.unwrap() });
}

#[test]
fn unused_in_a_pattern() {
    #[distributed_lock(key = "a:<x>")]
    #[expect(unused_variables)]
    async fn locked((x, y): (u64, u64)) -> Answer {
        refused("a:1").await;
        Ok(())
    }
    case(async { locked((1, 2)).await.unwrap() });
}

#[test]
fn unused_mut() {
    #[distributed_lock(key = "a")]
    #[expect(unused_mut)]
    async fn locked(mut id: u64) -> Answer {
        refused("a").await;
        let _ = id;
        Ok(())
    }
    case(async { locked(1).await.unwrap() });
}

#[test]
fn unused_assignment() {
    #[distributed_lock(key = "a")]
    #[expect(unused_assignments, unused_variables)]
    async fn locked(mut id: u64) -> Answer {
        refused("a").await;
        id = 3;
        Ok(())
    }
    case(async { locked(1).await.unwrap() });
}

#[test]
fn unreachable() {
    #[distributed_lock(key = "a")]
    #[expect(unreachable_code)]
    async fn locked() -> Answer {
        refused("a").await;
        return Ok(());
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn unused_result() {
    #[distributed_lock(key = "a")]
    #[expect(unused_must_use)]
    async fn locked() -> Answer {
        refused("a").await;
        "5".parse::<u8>();
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn at_the_top_of_the_body() {
    #[distributed_lock(key = "a")]
    async fn locked() -> Answer {
        #![expect(unused_parens)]
        refused("a").await;
        (Ok(()))
    }
    case(async { locked().await.unwrap() });
}
