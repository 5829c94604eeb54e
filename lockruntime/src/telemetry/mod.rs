//! What can be observed: events go out here, sinks are chosen by features.

#[cfg(feature = "tracing")]
mod trace;

use crate::error::LossReason;
use crate::health::Finding;
use crate::hold::Life;

/// Something worth telling.
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "nobody listens"))]
pub(crate) enum Event<'a> {
    /// A held lock was lost; its body is being stopped.
    Lost { life: &'a Life },
    /// A body was stopped at the cap of its hold.
    CapReached { life: &'a Life },
    /// A lock could not be given back at the first try; the keeper goes on, and its lease ends it.
    ReleaseFailed { life: &'a Life },
    /// A lock was no longer ours when it was given back, and nobody had noticed.
    NotOurs { life: &'a Life },
    /// The storage can't be reached, or can be again.
    #[cfg_attr(
        all(feature = "tracing", not(feature = "redis")),
        expect(dead_code, reason = "only a network goes down")
    )]
    Backend { address: &'a str, up: bool },
    /// A look at the storage found something.
    #[cfg_attr(
        all(feature = "tracing", not(feature = "redis")),
        expect(dead_code, reason = "only a server is looked at")
    )]
    Found {
        address: &'a str,
        finding: &'a Finding,
    },
    /// A node of a quorum fails to do its part, or does it again.
    #[cfg(feature = "quorum")]
    Node {
        address: &'a str,
        failure: Option<&'a crate::backend::BackendError>,
    },
}

impl<'a> Event<'a> {
    /// The end of a hold that didn't end by itself.
    pub(crate) fn ended(life: &'a Life) -> Self {
        if life.lost() == Some(LossReason::CapReached) {
            Self::CapReached { life }
        } else {
            Self::Lost { life }
        }
    }
}

/// Tells every sink. Without one this is nothing.
pub(crate) fn emit(event: &Event<'_>) {
    #[cfg(feature = "tracing")]
    trace::event(event);
    #[cfg(not(feature = "tracing"))]
    let _ = event;
}
