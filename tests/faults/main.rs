//! What happens when processes die or stand still, and when the network fails, on a real Redis.

mod blocked;
mod cancelled;
mod clock;
mod connections;
mod crowd;
mod executors;
mod killed;
mod killed_sharing;
mod long_body;
mod network;
mod paused;
mod record;
mod schedule;
mod shutdown;
mod standing_still;

use std::time::Duration;

use tests::history::{Event, What};
use tests::process::{Body, Door, Holder, Setup};
use tests::server::Raw;
use tests::{timing, wire};

const HOLDER: &str = env!("CARGO_BIN_EXE_holder");

/// A process that holds the lock, its body running.
fn holding(setup: &Setup, id: &str, body: Body) -> (Holder, u64) {
    let mut holder = Holder::start(HOLDER, setup);
    holder.call("holder", id, Door::Queue, body);
    let (_, token) = holder.entered("holder");
    (holder, token)
}

/// A process whose call stands in the queue, as the `rank`th.
fn queued(setup: &Setup, raw: &Raw, id: &str, name: &str, rank: u64, body: Body) -> Holder {
    let mut holder = Holder::start(HOLDER, setup);
    holder.call(name, id, Door::Queue, body);
    until_queued(raw, id, rank);
    holder
}

/// Waits until so many tickets stand in the queue.
fn until_queued(raw: &Raw, id: &str, count: u64) {
    let queue = wire::queue(&format!("boleto:{id}"));
    timing::block_until("the tickets stand in the queue", timing::patience(), || {
        raw.run::<u64>(&["ZCARD", &queue]) == count
    });
}

/// When the record of a key expires, by the server's clock, if nobody renews it.
fn expiry(raw: &Raw, id: &str) -> Duration {
    let left = raw
        .left(&wire::record(&format!("boleto:{id}")))
        .expect("the lock is held");
    raw.time() + left
}

/// The only event of this kind and token.
fn event(events: &[Event], what: What, token: u64) -> &Event {
    let mut found = events
        .iter()
        .filter(|event| event.what == what && event.token == token);
    let first = found
        .next()
        .unwrap_or_else(|| panic!("nothing {what:?} with token {token}"));
    assert!(found.next().is_none(), "{what:?} twice with token {token}");
    first
}

/// The last event of a body.
fn last_sign(events: &[Event], token: u64) -> &Event {
    events
        .iter()
        .rfind(|event| event.token == token)
        .expect("the body ran")
}
