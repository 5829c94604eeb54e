//! `unsafe`, visibility, ABI and `Send`.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, refused};

type Answer<T> = Result<T, LockError>;

mod inner {
    use super::{Answer, distributed_lock, refused};

    #[distributed_lock(key = "a")]
    pub(in crate::macro_pass::modifiers) async fn in_a_path() -> Answer<u8> {
        refused("a").await;
        Ok(1)
    }

    #[distributed_lock(key = "a")]
    pub(super) async fn to_the_parent() -> Answer<u8> {
        refused("a").await;
        Ok(2)
    }

    #[distributed_lock(key = "a")]
    pub(crate) async fn to_the_crate() -> Answer<u8> {
        refused("a").await;
        private().await
    }

    async fn private() -> Answer<u8> {
        Ok(3)
    }
}

#[test]
fn visible_in_a_path() {
    case(async { assert_eq!(inner::in_a_path().await.unwrap(), 1) });
}

#[test]
fn visible_to_the_parent() {
    case(async { assert_eq!(inner::to_the_parent().await.unwrap(), 2) });
}

#[test]
fn visible_to_the_crate() {
    case(async { assert_eq!(inner::to_the_crate().await.unwrap(), 3) });
}

#[test]
#[expect(unsafe_code, reason = "an unsafe function is the form under test")]
fn unsafe_function() {
    /// # Safety
    /// `pointer` is valid.
    #[distributed_lock(key = "a")]
    async unsafe fn locked(pointer: *const u8) -> Answer<u8> {
        refused("a").await;
        // SAFETY: as the function asks
        Ok(unsafe { *pointer })
    }
    case(async {
        // SAFETY: the value outlives the call
        assert_eq!(unsafe { locked(&7).await }.unwrap(), 7);
    });
}

#[test]
fn abi() {
    #[distributed_lock(key = "a")]
    async extern "Rust" fn locked() -> Answer<u8> {
        refused("a").await;
        Ok(1)
    }
    case(async { assert_eq!(locked().await.unwrap(), 1) });
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

#[test]
fn sendable() {
    #[distributed_lock(key = "a:<id>")]
    async fn locked(id: u64, text: String) -> Answer<String> {
        refused("a:1").await;
        Ok(text)
    }
    case(async { assert_eq!(is_send(locked(1, "x".to_owned())).await.unwrap(), "x") });
}

/// Its body is `Send` as long as `T` is.
#[test]
fn sendable_by_parameter() {
    #[distributed_lock(key = "b")]
    async fn locked<T>(value: T) -> Answer<T> {
        refused("b").await;
        Ok(value)
    }
    case(async {
        assert_eq!(is_send(locked(1)).await.unwrap(), 1);
        assert_eq!(*locked(Rc::new(2)).await.unwrap(), 2);
    });
}

#[test]
fn not_sendable() {
    #[distributed_lock(key = "c")]
    async fn locked(cell: Rc<RefCell<u8>>) -> Answer<Rc<u8>> {
        refused("c").await;
        *cell.borrow_mut() += 1;
        let value = *cell.borrow();
        Ok(Rc::new(value))
    }
    case(async { assert_eq!(*locked(Rc::new(RefCell::new(1))).await.unwrap(), 2) });
}
