//! `unsafe`, visibility and ABI stay as written.
#![deny(unsafe_op_in_unsafe_fn)]

#[path = "../rival.rs"]
mod rival;

mod inner {
    use lockruntime::{LockError, distributed_lock};

    /// # Safety
    /// `pointer` is valid.
    #[distributed_lock(key = "a")]
    pub(in crate::inner) async unsafe fn read(pointer: *const u8) -> Result<u8, LockError> {
        crate::rival::refused("a").await;
        Ok(unsafe { *pointer })
    }

    #[distributed_lock(key = "b")]
    pub(super) async extern "Rust" fn abi() -> Result<u8, LockError> {
        crate::rival::refused("b").await;
        unsafe { read(&7).await }
    }
}

fn main() {
    assert_eq!(rival::run(inner::abi()).unwrap(), 7);
}
