//! A process stands still for longer than its lease.

use std::time::Instant;

use tests::history::What;
use tests::process::{Body, Door, Holder, Setup};
use tests::register::Register;
use tests::{RedisServer, check, tidy, timing, wire};

use super::{HOLDER, event, holding, last_sign};

/// When it goes on, somebody else is inside: its body runs no further statement, and its release changes nothing.
#[tokio::test]
async fn a_stopped_holder_does_nothing_when_it_wakes_up() {
    let (server, register) = (RedisServer::start(), Register::start());
    let (raw, setup) = (server.raw(), Setup::new(&server, &register));
    let record = wire::record("boleto:paused");
    let mut next = Holder::start(HOLDER, &setup);
    // its await is over by the time it wakes up, but not before it is stopped
    let (mut holder, token) = holding(&setup, "paused", Body::Quiet(timing::lease() * 2));
    holder.waits("holder");
    holder.process().stop();
    let stopped = Instant::now();
    next.call("next", "paused", Door::Queue, Body::UntilTold);
    let (owner, later) = next.entered("next");
    timing::pass((timing::lease() * 3).saturating_sub(stopped.elapsed())).await;
    holder.process().resume();
    let error = holder.returned("holder");
    assert!(error.starts_with("Lost: "), "{error}");
    // what it reported before its call returned has been read by now
    assert!(
        !holder.went_on("holder"),
        "the stopped body ran a statement beside the next holder's"
    );
    // its manager gives back all that it has left, so its release has come
    holder.quit();
    assert_eq!(
        wire::owner_of(&raw.run::<String>(&["GET", &record])),
        (owner, later)
    );
    next.finish("next");
    assert_eq!(next.returned("next"), "");

    let events = register.events();
    check::assert_exclusive(&events);
    assert_eq!(last_sign(&events, token).what, What::Entered);
    let held = event(&events, What::Left, later).at - event(&events, What::Entered, later).at;
    assert!(
        held >= timing::lease(),
        "the next holder kept its lock throughout"
    );
    tidy::end(&server, "paused", timing::lease(), 0).await;
}
