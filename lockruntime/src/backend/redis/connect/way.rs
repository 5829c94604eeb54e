//! The way of one call to the server that has its keys, with the turns that servers send it round.

use std::sync::Arc;
use std::time::Duration;

use redis::RedisError;

#[cfg(feature = "cluster")]
use super::cluster::{Cluster, slot_of};
use super::line::{Line, Source};
use super::link::Link;
use super::look;
#[cfg(any(feature = "cluster", feature = "sentinel"))]
use crate::backend::redis::reply;
use crate::backend::{BackendError, Wakeups};
use crate::clock::{self, Moment};
use crate::health::Health;

/// How long a look at the servers waits for a connection.
const LOOK: Duration = Duration::from_secs(1);
/// So often servers may send a call on to each other.
#[cfg(feature = "cluster")]
const TURNS: u32 = 3;
/// Pauses before the same is asked again, doubling.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
const FIRST_PAUSE: Duration = Duration::from_millis(10);
#[cfg(any(feature = "cluster", feature = "sentinel"))]
const LAST_PAUSE: Duration = Duration::from_millis(160);

/// Where a server is, and the connection to it.
pub(super) type Addressed = (Arc<str>, Result<Arc<Link>, BackendError>);

/// The ways to one or several servers.
#[derive(Debug)]
pub(in crate::backend::redis) enum Ways {
    /// One server at a time has all keys.
    One(Box<Line>),
    /// Each has some.
    #[cfg(feature = "cluster")]
    Cluster(Box<Cluster>),
}

impl Ways {
    pub(in crate::backend::redis) fn to(source: Source) -> Self {
        Self::One(Box::new(Line::new(source)))
    }

    /// With a second connection to each server, to wait on for its replicas.
    pub(in crate::backend::redis) fn waiting(self, waits: bool) -> Self {
        match self {
            Self::One(line) => Self::One(Box::new(line.waiting(waits))),
            #[cfg(feature = "cluster")]
            Self::Cluster(cluster) => Self::Cluster(Box::new(cluster.waiting(waits))),
        }
    }

    /// The address, or how it is found; for people.
    pub(in crate::backend::redis) fn name(&self) -> &str {
        match self {
            Self::One(line) => line.name(),
            #[cfg(feature = "cluster")]
            Self::Cluster(cluster) => cluster.name(),
        }
    }

    /// Keeps connections up, for ever.
    pub(in crate::backend::redis) async fn run(&self, channel: &str, wakeups: &Wakeups) {
        match self {
            Self::One(line) => line.run(channel, wakeups).await,
            #[cfg(feature = "cluster")]
            Self::Cluster(cluster) => cluster.run(channel, wakeups).await,
        }
    }

    /// The connections to all servers that have keys, with their addresses.
    pub(in crate::backend::redis) async fn links(
        &self,
        limit: Duration,
    ) -> Result<Vec<Addressed>, BackendError> {
        match self {
            Self::One(line) => {
                let link = line.link(limit).await?;
                Ok(vec![(link.address().into(), Ok(link))])
            }
            #[cfg(feature = "cluster")]
            Self::Cluster(cluster) => cluster.links(limit).await,
        }
    }

    pub(in crate::backend::redis) async fn health(&self) -> Result<Health, BackendError> {
        match self {
            Self::One(line) => look::through(line, LOOK).await,
            #[cfg(feature = "cluster")]
            Self::Cluster(cluster) => cluster.health(LOOK).await,
        }
    }
}

/// One call's way. Waits for a connection at most `connect`, and from the first one on at most `limit` in all.
pub(in crate::backend::redis) struct Way<'a> {
    ways: &'a Ways,
    #[cfg_attr(
        not(feature = "cluster"),
        expect(dead_code, reason = "one server has all keys")
    )]
    record: &'a str,
    connect: Duration,
    limit: Duration,
    until: Option<Moment>,
    #[cfg(any(feature = "cluster", feature = "sentinel"))]
    turns: u32,
    #[cfg(feature = "cluster")]
    asking: Option<String>,
}

impl<'a> Way<'a> {
    pub(in crate::backend::redis) fn new(
        ways: &'a Ways,
        record: &'a str,
        connect: Duration,
        limit: Duration,
    ) -> Self {
        Self {
            ways,
            record,
            connect,
            limit,
            until: None,
            #[cfg(any(feature = "cluster", feature = "sentinel"))]
            turns: 0,
            #[cfg(feature = "cluster")]
            asking: None,
        }
    }

    /// The connection to ask on next.
    pub(in crate::backend::redis) async fn link(&mut self) -> Result<Arc<Link>, BackendError> {
        let connect = match self.until {
            Some(until) => until.since(clock::now()),
            None => self.connect,
        };
        let link = match self.ways {
            Ways::One(line) => line.link(connect).await,
            #[cfg(feature = "cluster")]
            Ways::Cluster(cluster) => match &self.asking {
                Some(address) => cluster.link_to(address, connect).await,
                None => cluster.link(slot_of(self.record), connect).await,
            },
        }?;
        self.until.get_or_insert_with(|| clock::now() + self.limit);
        Ok(link)
    }

    /// Whether the keys are on their way to the server of the last connection, which has to be told.
    pub(in crate::backend::redis) fn is_asking(&self) -> bool {
        #[cfg(feature = "cluster")]
        return self.asking.is_some();
        #[cfg(not(feature = "cluster"))]
        false
    }

    /// How long the answer may take now.
    pub(in crate::backend::redis) fn left(&self) -> Duration {
        self.until
            .map_or(self.limit, |until| until.since(clock::now()))
    }

    /// There was no answer.
    pub(in crate::backend::redis) fn silent(&self) {
        match self.ways {
            Ways::One(_) => {}
            #[cfg(feature = "cluster")]
            Ways::Cluster(cluster) => cluster.doubt(),
        }
    }

    /// Whether to ask again after this answer, perhaps elsewhere, perhaps after a pause that is over then.
    #[cfg_attr(
        not(any(feature = "cluster", feature = "sentinel")),
        expect(unused_variables, reason = "one server sends nobody elsewhere")
    )]
    pub(in crate::backend::redis) async fn turns(
        &mut self,
        link: &Link,
        error: &RedisError,
    ) -> bool {
        match self.ways {
            #[cfg(feature = "sentinel")]
            Ways::One(line) if line.is_found() && reply::is_no_master(error) => {
                link.leave();
                self.pause().await
            }
            Ways::One(_) => false,
            #[cfg(feature = "cluster")]
            Ways::Cluster(cluster) => self.redirected(cluster, link, error).await,
        }
    }

    #[cfg(feature = "cluster")]
    async fn redirected(&mut self, cluster: &Cluster, link: &Link, error: &RedisError) -> bool {
        self.asking = None;
        match (error.code(), error.redirect_node()) {
            (Some("MOVED"), Some((to, slot))) => {
                cluster.moved(slot, &whole(to, link));
                self.turn().await
            }
            (Some("ASK"), Some((to, _))) => {
                self.asking = Some(whole(to, link));
                self.turn().await
            }
            (Some("TRYAGAIN" | "CLUSTERDOWN"), _) => {
                cluster.doubt();
                self.pause().await
            }
            _ if reply::is_no_master(error) => {
                cluster.doubt();
                self.pause().await
            }
            _ => {
                if error.is_io_error() || error.is_connection_dropped() {
                    cluster.doubt();
                }
                false
            }
        }
    }

    /// Sent on: at once, unless servers send us round and round.
    #[cfg(feature = "cluster")]
    async fn turn(&mut self) -> bool {
        if self.turns >= TURNS {
            return self.pause().await;
        }
        self.turns += 1;
        !self.left().is_zero()
    }

    /// Told to come back later; `false` when there is no time left for it.
    #[cfg(any(feature = "cluster", feature = "sentinel"))]
    async fn pause(&mut self) -> bool {
        let pause = (FIRST_PAUSE * 2_u32.pow(self.turns.min(8))).min(LAST_PAUSE);
        self.turns += 1;
        if self.left() <= pause {
            return false;
        }
        clock::sleep(pause).await;
        true
    }
}

/// An address of a redirection, which leaves out the host that was asked.
#[cfg(feature = "cluster")]
fn whole(to: &str, link: &Link) -> String {
    match (to.strip_prefix(':'), link.address().rsplit_once(':')) {
        (Some(port), Some((host, _))) => format!("{host}:{port}"),
        _ => to.to_owned(),
    }
}
