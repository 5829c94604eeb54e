//! Readers of a price list share it, whoever writes it has it alone.
//!
//! ```text
//! cargo run -p examples --example read_write
//! LOCK_URL=redis://127.0.0.1:6379 cargo run -p examples --example read_write
//! ```
//!
//! Three readers are inside when a writer comes. The reader that comes after the writer waits behind it, and finds the new list.

use std::error::Error;
use std::time::Duration;

use lockruntime::{LockError, LockManager, distributed_lock};
use tokio::time::sleep;

#[distributed_lock(key = "prices:<shop>", access = "read")]
async fn quote(shop: &str, reader: &str) -> Result<(), LockError> {
    say(&format!("{reader} reads"));
    sleep(Duration::from_millis(150)).await;
    say(&format!("{reader} has read"));
    Ok(())
}

#[distributed_lock(key = "prices:<shop>", access = "write")]
async fn update(shop: &str) -> Result<(), LockError> {
    say("the writer is alone");
    sleep(Duration::from_millis(50)).await;
    // a reader inside of the writer goes on under its lock
    quote(shop, "the writer").await
}

/// The other way round it would wait for itself.
#[distributed_lock(key = "prices:<shop>", access = "read")]
async fn correct_while_reading(shop: &str) -> Result<(), LockError> {
    update(shop).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let locks = match std::env::var_os("LOCK_URL") {
        Some(_) => LockManager::from_env()?,
        None => LockManager::memory(),
    };
    locks.install()?;
    let later = |millis| sleep(Duration::from_millis(millis));
    tokio::try_join!(
        quote("east", "Anna"),
        quote("east", "Bruno"),
        quote("east", "Carla"),
        async {
            later(50).await;
            update("east").await
        },
        async {
            later(80).await;
            quote("east", "Dora, who came after the writer,").await
        },
    )?;
    match correct_while_reading("east").await {
        Err(error @ LockError::SelfDeadlock { .. }) => say(&error.to_string()),
        outcome => return Err(format!("a reader became a writer: {outcome:?}").into()),
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the program shows what happens")]
fn say(line: &str) {
    println!("{line}");
}
