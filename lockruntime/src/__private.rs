//! The only names expanded code may use. Outside semver: nobody but `#[distributed_lock]` of the same version may call it.

pub use std::boxed::Box;
pub use std::option::Option::{None, Some};
pub use std::primitive::{bool, u32};
pub use std::time::Duration;
pub use std::{concat, module_path};

use std::convert::identity;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;

pub use crate::argument::{AsManager, OrElse};
use crate::current;
use crate::error::LockError;
use crate::guard::Hold;
use crate::key::Filling;
use crate::manager::LockManager;
use crate::manager::run::{Rest, RestInBackground, Run, RunInBackground};
use crate::options::Terms;
pub use crate::options::{Mode, OnLost, Sharing};
pub use crate::refusal::{FromLockError, FromRefusal, FromSkipped};

/// One call of an annotated function: what its attribute says, and its filled keys. Boxed, since the caller's future holds it.
#[derive(Debug)]
pub struct Call(pub(crate) Box<Said>);

#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) name_of: &'static str,
    pub(crate) terms: Terms,
    /// The key that is being filled, the last one.
    pub(crate) key: CallKey,
    /// Those before it.
    pub(crate) before: Vec<CallKey>,
    /// The `manager` argument.
    pub(crate) manager: Option<LockManager>,
    /// False when the `when` argument says not to lock.
    pub(crate) locked: bool,
}

/// One key of a call.
#[derive(Debug)]
pub(crate) struct CallKey {
    pub(crate) template: &'static str,
    pub(crate) filling: Filling,
}

impl CallKey {
    fn new(template: &'static str) -> Self {
        Self {
            template,
            filling: Filling::default(),
        }
    }
}

impl Call {
    /// `name_of` is the function with its module, `template` the key as written, the first of several.
    #[must_use]
    pub fn new(name_of: &'static str, template: &'static str) -> Self {
        Self(Box::new(Said {
            name_of,
            terms: Terms::default(),
            key: CallKey::new(template),
            before: Vec::new(),
            manager: None,
            locked: true,
        }))
    }

    /// Begins another key: all of them are locked, or none. What follows fills this one.
    #[must_use]
    pub fn and(mut self, template: &'static str) -> Self {
        let done = std::mem::replace(&mut self.0.key, CallKey::new(template));
        self.0.before.push(done);
        self
    }

    /// The `when` argument. Comes before the key's parts: a call that doesn't lock has no key.
    #[must_use]
    pub fn when(mut self, when: bool) -> Self {
        self.0.locked = when;
        self
    }

    /// Text of the key between placeholders, unescaped as the template means it (`{{` is one brace here).
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.0.key.filling.text(text);
        self
    }

    /// The value of a placeholder; `name` is the placeholder as written.
    #[must_use]
    pub fn value(mut self, name: &str, value: &dyn Display) -> Self {
        if self.0.locked {
            self.0.key.filling.value(name, value);
        }
        self
    }

    /// The `mode` argument.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.0.terms.mode = mode;
        self
    }

    /// The `lease` argument.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.0.terms.lease = Some(lease);
        self
    }

    /// The `wait` argument.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.0.terms.wait = Some(wait);
        self
    }

    /// The `max_hold` argument.
    #[must_use]
    pub fn max_hold(mut self, most: Duration) -> Self {
        self.0.terms.max_hold = Some(most);
        self
    }

    /// The `min_hold` argument.
    #[must_use]
    pub fn min_hold(mut self, least: Duration) -> Self {
        self.0.terms.min_hold = Some(least);
        self
    }

    /// The `max_waiters` argument.
    #[must_use]
    pub fn max_waiters(mut self, most: u32) -> Self {
        self.0.terms.max_waiters = Some(most);
        self
    }

    /// The `permits` argument.
    #[must_use]
    pub fn permits(mut self, permits: u32) -> Self {
        self.0.terms.sharing = Sharing::Permits(permits);
        self
    }

    /// The `access` argument.
    #[must_use]
    pub fn access(mut self, sharing: Sharing) -> Self {
        self.0.terms.sharing = sharing;
        self
    }

    /// The `watchdog` argument.
    #[must_use]
    pub fn watchdog(mut self, renews: bool) -> Self {
        self.0.terms.watchdog = renews;
        self
    }

    /// The `on_lost` argument.
    #[must_use]
    pub fn on_lost(mut self, on_lost: OnLost) -> Self {
        self.0.terms.on_lost = on_lost;
        self
    }

    /// The `reentrant` argument.
    #[must_use]
    pub fn reentrant(mut self, reentrant: bool) -> Self {
        self.0.terms.reentrant = reentrant;
        self
    }
}

/// What may stand for a placeholder of a key: everything that has a [`Display`].
///
/// A trait of its own, so that the compiler's error says which value is meant and what to do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be part of a lock's key: it has no `Display`",
    label = "a placeholder of this key is a `{Self}`",
    note = "name one of its fields, as in `<req.id>`, or implement `std::fmt::Display` for it; what an `Option` holds is taken out before the call"
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
    Run::new(Rest::of_call(call, told_by(refused)), body)
}

/// What a call returns. Its type doesn't know the body's, so it is compiled once for all functions of one output.
fn told_by<R>(refused: impl FnOnce(LockError) -> R) -> impl FnOnce(Result<R, LockError>) -> R {
    |outcome| outcome.unwrap_or_else(refused)
}

/// Like [`run`] with the closure of the `or_else` argument. A bound that the compiler knows, so that it infers the closure's.
pub fn run_or<R, F: Future<Output = R>, O: FnOnce(LockError) -> R>(
    or_else: O,
    call: Call,
    body: Pin<Box<F>>,
) -> impl Future<Output = R> {
    Run::new(Rest::of_call(call, told_by(or_else)), body)
}

/// Like [`run`] for a function that returns `impl IntoResponse` or `impl Responder`: such a type can't be made from a refusal,
/// but a `Result` of it is one as well.
pub fn run_opaque<R, F: Future<Output = R>>(
    call: Call,
    body: Pin<Box<F>>,
) -> impl Future<Output = Result<R, LockError>> {
    Run::new(Rest::of_call(call, identity::<Result<R, LockError>>), body)
}

/// Like [`run`] with `release = "background"`: the release is handed over instead of awaited, so the future is `Send` even where
/// what the body returns is not.
pub fn run_in_background<R, F: Future<Output = R>>(
    call: Call,
    body: Pin<Box<F>>,
    refused: fn(LockError) -> R,
) -> impl Future<Output = R> {
    RunInBackground::new(RestInBackground::of_call(call, told_by(refused)), body)
}

/// Like [`run_or`] with `release = "background"`.
pub fn run_or_in_background<R, F: Future<Output = R>, O: FnOnce(LockError) -> R>(
    or_else: O,
    call: Call,
    body: Pin<Box<F>>,
) -> impl Future<Output = R> {
    RunInBackground::new(RestInBackground::of_call(call, told_by(or_else)), body)
}

/// Like [`run_opaque`] with `release = "background"`.
pub fn run_opaque_in_background<R, F: Future<Output = R>>(
    call: Call,
    body: Pin<Box<F>>,
) -> impl Future<Output = Result<R, LockError>> {
    RunInBackground::new(
        RestInBackground::of_call(call, identity::<Result<R, LockError>>),
        body,
    )
}

/// The hold of the running body, for the `guard` argument.
#[must_use]
pub fn hold() -> Hold {
    current::current().expect("a body runs under its lock")
}

/// The same where the `when` argument decides whether there is one.
#[must_use]
pub fn hold_when(when: bool) -> Option<Hold> {
    when.then(hold)
}
