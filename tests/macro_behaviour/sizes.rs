//! What the call needs is in boxes, made before the lock is asked for: the annotated function's future is no larger than the
//! plain one's. The figures stand in the attribute's documentation.

use std::mem::size_of_val;

use lockruntime::{LockError, LockManager, distributed_lock};

/// Never called: the futures of this file are measured, not run.
fn manager() -> LockManager {
    unreachable!("nothing is polled")
}

macro_rules! functions {
    ($(async fn $name:ident($($arguments:tt)*) -> $output:ty $body:block)*) => {
        mod plain {
            use super::*;
            $(pub(super) async fn $name($($arguments)*) -> $output $body)*
        }
        mod locked {
            use super::*;
            $(#[distributed_lock(key = "a")]
            pub(super) async fn $name($($arguments)*) -> $output $body)*
        }
        mod with_everything {
            use super::*;
            $(#[distributed_lock(
                key = "a", lease = "30s", wait = "1s", manager = manager(), when = manager().capabilities().fifo, guard = _hold, or_else = Err
            )]
            pub(super) async fn $name($($arguments)*) -> $output $body)*
        }
    };
}

functions! {
    async fn small(id: u64) -> Result<u64, LockError> {
        tokio::task::yield_now().await;
        Ok(id)
    }

    async fn large(bytes: [u8; 1024]) -> Result<u8, LockError> {
        tokio::task::yield_now().await;
        Ok(bytes[0])
    }

    async fn large_body(id: u8) -> Result<u8, LockError> {
        let bytes = [id; 8192];
        tokio::task::yield_now().await;
        Ok(bytes[0])
    }

    async fn large_unused(_bytes: [u8; 1024], _: [u8; 1024]) -> Result<(), LockError> {
        tokio::task::yield_now().await;
        Ok(())
    }
}

#[test]
fn the_future_is_no_larger_than_the_plain_one() {
    let mut wrong = Vec::new();
    macro_rules! compare {
        ($($name:ident($($argument:expr),*))*) => {$(
            let plain = size_of_val(&plain::$name($($argument),*));
            let locked = size_of_val(&locked::$name($($argument),*));
            let everything = size_of_val(&with_everything::$name($($argument),*));
            eprintln!("{}: {plain} bytes plain, {locked} locked, {everything} with every argument", stringify!($name));
            if locked > plain {
                wrong.push(stringify!($name));
            }
        )*};
    }
    compare! {
        small(1)
        large([0; 1024])
        large_body(1)
        large_unused([0; 1024], [0; 1024])
    }
    assert!(wrong.is_empty(), "larger with the lock: {wrong:?}");
}
