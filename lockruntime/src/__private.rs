//! The only names expanded code may use. Outside semver: nobody but `#[distributed_lock]` of the same version may call it.

pub use std::boxed::Box;
pub use std::option::Option::{None, Some};
pub use std::time::Duration;
pub use std::{concat, module_path};

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;

use futures_util::FutureExt;

use crate::error::LockError;
use crate::key::Filling;
pub use crate::options::Mode;
pub use crate::refusal::{FromLockError, FromRefusal};

/// One call of an annotated function: what its attribute says, and its filled key.
#[derive(Debug)]
pub struct Call {
    pub(crate) name_of: &'static str,
    pub(crate) template: &'static str,
    pub(crate) mode: Mode,
    pub(crate) lease: Option<Duration>,
    pub(crate) wait: Option<Duration>,
    pub(crate) key: Filling,
}

impl Call {
    /// `name_of` is the function with its module, `template` the key as written.
    #[must_use]
    pub fn new(name_of: &'static str, template: &'static str) -> Self {
        Self {
            name_of,
            template,
            mode: Mode::Queue,
            lease: None,
            wait: None,
            key: Filling::default(),
        }
    }

    /// Text of the key between placeholders, unescaped as the template means it (`{{` is one brace here).
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.key.text(text);
        self
    }

    /// The value of a placeholder; `name` is the placeholder as written.
    #[must_use]
    pub fn value(mut self, name: &str, value: &dyn Display) -> Self {
        self.key.value(name, value);
        self
    }

    /// The `mode` argument.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The `lease` argument.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// The `wait` argument.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }
}

/// What may stand for a placeholder of a key: everything that has a [`Display`].
///
/// A trait of its own, so that the compiler's error says which value is meant and what to do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be part of a lock's key: it has no `Display`",
    label = "a placeholder of this key is a `{Self}`",
    note = "name one of its fields, as in `<req.id>`, or write `impl std::fmt::Display for {Self}`"
)]
pub trait KeyValue {
    #[doc(hidden)]
    fn fill(&self, call: Call, name: &str) -> Call;
}

#[diagnostic::do_not_recommend]
impl<V: Display + ?Sized> KeyValue for V {
    fn fill(&self, call: Call, name: &str) -> Call {
        call.value(name, &self)
    }
}

/// Runs `body` under the lock of `call`, or returns what `refused` makes of the refusal without having polled the body.
///
/// `refused` is a pointer, since the type of the function itself would repeat its bound, and with it the compiler's error.
pub fn run<R, F: Future<Output = R>>(
    call: Call,
    body: Pin<Box<F>>,
    refused: fn(LockError) -> R,
) -> impl Future<Output = R> {
    // no async block: its future would hold the arguments a second time
    crate::manager::run_call(call, body).map(move |outcome| outcome.unwrap_or_else(refused))
}
