//! Three masters, each with a replica.

use tests::chaos::plan::{Kind, Planned};
use tests::chaos::{key, now};
use tests::fault::Proxy;
use tests::topology::{Topology, is_master};
use tests::wire::{APP, ENVIRONMENT};
use tests::{RedisServer, timing, topology};

use super::node::annoy;
use super::{Clock, Stage};

pub(super) struct Cluster(topology::Cluster);

impl Cluster {
    pub(super) fn start() -> Self {
        Self(topology::Cluster::start())
    }

    /// Until a replica has the place of a master that is out of action.
    fn wait_for_another(&self, key: &str, master: usize) {
        let others: Vec<_> = (0..self.0.servers().len())
            .filter(|place| *place != master)
            .collect();
        timing::block_until("another is the master", timing::patience(), || {
            self.0.takes_writes(key, &others)
        });
    }
}

impl Stage for Cluster {
    fn servers(&self) -> Box<dyn Iterator<Item = &RedisServer> + '_> {
        Box::new(self.0.servers().iter())
    }

    fn masters(&self) -> Box<dyn Iterator<Item = &RedisServer> + '_> {
        let servers = self.0.servers().iter();
        Box::new(servers.filter(|server| is_master(&server.raw())))
    }

    fn locks_move(&self) -> bool {
        true
    }

    fn url(&self, ways: &[Proxy]) -> String {
        format!("{}?app={APP}&env={ENVIRONMENT}", self.0.place_through(ways))
    }

    fn watched(&self) -> (&RedisServer, Clock) {
        let first = self.0.servers().first().expect("there are six");
        (first, Clock::of_the_machine())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all others hit one master")]
    fn disturb(&mut self, planned: &Planned) -> (u64, u64) {
        let from = now();
        // one of those that have the workers' locks
        let key = key(planned.choice % 3);
        let master = self.0.master_of(&key);
        match planned.kind {
            Kind::MasterReplaced => {
                self.0.server(master).kill();
                self.wait_for_another(&key, master);
                self.0.server(master).restart();
                self.0.settle();
            }
            Kind::MasterFrozen => {
                self.0.server(master).pause();
                self.wait_for_another(&key, master);
                self.0.server(master).resume();
                self.0.settle();
            }
            Kind::MasterSwapped => {
                let replica = self.0.replica_of(master).expect("each has one");
                self.0
                    .server(replica)
                    .raw()
                    .run::<()>(&["CLUSTER", "FAILOVER"]);
                timing::block_until("they have swapped", timing::patience(), || {
                    self.0.master_of(&key) == replica
                });
                self.0.settle();
            }
            Kind::SlotsMoved => {
                let slot = self.0.slot_of(&key);
                let masters = 0..self.0.servers().len();
                let other = masters
                    .filter(|place| *place != master)
                    .find(|place| is_master(&self.0.server(*place).raw()))
                    .expect("there are three");
                let pause = || timing::block(planned.length / 8);
                self.0.move_slot(slot, master, other, pause);
                self.0.move_slot(slot, other, master, pause);
            }
            _ => annoy(&self.0.server(master).raw(), planned),
        }
        (from, now())
    }
}
