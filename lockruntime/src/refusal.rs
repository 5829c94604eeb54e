//! How an annotated function tells its caller that the lock was refused or lost.

use crate::error::LockError;

/// What an annotated function returns: a type that has room for a [`LockError`].
///
/// `Result<T, E>` has, where `E: From<LockError>`.
#[diagnostic::on_unimplemented(
    message = "a locked function must be able to say that the lock was refused, and `{Self}` can't",
    label = "no room for a `LockError`",
    note = "return `Result<T, E>` where `E: From<lockruntime::LockError>`, or say with `or_else` what to return then"
)]
pub trait FromLockError {
    /// The refusal as a return value.
    fn from_lock_error(error: LockError) -> Self;
}

impl<T, E: FromRefusal> FromLockError for Result<T, E> {
    fn from_lock_error(error: LockError) -> Self {
        Err(E::from_refusal(error))
    }
}

/// The error type of an annotated function: one that can be made from a [`LockError`]. A trait of its own, since the
/// compiler's words about a missing `From` don't say what to do.
#[diagnostic::on_unimplemented(
    message = "a locked function must be able to say that the lock was refused, and its error type `{Self}` can't",
    label = "`{Self}` has no `From<LockError>`",
    note = "write `impl From<lockruntime::LockError> for {Self}` if that type is yours, else return an error type of your own, or say with `or_else` what to return then"
)]
pub trait FromRefusal {
    /// The refusal as an error of the function.
    fn from_refusal(error: LockError) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: From<LockError>> FromRefusal for E {
    fn from_refusal(error: LockError) -> Self {
        Self::from(error)
    }
}
