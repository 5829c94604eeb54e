//! Locks on a quorum of independent masters (Redlock): a majority of them decides, whatever the others do.
//!
//! A bid takes two rounds. In the first every node grants the lock if it is free there, and tells the greatest token it knows;
//! in the second the nodes that granted take the new token, which is greater than all of those. Two bids that won share a node,
//! and on it their times from grant to write-back don't overlap: so the later one has read the earlier one's token, whatever
//! clocks do. `tests/models` searches through this.
//! A node that lost its data, which is left out for the longest lease, counts from its clock afterwards.
//!
//! Nothing waits for the slowest node: what comes later is taken along, or cleaned up, in the background.
//!
//! The queue is a courtesy: it stands on the first node that answers, and only its head bids. Nothing but the order depends
//! on it.

mod back;
mod background;
mod bidding;
mod cleaner;
mod inspection;
mod node;
mod round;
mod tally;
mod tickets;
mod votes;
mod watch;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::backend::{
    Ask, Asked, Backend, BackendError, BoxFuture, Capabilities, Eviction, Inventory, Listing,
    Release, Released, Renew, Renewals, Renewed, Snapshot, Survey, Wakeups, Withdraw, Withdrawn,
};
use crate::clock;
use crate::error::ConfigError;
use crate::health::{Finding, Health};
use back::Back;
use background::{Background, Handed};
use cleaner::Cleaner;
pub(crate) use node::{Bid, Committed, Granting, Keep, Lined, Node, Place, Said};
use round::Round;
use tally::{Tally, Verdict, majority};
use tickets::{Hold, Tickets};
use watch::Watch;

/// The longest lease on a quorum, and so how long a node that lost its data is left out.
pub(crate) const QUARANTINE: Duration = Duration::from_secs(60);

/// How long a snapshot may take.
const SNAPSHOT: Duration = Duration::from_secs(1);

/// Locks on a majority of independent masters (Redlock).
///
/// Exclusion holds while a minority of the masters fails, in whatever way, as long as a master that lost its data is not
/// counted for the longest lease: it notices by itself. Waiters are served in about the order of their arrival, which is a
/// courtesy here: nothing but the order depends on it.
pub struct QuorumBackend {
    shared: Arc<Shared>,
    handed: Mutex<Option<Handed>>,
}

struct Shared {
    nodes: Vec<Arc<dyn Node>>,
    watches: Vec<Arc<Watch>>,
    cleaners: Vec<Arc<Cleaner>>,
    /// The longest lease, and how long a node that lost its data is left out.
    quarantine: Duration,
    tickets: Tickets,
    background: Background,
    /// The greatest token of any bid of this process: a ticket never shows one twice.
    greatest: Mutex<u64>,
    /// How often in a row the queue of a node was out of reach, and when for the last time.
    queue_failed: Mutex<Vec<(u32, clock::Moment)>>,
}

impl QuorumBackend {
    /// Of these masters, all different.
    pub(crate) fn of(nodes: Vec<Arc<dyn Node>>) -> Result<Self, ConfigError> {
        for (index, node) in nodes.iter().enumerate() {
            if nodes
                .iter()
                .skip(index + 1)
                .any(|other| other.name() == node.name())
            {
                return Err(ConfigError::new(format!(
                    "the quorum has {} twice; name each master once",
                    node.name()
                )));
            }
        }
        if nodes.len() < 3 {
            return Err(ConfigError::new(format!(
                "a quorum needs three masters or more, five are usual; here are {}",
                nodes.len()
            )));
        }
        let (background, handed) = Background::new();
        let cleaners = (nodes.iter())
            .map(|node| Arc::new(Cleaner::new(Arc::clone(node))))
            .collect();
        let watches = nodes.iter().map(|_| Arc::default()).collect();
        let queue_failed = Mutex::new(vec![(0, clock::Moment::ZERO); nodes.len()]);
        Ok(Self {
            shared: Arc::new(Shared {
                nodes,
                watches,
                cleaners,
                quarantine: QUARANTINE,
                tickets: Tickets::default(),
                background,
                greatest: Mutex::new(0),
                queue_failed,
            }),
            handed: Mutex::new(Some(handed)),
        })
    }
}

impl Shared {
    /// Asks all nodes.
    fn all<T: Send + 'static>(&self, call: impl Fn(&Arc<dyn Node>) -> Said<T>) -> Round<T> {
        self.some(0..self.nodes.len(), call)
    }

    /// Asks these nodes, and watches how they do.
    fn some<T: Send + 'static>(
        &self,
        which: impl IntoIterator<Item = usize>,
        call: impl Fn(&Arc<dyn Node>) -> Said<T>,
    ) -> Round<T> {
        Round::new(which.into_iter().filter_map(|index| {
            let (node, watch) = (self.nodes.get(index)?, self.watches.get(index)?);
            let (said, node, watch) = (call(node), Arc::clone(node), Arc::clone(watch));
            let said: Said<T> = Box::pin(async move {
                let answer = said.await;
                if let Err(error) = &answer {
                    watch.failed(node.name(), error);
                }
                answer
            });
            Some((index, said))
        }))
    }

    /// A node has written something.
    fn wrote(&self, node: usize) {
        if let (Some(node), Some(watch)) = (self.nodes.get(node), self.watches.get(node)) {
            watch.wrote(node.name());
        }
    }

    fn no_quorum(&self, tally: &Tally) -> BackendError {
        tally.no_quorum(|node| self.nodes.get(node).map_or("?", |node| node.name()))
    }

    /// Lengthens a hold on a majority, and takes nodes that are free along.
    async fn keep(
        self: &Arc<Self>,
        ticket: crate::token::OwnerToken,
        hold: &Hold,
        lease: Duration,
        timeout: Duration,
    ) -> Result<Renewed, BackendError> {
        let keep = Keep {
            token: hold.token,
            lease,
            timeout,
        };
        if lease > hold.lease {
            self.tickets.lengthen(ticket, lease);
        }
        let until = clock::now() + timeout;
        let mut round = self.all(|node| node.renew(&hold.bid, keep));
        let mut tally = Tally::new(self.nodes.len());
        let mut free = Vec::new();
        while tally.verdict() == Verdict::Open
            && let Some((node, answer)) = round.next(until).await
        {
            match answer {
                Ok(Renewed::Renewed) => tally.yes(node),
                Ok(Renewed::Lost) => {
                    tally.no(Duration::ZERO);
                    free.push(node);
                }
                Err(error) => tally.failed(node, error),
            }
        }
        match tally.verdict() {
            Verdict::Won => {
                let (shared, hold) = (Arc::clone(self), hold.clone());
                self.background.add(async move {
                    while let Some((node, answer)) = round.rest().await {
                        if matches!(answer, Ok(Renewed::Lost)) {
                            free.push(node);
                        }
                    }
                    join_all(
                        free.into_iter()
                            .map(|node| shared.top_up(ticket, node, &hold, keep)),
                    )
                    .await;
                });
                Ok(Renewed::Renewed)
            }
            // the others can't make up for those that said no
            Verdict::Failed | Verdict::Open
                if tally.refusals() > self.nodes.len() - majority(self.nodes.len()) =>
            {
                Ok(Renewed::Lost)
            }
            Verdict::Failed | Verdict::Open => Err(self.no_quorum(&tally)),
        }
    }

    /// Takes a free node along for a bid that has just been confirmed.
    async fn top_up(
        self: &Arc<Self>,
        ticket: crate::token::OwnerToken,
        index: usize,
        hold: &Hold,
        keep: Keep,
    ) {
        if !self.tickets.holds(ticket, &hold.bid) {
            return;
        }
        let Some(node) = self.nodes.get(index) else {
            return;
        };
        let answered = node.top_up(&hold.bid, keep).await.is_ok();
        if !self.tickets.holds(ticket, &hold.bid) {
            // it was given back meanwhile, perhaps before this was executed
            self.clean(hold, [index], |_| !answered);
        }
    }

    /// Frees nodes in the background. `late`: those on which a grant may still be executed.
    fn clean(
        &self,
        hold: &Hold,
        nodes: impl IntoIterator<Item = usize>,
        late: impl Fn(usize) -> bool,
    ) {
        for index in nodes {
            if let Some(cleaner) = self.cleaners.get(index) {
                cleaner.add(hold.clone(), late(index), &self.background);
            }
        }
    }

    /// Frees what a ticket held, and takes its place out of the queue if `member` is given.
    async fn give_back(
        self: &Arc<Self>,
        record: &Arc<str>,
        hold: Option<Hold>,
        member: Option<String>,
        keep: Option<Duration>,
        timeout: Duration,
    ) -> Result<Released, BackendError> {
        let until = clock::now() + timeout;
        let mut round = self.all(|node| {
            let (node, record) = (Arc::clone(node), Arc::clone(record));
            let (hold, member) = (hold.clone(), member.clone());
            Box::pin(async move {
                if let Some(member) = &member {
                    node.leave(&record, member, timeout).await?;
                }
                match hold {
                    Some(hold) => node.free(&hold.bid, hold.token, keep, timeout).await,
                    None => Ok(false),
                }
            })
        });
        let mut tally = Tally::new(self.nodes.len());
        let mut freed = false;
        while tally.verdict() == Verdict::Open
            && let Some((node, answer)) = round.next(until).await
        {
            match answer {
                Ok(was_ours) => {
                    freed |= was_ours;
                    tally.yes(node);
                }
                Err(error) => tally.failed(node, error),
            }
        }
        if tally.verdict() != Verdict::Won {
            return Err(self.no_quorum(&tally));
        }
        if keep.is_some() {
            self.background
                .add(async move { while round.rest().await.is_some() {} });
        } else if let Some(hold) = hold {
            let shared = Arc::clone(self);
            let mut missing: Vec<_> = tally.failures().collect();
            self.background.add(async move {
                while let Some((node, answer)) = round.rest().await {
                    if answer.is_err() {
                        missing.push(node);
                    }
                }
                shared.clean(&hold, missing, |_| false);
            });
        }
        Ok(match (freed, keep) {
            (true, Some(_)) => Released::Kept,
            (true, None) => Released::Free,
            (false, _) => Released::NotHeld,
        })
    }

    /// What any node has found, once each; an error when fewer than a majority could be looked at.
    async fn health(&self) -> Result<Health, BackendError> {
        let until = clock::now() + SNAPSHOT * 2;
        let mut round = self.all(|node| node.health());
        let mut tally = Tally::new(self.nodes.len());
        let mut health = Health::new();
        while let Some((node, answer)) = round.next(until).await {
            match answer {
                Ok(found) if found.findings.iter().any(Finding::is_fatal) => {
                    tally.no(Duration::ZERO);
                    health.add(found);
                }
                Ok(found) => {
                    tally.yes(node);
                    health.add(found);
                }
                Err(error) => tally.failed(node, error),
            }
        }
        if tally.is_quorate() {
            Ok(health)
        } else {
            Err(self.no_quorum(&tally))
        }
    }

    async fn snapshot(&self, record: &str) -> Result<Snapshot, BackendError> {
        let until = clock::now() + SNAPSHOT;
        let mut round = self.all(|node| node.snapshot(record));
        let mut tally = Tally::new(self.nodes.len());
        let mut seen: Vec<Snapshot> = Vec::new();
        while let Some((node, answer)) = round.next(until).await {
            match answer {
                Ok(snapshot) => {
                    tally.yes(node);
                    seen.push(snapshot);
                }
                Err(error) => tally.failed(node, error),
            }
        }
        if tally.verdict() != Verdict::Won {
            return Err(self.no_quorum(&tally));
        }
        let held = seen.iter().find_map(|snapshot| {
            let held = snapshot.held.as_ref()?;
            let same = seen.iter().filter(|other| {
                other
                    .held
                    .as_ref()
                    .is_some_and(|other| (other.owner, other.token) == (held.owner, held.token))
            });
            (same.count() >= majority(self.nodes.len())).then(|| held.clone())
        });
        let waiting = seen
            .into_iter()
            .map(|snapshot| snapshot.waiting)
            .max_by_key(Vec::len)
            .unwrap_or_default();
        Ok(Snapshot {
            held,
            waiting,
            ..Snapshot::default()
        })
    }
}

impl Backend for QuorumBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            across_processes: true,
            fifo: false,
            wakeups: true,
            shares: false,
            longest_lease: QUARANTINE,
        }
    }

    fn run(&self, channel: &str, wakeups: Wakeups) -> BoxFuture<()> {
        let handed = self
            .handed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let back = Arc::new(Back::new(self.shared.nodes.len()));
        let nodes: Vec<_> = (self.shared.nodes.iter().enumerate())
            .map(|(index, node)| node.run(channel, back.wakeups_of(index, wakeups.clone())))
            .collect();
        Box::pin(async move {
            let background = async {
                if let Some(handed) = handed {
                    background::work(handed).await;
                }
            };
            futures_util::future::join(join_all(nodes), background).await;
        })
    }

    fn ask(&self, ask: Ask) -> BoxFuture<Asked> {
        let shared = Arc::clone(&self.shared);
        // what is executed late on a node is cleaned by the backend itself
        Box::pin(async move { Asked::new(shared.ask(&ask).await, 0) })
    }

    fn renew(&self, batch: Vec<Renew>, renewals: Renewals) -> BoxFuture<()> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let mut calls: FuturesUnordered<_> = batch
                .iter()
                .enumerate()
                .map(|(index, renew)| {
                    let shared = &shared;
                    async move {
                        let result = match shared.tickets.hold(renew.ticket) {
                            Some(hold) if hold.token == renew.token => {
                                shared
                                    .keep(renew.ticket, &hold, renew.lease, renew.timeout)
                                    .await
                            }
                            _ => Ok(Renewed::Lost),
                        };
                        (index, result)
                    }
                })
                .collect();
            while let Some((index, result)) = calls.next().await {
                renewals.report(index, result);
            }
        })
    }

    fn release(&self, release: Release) -> BoxFuture<Result<Released, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let Some(hold) = shared.tickets.leave(release.ticket) else {
                shared.tickets.forget(release.ticket);
                return Ok(Released::NotHeld);
            };
            let released = shared
                .give_back(
                    &release.record,
                    Some(hold),
                    None,
                    release.keep,
                    release.timeout,
                )
                .await?;
            // a lock that is kept is released later
            if released != Released::Kept {
                shared.tickets.forget(release.ticket);
            }
            Ok(released)
        })
    }

    fn withdraw(&self, withdraw: Withdraw) -> BoxFuture<Result<Withdrawn, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let hold = shared.tickets.leave(withdraw.ticket);
            let member = Some(withdraw.member());
            let released = shared
                .give_back(&withdraw.record, hold, member, None, withdraw.timeout)
                .await?;
            shared.tickets.forget(withdraw.ticket);
            Ok(Withdrawn::new(released, 0))
        })
    }

    fn health(&self) -> BoxFuture<Result<Health, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.health().await })
    }

    fn finish(&self) -> BoxFuture<()> {
        Box::pin(self.shared.background.idle())
    }

    fn list(&self, listing: Listing) -> BoxFuture<Result<Inventory, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { Ok(shared.list(&listing).await?.into()) })
    }

    fn survey(&self, listing: Listing) -> BoxFuture<Result<Vec<Survey>, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { Ok(shared.survey(&listing).await) })
    }

    fn evict(&self, eviction: Eviction) -> BoxFuture<Result<Released, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.evict(eviction).await })
    }

    fn snapshot(&self, record: &str) -> BoxFuture<Result<Snapshot, BackendError>> {
        let (shared, record) = (Arc::clone(&self.shared), record.to_owned());
        Box::pin(async move { shared.snapshot(&record).await })
    }
}

impl fmt::Debug for QuorumBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.shared.nodes.iter().map(|node| node.name());
        f.debug_tuple("QuorumBackend")
            .field(&names.collect::<Vec<_>>())
            .finish()
    }
}
