//! B86: attributes on the function, on its arguments and in its body; main and test macros of the runtime below.

#[path = "../rival.rs"]
mod rival;

use lockruntime::{LockError, LockManager, distributed_lock};

type Answer<T> = Result<T, LockError>;

/// Documentation
#[distributed_lock(key = "a:<id>")]
#[must_use = "it is a payment"]
#[inline]
#[cfg(not(any()))]
pub(crate) async fn many(
    /* the key */ id: u64,
    #[cfg(any())] id: String,
    #[allow(unused_variables)] unused: u8,
    #[cfg(not(any()))] more: u8,
) -> Answer<u64> {
    //! More documentation
    #![allow(non_snake_case)]
    rival::refused("a:1").await;
    let Sum = id + u64::from(more);
    Ok(Sum)
}

#[cfg(any())]
#[distributed_lock(key = "a:<nothing>")]
async fn gone() {}

#[deprecated]
#[distributed_lock(key = "b")]
async fn old() -> Answer<()> {
    rival::refused("b").await;
    Ok(())
}

/// Above the macro of the runtime, which makes a plain function of it.
#[distributed_lock(key = "main")]
#[tokio::main(flavor = "current_thread")]
async fn start() -> Answer<()> {
    rival::refused("main").await;
    #[allow(deprecated)]
    old().await?;
    assert_eq!(many(1, 2, 3).await?, 4);
    Ok(())
}

/// The attribute inside a function, on a function that captures nothing.
async fn inside() -> Answer<u8> {
    #[distributed_lock(key = "inside")]
    async fn local() -> Answer<u8> {
        rival::refused("inside").await;
        Ok(3)
    }
    local().await
}

fn main() {
    // `start` builds a runtime of its own, so the manager is the default of the process
    let manager: &LockManager = rival::manager();
    manager.install().unwrap();
    start().unwrap();
    assert_eq!(rival::run(inside()).unwrap(), 3);
}
