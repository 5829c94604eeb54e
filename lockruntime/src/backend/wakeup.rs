//! How a backend tells the keeper what it didn't ask for.

use std::fmt;
use std::sync::Arc;

use crate::token::{FencingToken, OwnerToken};

/// A lock was handed to a waiting ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandOver {
    /// The new owner.
    pub ticket: OwnerToken,
    /// The number under which it waited.
    pub number: u64,
    /// The token of the grant.
    pub token: FencingToken,
}

impl HandOver {
    /// For backends.
    #[must_use]
    pub fn new(ticket: OwnerToken, number: u64, token: FencingToken) -> Self {
        Self {
            ticket,
            number,
            token,
        }
    }
}

/// What a backend may tell at any time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    HandedOver(HandOver),
    Reconnected,
}

/// Where a backend announces what nobody asked for. Cheap to clone; never blocks.
#[derive(Clone)]
pub struct Wakeups(Arc<dyn Fn(Notice) + Send + Sync>);

impl Wakeups {
    pub(crate) fn new(tell: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// A waiter of this process was given its lock. Late, repeated and unknown ones do no harm.
    pub fn handed_over(&self, hand_over: HandOver) {
        (self.0)(Notice::HandedOver(hand_over));
    }

    /// The storage is reachable again, and may have forgotten: every hold is verified at once, every waiter asks anew.
    pub fn reconnected(&self) {
        (self.0)(Notice::Reconnected);
    }
}

impl fmt::Debug for Wakeups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wakeups")
    }
}
