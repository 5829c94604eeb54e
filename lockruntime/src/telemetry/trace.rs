//! Events through the `tracing` crate. A lost lock is one warning; what passes by itself stays at debug.

use super::Event;

pub(super) fn event(event: &Event<'_>) {
    match event {
        Event::Lost { life } => {
            let token = life.token().map(crate::FencingToken::get);
            tracing::warn!(key = %life.key, mode = %life.mode, token, "lock lost, its body is stopped");
        }
        Event::Backend { address, up: true } => tracing::debug!(address, "lock storage reached"),
        Event::Backend { address, up: false } => {
            tracing::debug!(address, "lock storage out of reach")
        }
    }
}
