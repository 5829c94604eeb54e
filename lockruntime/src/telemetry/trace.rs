//! Events through the `tracing` crate. A lost lock and a stuck one are a warning each; contention, and what passes by itself, stays
//! at debug.

use super::{Event, Subject};
use crate::error::LockError;

/// An event of a lock: each has its key and mode.
macro_rules! told {
    ($level:ident, $lock:expr, $($rest:tt)*) => {{
        let Subject { key, mode, .. } = $lock;
        tracing::$level!(key = %key.shown(), %mode, $($rest)*);
    }};
}

/// A call has no lock for another reason than that somebody has it, and its return type has no room to say so.
pub(super) fn not_run(error: &LockError) {
    tracing::warn!(mode = %error.mode(), %error, "not run, and its caller isn't told");
}

pub(super) fn event(event: &Event<'_>) {
    match *event {
        Event::Acquired {
            lock,
            token,
            waited,
        } => {
            told!(trace, lock, token = token.get(), ?waited, "lock acquired");
        }
        Event::Busy { lock, remaining } => told!(debug, lock, ?remaining, "lock busy"),
        Event::Waiting { lock, rank, .. } => told!(debug, lock, rank, "lock waited for"),
        Event::WaitTimedOut { lock, waited, rank } => {
            told!(debug, lock, ?waited, rank, "lock not free within the wait");
        }
        Event::Failed { lock, error } => told!(debug, lock, %error, "lock not to be had"),
        Event::Withdrawn { lock } => told!(debug, lock, "ticket withdrawn"),
        Event::Renewed { lock } => told!(trace, lock, "lock renewed"),
        Event::RenewalFailed { lock, error, left } => {
            told!(debug, lock, %error, ?left, "lock not renewed yet, tried again");
        }
        Event::Released {
            lock,
            held,
            dropped,
        } => {
            told!(trace, lock, ?held, dropped, "lock released");
        }
        Event::ReleaseFailed { lock, error } => {
            told!(info, lock, %error, "lock not given back yet, tried again until its lease is over");
        }
        Event::NotOurs { lock } => {
            told!(info, lock, "lock was no longer ours when it was given back");
        }
        Event::Lost {
            lock,
            token,
            reason,
            runs_on,
            ..
        } => {
            let token = token.map(crate::FencingToken::get);
            if runs_on {
                told!(warn, lock, token, %reason, "lock lost, its body runs on without it");
            } else {
                told!(warn, lock, token, %reason, "lock lost, its body is stopped");
            }
        }
        Event::CapReached { lock, held } => {
            told!(
                info,
                lock,
                ?held,
                "lock held for as long as it may be, its body is stopped"
            );
        }
        Event::StuckHold { lock, held } => {
            let owner = lock.owner;
            told!(warn, lock, ?held, %owner, "lock held for long, its body may be stuck");
        }
        Event::StuckWait { lock, waited } => {
            told!(
                warn,
                lock,
                ?waited,
                "lock waited for long, its holder may be stuck"
            );
        }
        Event::LongQueue { lock, rank } => {
            told!(warn, lock, rank, "long queue for a lock");
        }
        Event::Backend { address, up: true } => tracing::debug!(address, "lock storage reached"),
        Event::Backend { address, up: false } => {
            tracing::debug!(address, "lock storage out of reach");
        }
        Event::Found { address, finding } if finding.is_warning() => {
            tracing::warn!(address, %finding, "lock storage needs a look");
        }
        Event::Found { address, finding } => {
            tracing::debug!(address, %finding, "lock storage was not looked at in full");
        }
        Event::Node {
            address,
            failure: Some(error),
        } => {
            tracing::info!(address, %error, "node of the quorum fails, the others decide");
        }
        Event::Node {
            address,
            failure: None,
        } => {
            tracing::info!(address, "node of the quorum does its part");
        }
    }
}
