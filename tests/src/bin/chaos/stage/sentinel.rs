//! A master, two replicas, three sentinels.

use tests::chaos::now;
use tests::chaos::plan::{Kind, Planned};
use tests::fault::Proxy;
use tests::topology::{MASTER, Topology, is_master};
use tests::wire::{APP, ENVIRONMENT};
use tests::{RedisServer, timing, topology};

use super::node::annoy;
use super::{Clock, Stage};

pub(super) struct Sentinel(topology::Sentinel);

impl Sentinel {
    pub(super) fn start() -> Self {
        Self(topology::Sentinel::start())
    }

    fn wait_for_another(&self, master: usize) {
        // sentinels that disagree on a leader, or were held up themselves, take their time
        timing::block_until("another is the master", timing::patience() * 6, || {
            self.0.names_another(master)
        });
    }
}

impl Stage for Sentinel {
    fn servers(&self) -> Box<dyn Iterator<Item = &RedisServer> + '_> {
        Box::new(self.0.servers().iter().chain(&self.0.sentinels))
    }

    fn masters(&self) -> Box<dyn Iterator<Item = &RedisServer> + '_> {
        let servers = self.0.servers().iter();
        Box::new(servers.filter(|server| is_master(&server.raw())))
    }

    fn sentinels(&self) -> &[RedisServer] {
        &self.0.sentinels
    }

    fn locks_move(&self) -> bool {
        true
    }

    fn url(&self, ways: &[Proxy]) -> String {
        format!("{}?app={APP}&env={ENVIRONMENT}", self.0.place_through(ways))
    }

    fn watched(&self) -> (&RedisServer, Clock) {
        let first = self.0.servers().first().expect("there are three");
        (first, Clock::of_the_machine())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all others hit the master")]
    fn disturb(&mut self, planned: &Planned) -> (u64, u64) {
        let from = now();
        let master = self.0.master();
        match planned.kind {
            Kind::MasterReplaced => {
                self.0.server(master).kill();
                self.wait_for_another(master);
                self.0.server(master).restart();
                self.0.settle();
            }
            Kind::MasterFrozen => {
                self.0.server(master).pause();
                self.wait_for_another(master);
                self.0.server(master).resume();
                self.0.settle();
            }
            Kind::MasterSwapped => {
                let sentinel = self.0.sentinels.first().expect("there are three").raw();
                sentinel.run::<()>(&["SENTINEL", "FAILOVER", MASTER]);
                self.wait_for_another(master);
                self.0.settle();
            }
            _ => annoy(&self.0.server(master).raw(), planned),
        }
        (from, now())
    }
}
