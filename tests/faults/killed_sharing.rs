//! `kill -9` of those who share a lock: each hold has a lease of its own, and ends with it.

use tests::history::What;
use tests::process::{Body, Door, Holder, Setup};
use tests::register::Register;
use tests::{RedisServer, tidy, timing};

use super::{HOLDER, event, until_queued};

/// Two processes hold the key, another waits; one of the two is killed. When the waiting one enters, after the death, by the
/// register's clock.
async fn one_dies(id: &str, two: Door, third: Door, survivor_ends: bool) {
    let (server, register) = (RedisServer::start(), Register::start());
    let lease = timing::crash_lease();
    let setup = Setup::new(&server, &register).lease(lease);
    let raw = server.raw();
    let start = |name: &str, door, body| {
        let mut holder = Holder::start(HOLDER, &setup);
        holder.call(name, id, door, body);
        holder
    };
    let mut dies = start("dies", two, Body::UntilTold);
    let (_, dead) = dies.entered("dies");
    let mut lives = start("lives", two, Body::UntilTold);
    let (_, other) = lives.entered("lives");
    let mut waits = start("waits", third, Body::For(timing::short_body()));
    until_queued(&raw, id, 1);
    dies.process().kill();
    if survivor_ends {
        lives.finish("lives");
        assert_eq!(lives.returned("lives"), "");
    }
    let (_, token) = waits.entered("waits");
    assert_eq!(waits.returned("waits"), "");
    if !survivor_ends {
        lives.finish("lives");
        assert_eq!(lives.returned("lives"), "", "the survivor wasn't disturbed");
    }
    let events = register.events();
    let last = (events.iter()).rfind(|event| event.what == What::Ticked && event.token == dead);
    let died = last.expect("it ticked").at;
    let waited = event(&events, What::Entered, token).at - died;
    // it was renewed a third of its lease before it died at the most
    assert!(waited >= lease / 2, "entered {waited:?} after the death");
    assert!(
        waited <= lease + timing::moment(),
        "entered {waited:?} after the death"
    );
    assert!(token > dead && token > other);
    tidy::end(&server, id, lease, 0).await;
}

/// A dead holder's permit comes back when its lease ends, while another one is held.
#[tokio::test]
async fn a_dead_holders_permit_comes_back() {
    let permit = Door::Permits(2);
    one_dies("killed-permit", permit, permit, false).await;
}

/// A writer waits for a dead reader's lease to end, and no longer, though another reader left later.
#[tokio::test]
async fn a_writer_enters_when_a_dead_readers_lease_ends() {
    one_dies("killed-reader", Door::Read, Door::Write, true).await;
}

/// Readers wait for a dead writer's lease to end, and all enter then.
#[tokio::test]
async fn readers_enter_when_a_dead_writers_lease_ends() {
    let (server, register) = (RedisServer::start(), Register::start());
    let lease = timing::crash_lease();
    let setup = Setup::new(&server, &register).lease(lease);
    let (raw, id) = (server.raw(), "killed-writer");
    let mut writer = Holder::start(HOLDER, &setup);
    writer.call("writer", id, Door::Write, Body::UntilTold);
    let (_, dead) = writer.entered("writer");
    let mut readers = Vec::new();
    for rank in 1..=2 {
        let mut reader = Holder::start(HOLDER, &setup);
        reader.call("reader", id, Door::Read, Body::UntilTold);
        until_queued(&raw, id, rank);
        readers.push(reader);
    }
    writer.process().kill();
    for reader in &mut readers {
        let (_, token) = reader.entered("reader");
        assert!(token > dead);
    }
    // both are inside: neither had to end for the other to enter
    for mut reader in readers {
        reader.finish("reader");
        assert_eq!(reader.returned("reader"), "");
    }
    tidy::end(&server, id, lease, 0).await;
}

/// A writer that dies in the line costs the readers behind it the rest of its ticket's life.
#[tokio::test]
async fn a_writer_that_dies_in_the_line_is_passed_over() {
    let (server, register) = (RedisServer::start(), Register::start());
    let setup = Setup::new(&server, &register).lease(timing::long_lease());
    let (raw, id) = (server.raw(), "killed-line");
    let mut reader = Holder::start(HOLDER, &setup);
    reader.call("reader", id, Door::Read, Body::UntilTold);
    let (_, first) = reader.entered("reader");
    let mut writer = Holder::start(HOLDER, &setup);
    writer.call("writer", id, Door::Write, Body::UntilTold);
    until_queued(&raw, id, 1);
    let mut next = Holder::start(HOLDER, &setup);
    next.call("next", id, Door::Read, Body::For(timing::short_body()));
    until_queued(&raw, id, 2);
    writer.process().kill();
    let start = std::time::Instant::now();
    let (_, token) = next.entered("next");
    let bound = timing::ticket_life() + timing::heartbeat() + timing::moment();
    assert!(start.elapsed() <= bound, "{:?}", start.elapsed());
    assert!(token > first);
    assert_eq!(next.returned("next"), "");
    reader.finish("reader");
    assert_eq!(reader.returned("reader"), "");
    tidy::end(&server, id, timing::lease(), 0).await;
}
