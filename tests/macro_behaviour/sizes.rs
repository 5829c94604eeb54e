//! The body is boxed before the lock is asked for, so that the future of the call doesn't hold it twice.

use std::mem::size_of_val;

use lockruntime::{LockError, distributed_lock};

/// What the call itself needs: the attribute's values, the filled key, the acquisition and the release.
const CALL: usize = 640;

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
fn the_body_costs_no_space_in_the_future() {
    let sizes = [
        (
            "small",
            size_of_val(&plain::small(1)),
            size_of_val(&locked::small(1)),
            8,
        ),
        (
            "large",
            size_of_val(&plain::large([0; 1024])),
            size_of_val(&locked::large([0; 1024])),
            1024,
        ),
        (
            "large body",
            size_of_val(&plain::large_body(1)),
            size_of_val(&locked::large_body(1)),
            1,
        ),
        (
            "large unused",
            size_of_val(&plain::large_unused([0; 1024], [0; 1024])),
            size_of_val(&locked::large_unused([0; 1024], [0; 1024])),
            2048,
        ),
    ];
    for (name, plain, locked, arguments) in sizes {
        eprintln!("{name}: {plain} bytes plain, {locked} locked");
        assert!(
            locked <= arguments + CALL,
            "{name}: {locked} bytes, {arguments} of them arguments"
        );
    }
}
