//! The servers of a run, and what is done to them.

mod cluster;
mod node;
mod quorum;
mod sentinel;
mod standalone;

use tests::RedisServer;
use tests::chaos::plan::Planned;
use tests::chaos::topology::Topology;
use tests::fault::Proxy;

use crate::clock::Clock;
use cluster::Cluster;
use node::Node;
use quorum::Quorum;
use sentinel::Sentinel;
use standalone::Standalone;

/// The servers of a run.
pub(crate) trait Stage: Send {
    /// All servers that workers talk to.
    fn servers(&self) -> Box<dyn Iterator<Item = &RedisServer> + '_>;

    /// Those that have locks at this moment.
    fn masters(&self) -> Box<dyn Iterator<Item = &RedisServer> + '_> {
        self.servers()
    }

    /// Whether locks are on some of the servers only, now these, now those.
    fn locks_move(&self) -> bool {
        false
    }

    /// The URL of the lock with these ways to the servers.
    fn url(&self, ways: &[Proxy]) -> String;

    /// The server whose doings are written down, and its clock.
    fn watched(&self) -> (&RedisServer, Clock);

    /// Who chooses masters, if anybody does.
    fn sentinels(&self) -> &[RedisServer] {
        &[]
    }

    /// Does a fault; returns when it began and was over.
    fn disturb(&mut self, planned: &Planned) -> (u64, u64);
}

/// Starts the servers.
pub(crate) fn start(topology: Topology) -> Box<dyn Stage> {
    match topology {
        Topology::Standalone => Box::new(Standalone::start()),
        Topology::Quorum => Box::new(Quorum::start()),
        Topology::Sentinel => Box::new(Sentinel::start()),
        Topology::Cluster => Box::new(Cluster::start()),
    }
}
