//! One span per locked call, inside of the caller's own: from its first poll until its lock is given back.

use tracing::Span;
use tracing::field::{Empty, display};

use crate::clock::{self, Moment};
use crate::error::LockError;
use crate::guard::Part;
use crate::options::Mode;

/// The span of one locked call. The body runs inside of it. Times are in seconds.
#[derive(Debug)]
pub(crate) struct CallSpan {
    span: Span,
    since: Option<Moment>,
    ended: bool,
}

impl CallSpan {
    /// A span inside of the present one.
    pub(crate) fn new() -> Self {
        let span = tracing::info_span!(
            "lock",
            key = Empty,
            template = Empty,
            mode = Empty,
            wait = Empty,
            hold = Empty,
            fencing_token = Empty,
            outcome = Empty,
        );
        let since = (!span.is_disabled()).then(clock::now);
        Self {
            span,
            since,
            ended: false,
        }
    }

    /// Runs one poll of the call.
    pub(crate) fn run<T>(&self, poll: impl FnOnce() -> T) -> T {
        self.span.in_scope(poll)
    }

    /// What the call wants; inside of [`run`](Self::run).
    pub(crate) fn wants(key: &dyn std::fmt::Display, template: &str, mode: Mode) {
        let span = Span::current();
        span.record("key", display(key));
        span.record("template", template);
        span.record("mode", display(mode));
    }

    /// The lock is held; the body starts.
    pub(crate) fn entered<'a>(&mut self, mut parts: impl Iterator<Item = &'a Part>) {
        if let Some(since) = &mut self.since {
            let now = clock::now();
            self.span.record("wait", now.since(*since).as_secs_f64());
            *since = now;
            if let Some(part) = parts.next() {
                self.span.record("fencing_token", part.token.get());
            }
        }
    }

    /// The lock could not be had.
    pub(crate) fn refused(&mut self, error: &LockError) {
        if let Some(since) = self.since {
            self.span
                .record("wait", clock::now().since(since).as_secs_f64());
            self.outcome(if matches!(error, LockError::Busy { .. }) {
                "busy"
            } else if error.is_busy() {
                "wait timed out"
            } else {
                "failed"
            });
        }
    }

    /// The body is over; `outcome` tells how.
    pub(crate) fn left(&mut self, outcome: &'static str) {
        if let Some(since) = self.since.filter(|_| !self.ended) {
            self.span
                .record("hold", clock::now().since(since).as_secs_f64());
            self.outcome(outcome);
        }
    }

    fn outcome(&mut self, outcome: &'static str) {
        self.ended = true;
        self.span.record("outcome", outcome);
    }
}

impl Drop for CallSpan {
    fn drop(&mut self) {
        if !self.ended && self.since.is_some() {
            self.outcome("cancelled");
        }
    }
}
