//! The future is `Send` when body and output are, and may be otherwise.

#[path = "../rival.rs"]
mod rival;

use std::cell::RefCell;
use std::rc::Rc;

use lockruntime::{LockError, distributed_lock};

#[distributed_lock(key = "a:<id>")]
async fn sendable(id: u64, text: String) -> Result<String, LockError> {
    rival::refused("a:1").await;
    Ok(text)
}

/// Its body is `Send` as long as `T` is.
#[distributed_lock(key = "b")]
async fn generic<T>(value: T) -> Result<T, LockError> {
    rival::refused("b").await;
    Ok(value)
}

#[distributed_lock(key = "c")]
async fn local(cell: Rc<RefCell<u8>>) -> Result<u8, LockError> {
    rival::refused("c").await;
    *cell.borrow_mut() += 1;
    let value = *cell.borrow();
    Ok(value)
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

async fn case() -> Result<(), LockError> {
    assert_eq!(is_send(sendable(1, "x".to_owned())).await?, "x");
    assert_eq!(is_send(generic(1)).await?, 1);
    assert_eq!(local(Rc::new(RefCell::new(1))).await?, 2);
    Ok(())
}

fn main() {
    rival::run(case()).unwrap();
}
