//! One server, and what can be done to it.

use std::collections::BTreeMap;

use tests::chaos::plan::{CLOCK_FORWARD, Kind, Planned};
use tests::server::{Raw, Settings};
use tests::{RedisServer, timing};

use super::Clock;

pub(super) struct Node {
    pub(super) server: RedisServer,
    pub(super) clock: Clock,
}

impl Node {
    pub(super) fn start() -> Self {
        // what was written to the file outlives the process; only a crash of the machine needs more, and a busy disk would hold
        // up the server
        let settings = Settings::default()
            .append_only()
            .line("appendfsync no")
            .own_clock();
        let server = RedisServer::with(settings);
        Self {
            clock: Clock::of(&server),
            server,
        }
    }

    /// Does a fault of one server.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the plan has no others for a server"
    )]
    pub(super) fn disturb(&mut self, planned: &Planned) {
        let Self { server, clock } = self;
        match planned.kind {
            Kind::ServerRestarted => {
                server.kill();
                timing::block(planned.length);
                server.restart();
            }
            Kind::ServerRestartedEmpty => {
                server.kill();
                server.forget();
                timing::block(planned.length);
                server.restart();
            }
            Kind::ServerPaused => {
                server.pause();
                timing::block(planned.length);
                server.resume();
            }
            Kind::ServerFull => {
                let raw = server.raw();
                raw.run::<()>(&["CONFIG", "SET", "maxmemory", "1"]);
                timing::block(planned.length);
                raw.run::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
            }
            Kind::DataFlushed => server.raw().run(&["FLUSHALL"]),
            Kind::ServerClockForward => clock.step(server, |ahead| ahead + CLOCK_FORWARD),
            Kind::ServerClockBack => clock.step(server, |ahead| ahead - planned.length),
            _ => annoy(&server.raw(), planned),
        }
    }
}

/// Does a fault by a command.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the plan has no others for a server"
)]
pub(super) fn annoy(raw: &Raw, planned: &Planned) {
    match planned.kind {
        Kind::ClientsKilled => kill_clients(raw),
        Kind::SubscribersKilled => {
            raw.run::<u64>(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        }
        Kind::ScriptsFlushed => raw.run(&["SCRIPT", "FLUSH"]),
        Kind::ClientsPaused => {
            let length = planned.length.as_millis().to_string();
            raw.run::<()>(&["CLIENT", "PAUSE", &length, "ALL"]);
            timing::block(planned.length);
        }
        other => unreachable!("{other:?} is no fault of one server"),
    }
}

/// All connections without a subscription but the lookout's and this one.
fn kill_clients(raw: &Raw) {
    let own: u64 = raw.run(&["CLIENT", "ID"]);
    let list: String = raw.run(&["CLIENT", "LIST", "TYPE", "normal"]);
    for line in list.lines() {
        let fields: BTreeMap<_, _> = line
            .split(' ')
            .filter_map(|field| field.split_once('='))
            .collect();
        let Some(id) = fields.get("id") else { continue };
        if fields.get("cmd") != Some(&"monitor") && *id != own.to_string() {
            // it may have gone by itself
            drop(raw.attempt::<u64>(&["CLIENT", "KILL", "ID", id]));
        }
    }
}
