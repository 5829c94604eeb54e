//! A grant that replicas have to have before it counts, so that a failover to one of them doesn't lose it.
//!
//! It narrows the gap and doesn't close it: with fewer replicas than there are, one that has not got the grant may be promoted.

use std::time::Duration;

use redis::Value;

use super::connect::Link;
use super::renewal::Renewal;
use super::reply;
use super::script::Script;
use crate::backend::{BackendError, BackendErrorKind, HandOver, Notice, Renewed, Wakeups};
use crate::token::FencingToken;

/// How many replicas have to have it.
#[derive(Debug)]
pub(super) struct Replicas {
    count: usize,
    touch: Script,
}

impl Replicas {
    pub(super) fn new(count: usize) -> Self {
        Self {
            count,
            touch: Script::new(include_str!("scripts/touch.lua")),
        }
    }

    /// Waits until they have it. The renewal says, on the connection that waits, whether the hold still stands.
    pub(super) async fn have(
        &self,
        link: &Link,
        renewal: &Renewal<'_>,
        limit: Duration,
    ) -> Result<(), BackendError> {
        let record = renewal.keys.get(..1).unwrap_or_default();
        let commands = [renewal.whole(), self.touch.whole(record, &[])];
        let have = match link.replicated(&commands, self.count, limit / 2).await {
            Some((said, have)) if said.iter().all(is_done) => have,
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

/// The renewal and the write after it answer alike.
fn is_done(said: &Value) -> bool {
    reply::renewed(said) == Some(Renewed::Renewed)
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
