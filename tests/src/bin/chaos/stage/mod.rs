//! The servers of a run, and what is done to them.

mod node;
mod quorum;
mod standalone;

use tests::RedisServer;
use tests::chaos::plan::Planned;
use tests::chaos::topology::Topology;

use crate::clock::Clock;
use node::Node;
use quorum::Quorum;
use standalone::Standalone;

/// The servers of a run.
pub(crate) trait Stage: Send {
    /// All servers that workers talk to.
    fn servers(&self) -> Box<dyn Iterator<Item = &RedisServer> + '_>;

    /// The URL of the lock with these ways to the servers.
    fn url(&self, ways: Vec<String>) -> String;

    /// The server whose doings are written down, and its clock.
    fn watched(&self) -> (&RedisServer, &Clock);

    /// Does a fault; returns when it began and was over.
    fn disturb(&mut self, planned: &Planned) -> (u64, u64);
}

/// Starts the servers.
pub(crate) fn start(topology: Topology) -> Box<dyn Stage> {
    match topology {
        Topology::Standalone => Box::new(Standalone::start()),
        Topology::Quorum => Box::new(Quorum::start()),
    }
}
