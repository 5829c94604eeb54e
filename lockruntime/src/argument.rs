//! What the values of the attribute's arguments may be. Traits of their own, so that the compiler's error says what to write.

use std::sync::Arc;

use crate::__private::Call;
use crate::error::LockError;
use crate::manager::LockManager;

/// What the `manager` argument may be: a [`LockManager`], or something that leads to one.
#[diagnostic::on_unimplemented(
    message = "`manager` must be a `LockManager`, and this is a `{Self}`",
    label = "not a lock manager",
    note = "a `LockManager`, a reference to one, or an `Arc` of one will do: `manager = self.locks`"
)]
pub trait AsManager {
    #[doc(hidden)]
    fn choose(&self, call: Call) -> Call;
}

impl AsManager for LockManager {
    fn choose(&self, mut call: Call) -> Call {
        call.0.manager = Some(self.clone());
        call
    }
}

#[diagnostic::do_not_recommend]
impl<M: AsManager + ?Sized> AsManager for &M {
    fn choose(&self, call: Call) -> Call {
        M::choose(self, call)
    }
}

#[diagnostic::do_not_recommend]
impl<M: AsManager + ?Sized> AsManager for Arc<M> {
    fn choose(&self, call: Call) -> Call {
        M::choose(self, call)
    }
}

/// What the `or_else` argument may be: a function that makes the return value `R` of a [`LockError`].
#[diagnostic::on_unimplemented(
    message = "`or_else` must be a function from `LockError` to what the annotated function returns",
    label = "not a function from `LockError` to `{R}`",
    note = "name one, as in `or_else = busy` with `fn busy(error: LockError) -> {R}`, or write a closure, as in `|error| …`"
)]
pub trait OrElse<R> {
    #[doc(hidden)]
    fn refuse(self, error: LockError) -> R;
}

#[diagnostic::do_not_recommend]
impl<R, O: FnOnce(LockError) -> R> OrElse<R> for O {
    fn refuse(self, error: LockError) -> R {
        self(error)
    }
}
