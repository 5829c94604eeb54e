//! `kill -9`.

use tests::history::What;
use tests::process::{Body, Setup};
use tests::register::Register;
use tests::{RedisServer, check, tidy, timing};

use super::{event, expiry, holding, queued};

/// The next in line enters when the dead holder's key expires: not before, and at most a moment after.
#[tokio::test]
async fn next_in_line_enters_when_the_dead_holders_lease_ends() {
    let (server, register) = (RedisServer::start(), Register::start());
    let (raw, setup) = (
        server.raw(),
        Setup::new(&server, &register).lease(timing::crash_lease()),
    );
    let (mut holder, dead) = holding(&setup, "killed-holder", Body::UntilTold);
    let mut next = queued(
        &setup,
        &raw,
        "killed-holder",
        "next",
        1,
        Body::For(timing::short_body()),
    );
    holder.process().kill();
    let expiry = expiry(&raw, "killed-holder");
    let (_, token) = next.entered("next");
    assert_eq!(next.returned("next"), "");

    let events = register.events();
    check::assert_exclusive(&events);
    assert!(token > dead);
    let entered = event(&events, What::Entered, token).at;
    // the server gives what is left in whole milliseconds
    assert!(
        entered + timing::millis(2) >= expiry,
        "entered {:?} before the expiry",
        expiry - entered
    );
    assert!(
        entered <= expiry + timing::moment(),
        "entered {:?} after the expiry",
        entered - expiry
    );
    tidy::end(&server, "killed-holder", timing::crash_lease(), 0).await;
}

/// A holder dies while one waits and another tries in a tight loop: whoever asks first when the lease ends, the waiter enters.
#[tokio::test]
async fn nobody_barges_in_when_a_dead_holders_lease_ends() {
    let (server, register) = (RedisServer::start(), Register::start());
    let (raw, setup) = (server.raw(), Setup::new(&server, &register));
    let (mut holder, _) = holding(&setup, "killed-barge", Body::UntilTold);
    let mut waiter = queued(&setup, &raw, "killed-barge", "waiter", 1, Body::UntilTold);
    holder.process().kill();
    let manager = server.manager();
    let start = std::time::Instant::now();
    let mut tries = 0_u32;
    while !waiter.has_entered("waiter") {
        let refused = manager
            .lock("boleto:killed-barge")
            .try_acquire()
            .await
            .expect_err("the waiter was there first");
        assert!(refused.is_busy(), "{refused}");
        assert!(
            start.elapsed() < timing::patience(),
            "the waiter never entered"
        );
        tries += 1;
    }
    assert!(tries > 100, "only {tries} tries");
    waiter.finish("waiter");
    assert_eq!(waiter.returned("waiter"), "");
    check::assert_exclusive(&register.events());
    tidy::end(&server, "killed-barge", timing::lease(), 0).await;
}

/// The lock is handed to a waiter that is dead, but whose ticket still lives: the one behind it waits for one grace and a poll.
#[tokio::test]
async fn a_dead_first_waiter_costs_the_second_one_grace() {
    let (server, register) = (RedisServer::start(), Register::start());
    let (raw, setup) = (
        server.raw(),
        Setup::new(&server, &register).lease(timing::long_lease()),
    );
    let (mut holder, first) = holding(&setup, "killed-waiter", Body::UntilTold);
    let mut dead = queued(
        &setup,
        &raw,
        "killed-waiter",
        "dead",
        1,
        Body::For(timing::short_body()),
    );
    let mut second = queued(
        &setup,
        &raw,
        "killed-waiter",
        "second",
        2,
        Body::For(timing::short_body()),
    );
    dead.process().kill();
    holder.finish("holder");
    assert_eq!(holder.returned("holder"), "");
    let (_, token) = second.entered("second");
    assert_eq!(second.returned("second"), "");

    let events = register.events();
    check::assert_exclusive(&events);
    let waited = event(&events, What::Entered, token).at - event(&events, What::Left, first).at;
    let bound = timing::grace() + timing::heartbeat() + timing::moment();
    assert!(
        waited <= bound,
        "entered {waited:?} after the release, allowed are {bound:?}"
    );
    tidy::end(&server, "killed-waiter", timing::lease(), 0).await;
}
