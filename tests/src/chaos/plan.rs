//! The schedule of faults, from a seed. The seed fixes what is done and when, not how the machine interleaves it.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::topology::Topology;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `kill -9` of a worker, which starts anew.
    WorkerKilled,
    /// A worker stands still for less than its leases.
    WorkerPausedShort,
    /// A worker stands still for longer than its leases.
    WorkerPausedLong,
    /// A worker's connections end with a reset; new ones are let in.
    Cut,
    /// A worker's connections end, and new ones are refused.
    Refused,
    /// Nothing passes between a worker and the server, and nobody is told.
    BlackHole,
    /// What a worker sends is lost; what the server says passes.
    RequestsLost,
    /// What the server says to a worker is lost; what it sends passes.
    RepliesLost,
    /// What a worker sends arrives when the fault is over.
    RequestsLate,
    /// What the server says to a worker arrives when the fault is over.
    RepliesLate,
    /// Each direction takes up to 200 ms.
    Latency,
    /// Each direction is slow, and then what the worker sends is lost.
    SlowThenSilent,
    /// The reply to one script is lost with its connection.
    OneReplyLost,
    /// One script is lost with its connection.
    OneRequestLost,
    /// Packets between a worker and the server are lost, in both directions.
    Partition,
    /// Packets of a worker are lost; the server's arrive.
    PartitionOut,
    /// Packets to a worker are lost; its own arrive.
    PartitionIn,
    /// Announcements to a worker are lost.
    AnnouncementsLost,
    /// `kill -9` of the server, which restarts with its data.
    ServerRestarted,
    /// `kill -9` of the server, which restarts with nothing.
    ServerRestartedEmpty,
    /// The server stands still.
    ServerPaused,
    /// `CLIENT KILL` of all connections that have no subscription.
    ClientsKilled,
    /// `CLIENT KILL` of all connections that have one.
    SubscribersKilled,
    /// `SCRIPT FLUSH`.
    ScriptsFlushed,
    /// `CLIENT PAUSE`.
    ClientsPaused,
    /// The server is full and evicts nothing.
    ServerFull,
    /// `FLUSHALL`.
    DataFlushed,
    /// The server's wall clock is set forward, over all leases.
    ServerClockForward,
    /// The server's wall clock is set back, and has made up for it before anything else happens to the server.
    ServerClockBack,
    /// Of several masters as many stand still as may.
    MinorityPaused,
    /// Of several masters so many stand still that the rest can't decide.
    MajorityPaused,
    /// `kill -9` of so many masters that the rest can't decide; they restart with their data.
    MajorityRestarted,
    /// `kill -9` of a master, which comes back as the replica of the one in its place.
    MasterReplaced,
    /// A master stands still until another one is in its place, and then goes on.
    MasterFrozen,
    /// A replica is told to take its master's place.
    MasterSwapped,
    /// Slots move to another master, and back.
    SlotsMoved,
    /// Another master was chosen. Never planned: it follows from a fault, or those who choose were held up and believed a master
    /// to be gone that wasn't.
    Failover,
}

/// Faults of one worker or its network.
pub const OF_WORKERS: [Kind; 18] = [
    Kind::WorkerKilled,
    Kind::WorkerPausedShort,
    Kind::WorkerPausedLong,
    Kind::Cut,
    Kind::Refused,
    Kind::BlackHole,
    Kind::RequestsLost,
    Kind::RepliesLost,
    Kind::RequestsLate,
    Kind::RepliesLate,
    Kind::Latency,
    Kind::SlowThenSilent,
    Kind::OneReplyLost,
    Kind::OneRequestLost,
    Kind::Partition,
    Kind::PartitionOut,
    Kind::PartitionIn,
    Kind::AnnouncementsLost,
];

/// Faults that need a network of the run's own, see [`enter_own_network`](crate::fault::enter_own_network). Without it they are
/// left out, and counted; the proxy's faults stand in for them.
pub const OF_PACKETS: [Kind; 3] = [Kind::Partition, Kind::PartitionOut, Kind::PartitionIn];

/// How far apart rare faults are: a node of a quorum that lost its data counts again after a minute, and only one at a time may
/// be out.
pub const BETWEEN_RARE: Duration = Duration::from_secs(63);

/// By how much the server's clock is set forward: more than all leases, tickets and asks last.
pub const CLOCK_FORWARD: Duration = Duration::from_secs(5);

impl Kind {
    /// Its name, as reports and files have it.
    #[must_use]
    pub fn name(self) -> String {
        format!("{self:?}")
    }

    /// The kind of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Topology::ALL
            .into_iter()
            .flat_map(Topology::kinds)
            .chain([Self::Failover])
            .find(|kind| kind.name() == name)
    }

    /// A living waiter may lose its place: its asks can't be answered, or its ticket is gone.
    #[must_use]
    pub fn costs_places(self) -> bool {
        !matches!(
            self,
            Self::ClientsKilled
                | Self::SubscribersKilled
                | Self::ScriptsFlushed
                | Self::AnnouncementsLost
                | Self::Cut
        )
    }

    /// How long it lasts, in milliseconds: from, to.
    fn length(self) -> (u64, u64) {
        match self {
            Self::Cut
            | Self::ClientsKilled
            | Self::SubscribersKilled
            | Self::ScriptsFlushed
            | Self::DataFlushed
            | Self::ServerClockForward => (0, 1),
            Self::WorkerPausedShort => (100, 450),
            Self::WorkerPausedLong => (2_100, 3_000),
            Self::OneReplyLost | Self::OneRequestLost => (1_000, 1_500),
            Self::WorkerKilled | Self::ClientsPaused | Self::ServerFull => (200, 700),
            Self::ServerRestarted | Self::ServerRestartedEmpty => (0, 800),
            Self::ServerPaused
            | Self::Failover
            | Self::MinorityPaused
            | Self::MajorityPaused
            | Self::MajorityRestarted => (100, 2_000),
            // at the least: they last until all have settled
            Self::MasterReplaced | Self::MasterFrozen => (3_000, 4_000),
            Self::MasterSwapped => (1_500, 2_500),
            Self::SlotsMoved => (100, 300),
            Self::Latency | Self::AnnouncementsLost => (500, 1_500),
            Self::SlowThenSilent => (1_500, 3_000),
            Self::Refused
            | Self::BlackHole
            | Self::Partition
            | Self::PartitionOut
            | Self::PartitionIn
            | Self::ServerClockBack
            | Self::RequestsLost
            | Self::RepliesLost
            | Self::RequestsLate
            | Self::RepliesLate => (200, 1_800),
        }
    }
}

/// A fault to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// How long after the start.
    pub at: Duration,
    /// What.
    pub kind: Kind,
    /// Which worker; `None`: the server.
    pub worker: Option<usize>,
    /// How long.
    pub length: Duration,
    /// A number for choices within the fault.
    pub choice: u64,
}

impl Planned {
    /// A line for people.
    #[must_use]
    pub fn line(&self) -> String {
        let target = self
            .worker
            .map_or_else(|| "server".to_owned(), |worker| format!("worker {worker}"));
        format!(
            "{:>9.3} s  {:<20} {target:<9} {:>5} ms",
            self.at.as_secs_f64(),
            self.kind.name(),
            self.length.as_millis()
        )
    }
}

/// Two lists, for the workers and for the server, each in order and without overlaps; the last fifth of the time is quiet.
///
/// They come in rounds, with every kind once and three deaths in each; rare ones come between them, in turn.
#[must_use]
pub fn plan(
    topology: Topology,
    seed: u64,
    time: Duration,
    workers: usize,
) -> (Vec<Planned>, Vec<Planned>) {
    let mut random = StdRng::seed_from_u64(seed);
    let until = time.mul_f64(0.8);
    let of_workers = lane(
        &mut random,
        topology.of_workers(),
        &[],
        until,
        250,
        |random| Some(random.random_range(0..workers)),
    );
    let (often, rare) = (topology.of_servers(), topology.rare());
    let of_the_servers = lane(&mut random, often, rare, until, 1_200, |_| None);
    (of_workers, of_the_servers)
}

fn lane(
    random: &mut StdRng,
    kinds: &[Kind],
    rare: &[Kind],
    until: Duration,
    pause: u64,
    mut target: impl FnMut(&mut StdRng) -> Option<usize>,
) -> Vec<Planned> {
    let mut at = Duration::from_millis(500);
    let mut planned: Vec<Planned> = Vec::new();
    let (mut next_rare, mut rare) = (at, rare.iter().cycle());
    loop {
        let mut round = kinds.to_vec();
        // what a death leaves behind takes luck to be seen
        if kinds.contains(&Kind::WorkerKilled) {
            round.extend([Kind::WorkerKilled; 2]);
        }
        round.shuffle(random);
        let mut round = round.into_iter();
        while let Some(kind) = if at >= next_rare
            && let Some(kind) = rare.next()
        {
            next_rare = at + BETWEEN_RARE;
            Some(*kind)
        } else {
            round.next()
        } {
            let (from, to) = kind.length();
            let length = Duration::from_millis(random.random_range(from..to));
            if at + length > until {
                return planned;
            }
            planned.push(Planned {
                at,
                kind,
                worker: target(random),
                length,
                choice: random.random(),
            });
            at += length + Duration::from_millis(random.random_range(pause / 2..pause * 3 / 2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_plan_and_its_end_is_quiet() {
        let time = Duration::from_secs(120);
        for topology in Topology::ALL {
            let (workers, servers) = plan(topology, 7, time, 4);
            assert_eq!(
                (workers.clone(), servers.clone()),
                plan(topology, 7, time, 4)
            );
            assert_ne!(workers, plan(topology, 8, time, 4).0);
            for lane in [&workers, &servers] {
                assert!(lane.is_sorted_by_key(|fault| fault.at));
                for pair in lane.windows(2) {
                    assert!(pair[0].at + pair[0].length < pair[1].at);
                }
                let last = lane.last().unwrap();
                assert!(last.at + last.length <= time.mul_f64(0.8));
            }
            for kind in topology.kinds() {
                assert_eq!(Kind::named(&kind.name()), Some(kind));
                let least = if topology.rare().contains(&kind) {
                    1
                } else {
                    3
                };
                let lanes = workers.iter().chain(&servers);
                assert!(
                    lanes.filter(|fault| fault.kind == kind).count() >= least,
                    "{topology:?}: {kind:?}"
                );
            }
        }
    }

    #[test]
    fn rare_faults_are_far_apart() {
        let (_, servers) = plan(Topology::Quorum, 3, Duration::from_secs(600), 4);
        let rare = Topology::Quorum.rare();
        let rare: Vec<_> = servers
            .iter()
            .filter(|fault| rare.contains(&fault.kind))
            .collect();
        assert!(rare.len() >= 6, "{}", rare.len());
        for pair in rare.windows(2) {
            assert_ne!(pair[0].kind, pair[1].kind);
            assert!(pair[1].at - pair[0].at >= BETWEEN_RARE);
        }
    }

    #[test]
    fn the_short_run_has_every_kind() {
        for topology in Topology::ALL {
            let (workers, servers) = plan(topology, 1, Duration::from_secs(40), 4);
            let planned: Vec<_> = (workers.iter().chain(&servers))
                .map(|fault| fault.kind)
                .collect();
            let missing: Vec<_> = topology
                .kinds()
                .filter(|kind| !planned.contains(kind) && !topology.rare().contains(kind))
                .collect();
            assert_eq!(missing, [], "{topology:?}");
        }
    }
}
