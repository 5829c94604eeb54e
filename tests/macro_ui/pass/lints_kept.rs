//! The compiler still says what it says of the function without the attribute: each expectation below must be met.
#![deny(unfulfilled_lint_expectations)]
#![allow(dead_code)]

#[path = "../rival.rs"]
mod rival;

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

mod never_called {
    use super::*;

    #[warn(dead_code)]
    #[expect(dead_code)]
    #[distributed_lock(key = "a")]
    async fn dead() -> Answer {
        Ok(())
    }
}

#[distributed_lock(key = "a")]
async fn unused_argument(#[expect(unused_variables)] id: u64) -> Answer {
    rival::refused("a").await;
    Ok(())
}

#[distributed_lock(key = "a:<x>")]
#[expect(unused_variables)]
async fn unused_in_pattern((x, y): (u64, u64)) -> Answer {
    rival::refused("a:1").await;
    Ok(())
}

#[distributed_lock(key = "a")]
#[expect(unused_mut)]
async fn unused_mut(mut id: u64) -> Answer {
    rival::refused("a").await;
    let _ = id;
    Ok(())
}

#[distributed_lock(key = "a")]
#[expect(unused_assignments, unused_variables)]
async fn unused_assignment(mut id: u64) -> Answer {
    rival::refused("a").await;
    id = 3;
    Ok(())
}

#[distributed_lock(key = "a")]
#[expect(unreachable_code)]
async fn unreachable() -> Answer {
    rival::refused("a").await;
    return Ok(());
    Ok(())
}

#[distributed_lock(key = "a")]
#[expect(unused_must_use)]
async fn unused_result() -> Answer {
    rival::refused("a").await;
    Ok::<(), u8>(());
    Ok(())
}

#[distributed_lock(key = "a")]
async fn inside() -> Answer {
    #![expect(unused_parens)]
    rival::refused("a").await;
    (Ok(()))
}

async fn case() -> Answer {
    unused_argument(1).await?;
    unused_in_pattern((1, 2)).await?;
    unused_mut(1).await?;
    unused_assignment(1).await?;
    unreachable().await?;
    unused_result().await?;
    inside().await
}

fn main() {
    rival::run(case()).unwrap();
}
