//! What can be observed: every event goes out here, and no call site knows which sinks there are.

mod event;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(not(feature = "metrics"))]
mod metrics {
    //! The twin that does nothing.
    pub(super) fn event(_: &super::Event<'_>) {}
}
mod observer;
mod redact;
#[cfg(feature = "tracing")]
mod span;
#[cfg(not(feature = "tracing"))]
#[path = "no_span.rs"]
mod span;
#[cfg(feature = "tracing")]
mod trace;
#[cfg(not(feature = "tracing"))]
mod trace {
    //! The twin that does nothing.
    pub(super) fn event(_: &super::Event<'_>) {}
    pub(super) fn not_run(_: &crate::error::LockError) {}
}

use std::cell::RefCell;
use std::sync::Arc;

pub use event::{Event, Subject};
pub(crate) use observer::{Hook, Observer};
pub use redact::Redact;
pub(crate) use redact::Shown;
pub(crate) use span::CallSpan;

/// The template of a lock that was taken by hand.
pub(crate) const NO_TEMPLATE: &str = "(none)";

thread_local! {
    /// The keeper's thread belongs to one manager: what the storage does there is that one's affair.
    static OBSERVER: RefCell<Arc<Observer>> = RefCell::default();
}

/// This thread is the keeper of a manager that is observed so.
pub(crate) fn observe_here(observer: Arc<Observer>) {
    OBSERVER.set(observer);
}

/// Tells what happened to the storage. Events of a lock go through its [`Life`](crate::hold::Life), which knows its manager's
/// observer on every thread.
#[cfg_attr(
    not(feature = "redis"),
    expect(dead_code, reason = "only a network goes down")
)]
pub(crate) fn emit(event: &Event<'_>) {
    let observer = OBSERVER.with_borrow(Arc::clone);
    observer.emit(event);
}

/// Tells what a caller isn't told, whose return type has no room for it: without this nobody would see it.
pub(crate) fn not_run(error: &crate::error::LockError) {
    trace::not_run(error);
}
