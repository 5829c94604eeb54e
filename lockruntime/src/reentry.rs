//! The locks held by this call chain: a nested call of the same key goes on under the lock its caller has, instead of waiting
//! for it for ever.
//!
//! A chain is what a body awaits itself. A task that it spawns is outside, a rival like any other.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::error::{LockError, LossReason};
use crate::guard::Hold;
use crate::watchdog::Watchdog;

tokio::task_local! {
    static CHAIN: Arc<Link>;
}

/// One running body: the lock it has, and the body that called it.
#[derive(Debug)]
pub(crate) struct Link {
    hold: Hold,
    record: Arc<str>,
    watchdog: Watchdog,
    /// Nested calls of this key inside of this body take turns: one body at a time, always.
    turn: Mutex<()>,
    outer: Option<Arc<Self>>,
}

impl Link {
    /// A body that begins here, called by the one that runs here.
    pub(crate) fn new(hold: Hold, record: Arc<str>, watchdog: Watchdog) -> Arc<Self> {
        let (turn, outer) = (Mutex::new(()), innermost());
        Arc::new(Self {
            hold,
            record,
            watchdog,
            turn,
            outer,
        })
    }

    /// Runs one poll of the body.
    pub(crate) fn run<T>(self: &Arc<Self>, poll: impl FnOnce() -> T) -> T {
        CHAIN.sync_scope(Arc::clone(self), poll)
    }
}

fn innermost() -> Option<Arc<Link>> {
    CHAIN.try_with(Arc::clone).ok()
}

/// The lock of the running body, the innermost where bodies are nested.
pub(crate) fn current() -> Option<Hold> {
    CHAIN.try_with(|link| link.hold.clone()).ok()
}

/// The nearest body of this chain that has this lock of this manager.
pub(crate) fn held(watchdog: &Watchdog, record: &str) -> Option<Arc<Link>> {
    let mut link = innermost()?;
    while *link.record != *record || !link.watchdog.is(watchdog) {
        link = Arc::clone(link.outer.as_ref()?);
    }
    Some(link)
}

/// Runs a nested `body` under the lock that `link` has: no request, the same fencing token, and it is the outer body that gives
/// the lock back. Dropping the future drops the body and passes the turn on.
pub(crate) async fn reenter<F: Future>(
    link: Arc<Link>,
    body: Pin<Box<F>>,
) -> Result<F::Output, LockError> {
    let _turn = link.turn.lock().await;
    // declared after the turn: on every way out the body goes first
    let mut body = body;
    if !link.hold.is_held() {
        return Err(link.hold.lost_error(LossReason::LeaseOver));
    }
    let nested = Link::new(
        link.hold.clone(),
        Arc::clone(&link.record),
        link.watchdog.clone(),
    );
    // the outer body checks the deadline before each of its polls, and this one runs inside of those
    Ok(poll_fn(|context| nested.run(|| body.as_mut().poll(context))).await)
}
