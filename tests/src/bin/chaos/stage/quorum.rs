//! Five masters that know nothing of each other.

use std::time::Duration;

use tests::chaos::now;
use tests::chaos::plan::{CLOCK_FORWARD, Kind, Planned};
use tests::fault::Proxy;
use tests::{RedisServer, masters, timing};

use super::{Clock, Node, Stage};

const MASTERS: usize = 5;
const MINORITY: usize = 2;
const MAJORITY: usize = 3;

pub(super) struct Quorum(Vec<Node>);

impl Quorum {
    pub(super) fn start() -> Self {
        Self((0..MASTERS).map(|_| Node::start()).collect())
    }

    /// So many masters, from one that the number chooses on.
    fn some(&mut self, choice: u64, count: usize) -> Vec<&mut Node> {
        let first = usize::try_from(choice % MASTERS as u64).expect("less than five");
        (self.0.iter_mut().enumerate())
            .filter_map(|(place, node)| {
                ((place + MASTERS - first) % MASTERS < count).then_some(node)
            })
            .collect()
    }
}

impl Stage for Quorum {
    fn servers(&self) -> Box<dyn Iterator<Item = &RedisServer> + '_> {
        Box::new(self.0.iter().map(|node| &node.server))
    }

    fn url(&self, ways: &[Proxy]) -> String {
        let hosts: Vec<_> = ways.iter().map(Proxy::address).collect();
        masters::redlock("", &hosts)
    }

    fn watched(&self) -> (&RedisServer, Clock) {
        let node = self.0.first().expect("there are five");
        (&node.server, node.clock.clone())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all others hit one master")]
    fn disturb(&mut self, planned: &Planned) -> (u64, u64) {
        let from = now();
        match planned.kind {
            Kind::MinorityPaused => pause(self.some(planned.choice, MINORITY), planned.length),
            Kind::MajorityPaused => pause(self.some(planned.choice, MAJORITY), planned.length),
            Kind::MajorityRestarted => {
                let mut nodes = self.some(planned.choice, MAJORITY);
                for node in &mut nodes {
                    node.server.kill();
                }
                timing::block(planned.length);
                for node in &mut nodes {
                    node.server.restart();
                }
            }
            Kind::ScriptsFlushed => self.0.iter_mut().for_each(|node| node.disturb(planned)),
            Kind::ServerClockForward => {
                for node in self.some(planned.choice, 1) {
                    node.disturb(planned);
                    // the masters' clocks agree to within a minute, as our docs ask for
                    timing::block(planned.length + timing::moment());
                    node.clock.step(&node.server, |ahead| ahead - CLOCK_FORWARD);
                }
            }
            _ => {
                for node in self.some(planned.choice, 1) {
                    node.disturb(planned);
                }
            }
        }
        (from, now())
    }
}

fn pause(mut nodes: Vec<&mut Node>, length: Duration) {
    for node in &mut nodes {
        node.server.pause();
    }
    timing::block(length);
    for node in &mut nodes {
        node.server.resume();
    }
}
