//! The only names expanded code may use. Outside semver: nobody but `#[distributed_lock]` of the same version may call it.

pub use std::boxed::Box;
pub use std::time::Duration;
pub use std::{concat, module_path};

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;

use crate::error::LockError;
use crate::key::Filling;
pub use crate::options::Mode;

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

/// What an annotated function returns when its body may not run or was stopped.
#[diagnostic::on_unimplemented(
    message = "a locked function must be able to return a refusal, and `{Self}` can't",
    label = "this can't carry a `LockError`",
    note = "return `Result<T, E>` where `E: From<lockruntime::LockError>`: the lock may be busy, lost or out of reach"
)]
pub trait FromLockError {
    /// The refusal as a return value.
    fn from_lock_error(error: LockError) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T, E: From<LockError>> FromLockError for Result<T, E> {
    fn from_lock_error(error: LockError) -> Self {
        Err(E::from(error))
    }
}

/// Runs `body` under the lock of `call`, or returns the refusal without having polled it.
pub async fn run<R, F>(call: Call, body: Pin<Box<F>>) -> R
where
    R: FromLockError,
    F: Future<Output = R>,
{
    match crate::manager::run_call(call, body).await {
        Ok(value) => value,
        Err(error) => R::from_lock_error(error),
    }
}
