//! How an annotated function tells its caller that the lock was refused or lost.

use crate::error::LockError;
use crate::telemetry;

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

/// What an annotated function with `mode = "skip"` returns: a type that has room for not having run.
///
/// These are `()`, `Option<T>`, `Result<(), E>` and `Result<Option<T>, E>` where `E: From<LockError>`. Where the lock is held by
/// somebody else they are `()`, `None`, `Ok(())` and `Ok(None)`. Every other reason why the body didn't run, or was stopped, is
/// the `Err` of the last two; the first two have no room for it, so it is logged as a warning.
#[diagnostic::on_unimplemented(
    message = "a skipped function must be able to say that it didn't run, and `{Self}` can't",
    label = "no room for a call that was skipped",
    note = "return `()`, `Option<T>`, `Result<(), E>` or `Result<Option<T>, E>`, or say with `or_else` what to return then"
)]
pub trait FromSkipped {
    /// What a call returns that has, or has no longer, no lock.
    fn from_skipped(error: LockError) -> Self;
}

impl FromSkipped for () {
    fn from_skipped(error: LockError) -> Self {
        unless_skipped(&error);
    }
}

impl<T> FromSkipped for Option<T> {
    fn from_skipped(error: LockError) -> Self {
        unless_skipped(&error);
        None
    }
}

impl<T: Unrun, E: FromRefusal> FromSkipped for Result<T, E> {
    fn from_skipped(error: LockError) -> Self {
        if error.is_busy() {
            Ok(T::unrun())
        } else {
            Err(E::from_refusal(error))
        }
    }
}

/// The value inside of a `Result` of an annotated function with `mode = "skip"`: `()` or an `Option`.
#[diagnostic::on_unimplemented(
    message = "a skipped function must be able to say that it didn't run, and a `Result` of `{Self}` can't",
    label = "there is no `{Self}` where the body didn't run",
    note = "return `Result<Option<{Self}>, E>`, or `Result<(), E>`, or say with `or_else` what to return then"
)]
pub trait Unrun {
    /// The value of a call that didn't run.
    fn unrun() -> Self;
}

impl Unrun for () {
    fn unrun() -> Self {}
}

impl<T> Unrun for Option<T> {
    fn unrun() -> Self {
        None
    }
}

/// The caller hears nothing of what it has no room for, so somebody else must. A hold that ended was told already.
fn unless_skipped(error: &LockError) {
    let ended = error.is_lost() || matches!(error, LockError::HoldCapReached { .. });
    if !error.is_busy() && !ended {
        telemetry::not_run(error);
    }
}
