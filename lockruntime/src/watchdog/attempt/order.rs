//! What goes into an attempt and what comes out.

use std::sync::Arc;
use std::time::Duration;

use crate::backend::Holder;
use crate::error::LockError;
use crate::hold::Life;
use crate::options::{Sharing, Timing};

/// What a caller asks the keeper for.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) life: Arc<Life>,
    pub(crate) record: Arc<str>,
    pub(crate) holder: Arc<Holder>,
    pub(crate) timing: Timing,
    pub(crate) wait: Option<Duration>,
    /// In queue mode: the longest queue that is joined.
    pub(crate) max_waiters: Option<u32>,
    /// How long the lock stays taken from the start of the work on, however short that is.
    pub(crate) min_hold: Duration,
    pub(crate) release_timeout: Duration,
    /// Goes on under the lock that its call chain has.
    pub(crate) reentrant: bool,
}

impl Order {
    /// What is said where this call would wait for itself, since its chain has the lock.
    pub(crate) fn self_deadlock(&self, outer: Sharing) -> LockError {
        LockError::SelfDeadlock {
            key: self.life.key.clone(),
            mode: self.life.mode,
            held: outer,
        }
    }

    /// Whether this call may go on under the lock that its chain has.
    pub(crate) fn nests_in(&self, outer: Sharing) -> Result<(), LockError> {
        let inner = self.life.sharing;
        if !self.reentrant {
            Err(self.self_deadlock(outer))
        } else if outer.is_alone() || inner.shares_with(outer) {
            Ok(())
        } else if inner.is_alone() {
            // it would wait for its own chain to end
            Err(self.self_deadlock(outer))
        } else {
            Err(self.life.differs(outer))
        }
    }
}

/// Requests to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Ask,
    Renew,
    Release,
    /// Not yet released: the lock stays for so long, and nobody renews it.
    Keep(Duration),
    Withdraw,
}

/// The requests that a step wants sent, in this order.
pub(crate) type Calls = Vec<Call>;
