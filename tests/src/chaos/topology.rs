//! What a run's servers are, which faults they have, and what those may cost.

use super::plan::{Kind, OF_WORKERS};

/// The servers of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Topology {
    /// One server.
    #[default]
    Standalone,
    /// Five masters that know nothing of each other.
    Quorum,
    /// A master with two replicas, and three sentinels.
    Sentinel,
    /// Three masters, each with a replica.
    Cluster,
}

const OF_ONE_SERVER: [Kind; 11] = [
    Kind::ServerRestarted,
    Kind::ServerRestartedEmpty,
    Kind::ServerPaused,
    Kind::ClientsKilled,
    Kind::SubscribersKilled,
    Kind::ScriptsFlushed,
    Kind::ClientsPaused,
    Kind::ServerFull,
    Kind::DataFlushed,
    Kind::ServerClockForward,
    Kind::ServerClockBack,
];

/// What has one target hits one of the masters.
const OF_A_QUORUM: [Kind; 12] = [
    Kind::ServerRestarted,
    Kind::ServerPaused,
    Kind::ClientsKilled,
    Kind::SubscribersKilled,
    Kind::ScriptsFlushed,
    Kind::ClientsPaused,
    Kind::ServerFull,
    Kind::ServerClockForward,
    Kind::ServerClockBack,
    Kind::MinorityPaused,
    Kind::MajorityPaused,
    Kind::MajorityRestarted,
];

/// What has one target hits the master.
const OF_SENTINELS: [Kind; 7] = [
    Kind::MasterReplaced,
    Kind::MasterFrozen,
    Kind::MasterSwapped,
    Kind::ClientsKilled,
    Kind::SubscribersKilled,
    Kind::ScriptsFlushed,
    Kind::ClientsPaused,
];

/// What has one target hits any of the masters.
const OF_A_CLUSTER: [Kind; 8] = [
    Kind::MasterReplaced,
    Kind::MasterFrozen,
    Kind::MasterSwapped,
    Kind::SlotsMoved,
    Kind::ClientsKilled,
    Kind::SubscribersKilled,
    Kind::ScriptsFlushed,
    Kind::ClientsPaused,
];

impl Topology {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Standalone,
        Self::Quorum,
        Self::Sentinel,
        Self::Cluster,
    ];

    /// Its name, as arguments and files have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Standalone => "standalone",
            Self::Quorum => "quorum",
            Self::Sentinel => "sentinel",
            Self::Cluster => "cluster",
        }
    }

    /// The one of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|topology| topology.name() == name)
    }

    /// Faults of workers and their network.
    #[must_use]
    pub fn of_workers(self) -> &'static [Kind] {
        &OF_WORKERS
    }

    /// Faults of servers.
    #[must_use]
    pub fn of_servers(self) -> &'static [Kind] {
        match self {
            Self::Standalone => &OF_ONE_SERVER,
            Self::Quorum => &OF_A_QUORUM,
            Self::Sentinel => &OF_SENTINELS,
            Self::Cluster => &OF_A_CLUSTER,
        }
    }

    /// Faults of servers that come once in a while only.
    #[must_use]
    pub fn rare(self) -> &'static [Kind] {
        match self {
            Self::Standalone | Self::Sentinel | Self::Cluster => &[],
            Self::Quorum => &[Kind::ServerRestartedEmpty, Kind::DataFlushed],
        }
    }

    /// All its faults.
    pub fn kinds(self) -> impl Iterator<Item = Kind> {
        [self.of_workers(), self.of_servers(), self.rare()]
            .into_iter()
            .flatten()
            .copied()
    }

    /// Whether waiters enter in the order of their arrival, and that is judged. On a quorum it is a courtesy; where masters take
    /// each other's place, no single server sees who came when.
    #[must_use]
    pub fn keeps_order(self) -> bool {
        self == Self::Standalone
    }

    /// After this fault the lock was forgotten, or has expired before its time: for one lease the old holder and a new one may
    /// run side by side.
    ///
    /// On a quorum a master without its data is not counted. One whose clock steps is, see
    /// [`forgets_alone`](Self::forgets_alone).
    #[must_use]
    pub fn forgets(self, kind: Kind) -> bool {
        match self {
            Self::Standalone => matches!(
                kind,
                Kind::ServerRestartedEmpty | Kind::DataFlushed | Kind::ServerClockForward
            ),
            Self::Quorum => kind == Kind::ServerClockForward,
            // a replica may have less than its master had
            Self::Sentinel | Self::Cluster => matches!(
                kind,
                Kind::MasterReplaced | Kind::MasterFrozen | Kind::MasterSwapped | Kind::Failover
            ),
        }
    }

    /// One such fault is enough. On a quorum it takes others at the time, because of which the holder hasn't got all masters.
    #[must_use]
    pub fn forgets_alone(self) -> bool {
        self != Self::Quorum
    }
}
