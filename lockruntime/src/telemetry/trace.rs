//! Events through the `tracing` crate. A lost lock is one warning; what passes by itself stays at debug.

use super::Event;

pub(super) fn event(event: &Event<'_>) {
    match event {
        Event::Lost { life } => {
            let token = life.token().map(crate::FencingToken::get);
            tracing::warn!(key = %life.key, mode = %life.mode, token, "lock lost, its body is stopped");
        }
        Event::CapReached { life } => {
            let token = life.token().map(crate::FencingToken::get);
            tracing::info!(key = %life.key, mode = %life.mode, token, "lock held for as long as it may be, its body is stopped");
        }
        Event::ReleaseFailed { life } => {
            tracing::info!(key = %life.key, mode = %life.mode, "lock not given back yet, tried again until its lease is over");
        }
        Event::NotOurs { life } => {
            tracing::info!(key = %life.key, mode = %life.mode, "lock was no longer ours when it was given back");
        }
        Event::Backend { address, up: true } => tracing::debug!(address, "lock storage reached"),
        Event::Backend { address, up: false } => {
            tracing::debug!(address, "lock storage out of reach")
        }
        Event::Found { address, finding } if finding.is_warning() => {
            tracing::warn!(address, %finding, "lock storage needs a look");
        }
        Event::Found { address, finding } => {
            tracing::debug!(address, %finding, "lock storage was not looked at in full");
        }
        #[cfg(feature = "quorum")]
        Event::Node {
            address,
            failure: Some(error),
        } => tracing::info!(address, %error, "node of the quorum fails, the others decide"),
        #[cfg(feature = "quorum")]
        Event::Node {
            address,
            failure: None,
        } => tracing::info!(address, "node of the quorum does its part"),
    }
}
