//! The twin of a call's span that does nothing.

use crate::error::LockError;
use crate::guard::Part;
use crate::options::Mode;

#[derive(Debug)]
pub(crate) struct CallSpan;

impl CallSpan {
    pub(crate) fn new() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "as its twin")]
    pub(crate) fn run<T>(&self, poll: impl FnOnce() -> T) -> T {
        poll()
    }

    pub(crate) fn wants(_: &dyn std::fmt::Display, _: &str, _: Mode) {}

    pub(crate) fn entered<'a>(&mut self, _: impl Iterator<Item = &'a Part>) {}

    pub(crate) fn refused(&mut self, _: &LockError) {}

    pub(crate) fn left(&mut self, _: &'static str) {}
}
