//! A grant that replicas have to have before it counts, so that a failover to one of them doesn't lose it.
//!
//! It narrows the gap and doesn't close it: with fewer replicas than there are, one that has not got the grant may be promoted.

use std::time::Duration;

use super::connect::Link;
use super::script::Script;
use super::{renewal, reply};
use crate::backend::{BackendError, BackendErrorKind, HandOver, Notice, Renewed, Wakeups};
use crate::token::{FencingToken, OwnerToken};

/// How many replicas have to have it.
#[derive(Debug)]
pub(super) struct Replicas {
    count: usize,
    renew: Script,
}

/// What they have to have: a hold of this length from now on.
pub(super) struct Confirming<'a> {
    pub(super) record: &'a str,
    pub(super) ticket: OwnerToken,
    pub(super) token: FencingToken,
    pub(super) lease: Duration,
}

impl Replicas {
    pub(super) fn new(count: usize) -> Self {
        Self {
            count,
            renew: Script::new(include_str!("scripts/renew.lua")),
        }
    }

    /// Waits until they have it. The renewal is a write of the connection that waits, and says whether the hold still stands.
    pub(super) async fn have(
        &self,
        link: &Link,
        held: Confirming<'_>,
        limit: Duration,
    ) -> Result<(), BackendError> {
        let keys = [held.record.to_owned()];
        let arguments = renewal(held.ticket, held.token, held.lease);
        let renewal = self.renew.whole(&keys, &arguments);
        let have = match link.replicated(&renewal, self.count, limit / 2).await {
            Some((said, have)) if reply::renewed(&said) == Some(Renewed::Renewed) => have,
            Some(_) | None => 0,
        };
        if usize::try_from(have).is_ok_and(|have| have >= self.count) {
            return Ok(());
        }
        Err(BackendError::new(
            BackendErrorKind::NotReplicated,
            format!(
                "of the replicas of Redis at {} {have} had it in time, and confirm_replicas asks for {}; see INFO replication",
                link.address(),
                self.count
            ),
        ))
    }
}

/// A hand-over isn't confirmed yet: it becomes a sign, upon which the waiter asks.
pub(super) fn as_signs(wakeups: Wakeups) -> Wakeups {
    Wakeups::new(move |notice| match notice {
        Notice::HandedOver(HandOver { ticket, number, .. }) => {
            wakeups.handed_over(HandOver::new(ticket, number, FencingToken::new(0)));
        }
        Notice::Reconnected => wakeups.reconnected(),
    })
}
