//! The servers of a cluster: which one to ask, and what becomes of those that go.
//!
//! One line to each master that is asked for something. The map of the slots comes from all servers at once: the client
//! library's own cluster client never looks again after time-outs, and goes on sending to a frozen master.

mod ear;
mod scouts;
mod slots;

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{self, BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Notify, mpsc, watch};

use super::endpoint::Manner;
use super::failure::Failure;
use super::line::{Line, Source};
use super::link::Link;
use super::way::Addressed;
use crate::backend::{BackendError, BackendErrorKind, Wakeups};
use crate::clock;
use crate::health::{Finding, Health};
use ear::Ear;
use scouts::Scouts;
use slots::Slots;
pub(in crate::backend::redis) use slots::slot_of;

/// Pauses between looks at the map: while something is wrong, and else.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const LAST_LOOK: Duration = Duration::from_millis(250);
const QUIET_LOOK: Duration = Duration::from_secs(10);
/// How many names are tried to find a slot of one server.
const PROBES: u32 = 50_000;

/// A cluster.
pub(in crate::backend::redis) struct Cluster {
    name: String,
    manner: Manner,
    waits: bool,
    slots: Arc<watch::Sender<Slots>>,
    /// Why there is no map.
    failure: Mutex<Option<Failure>>,
    lines: Mutex<HashMap<Arc<str>, Kept>>,
    new: mpsc::UnboundedSender<Kept>,
    /// Taken once, by what runs the lines.
    made: Mutex<Option<mpsc::UnboundedReceiver<Kept>>>,
    /// The map may be old.
    doubt: Notify,
    ear: Ear,
    scouts: Scouts,
}

/// A line, and the end of it.
#[derive(Clone)]
struct Kept {
    line: Arc<Line>,
    ends: Arc<Notify>,
}

impl Cluster {
    /// A cluster that is found by way of `seeds`, `host` and port of some of its servers.
    pub(in crate::backend::redis) fn new(seeds: &[(String, u16)], manner: Manner) -> Self {
        let seeds: Vec<Arc<str>> = seeds
            .iter()
            .map(|(host, port)| format!("{host}:{port}").into())
            .collect();
        let (new, made) = mpsc::unbounded_channel();
        Self {
            name: seeds.join(","),
            waits: false,
            slots: Arc::new(watch::Sender::default()),
            failure: Mutex::new(None),
            lines: Mutex::default(),
            new,
            made: Mutex::new(Some(made)),
            doubt: Notify::new(),
            ear: Ear::default(),
            scouts: Scouts::new(seeds),
            manner,
        }
    }

    /// With a second connection to each server, to wait on for its replicas.
    pub(in crate::backend::redis) fn waiting(mut self, waits: bool) -> Self {
        self.waits = waits;
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The connection to the master of a slot.
    pub(super) async fn link(&self, slot: u16, limit: Duration) -> Result<Arc<Link>, BackendError> {
        let until = clock::now() + limit;
        let mut slots = self.slots.subscribe();
        let known = slots.borrow_and_update().master_of(slot).cloned();
        let master = match known {
            Some(master) => master,
            None => {
                self.doubt();
                let found = slots.wait_for(|slots| slots.master_of(slot).is_some());
                match clock::within(limit, found).await {
                    Some(Ok(slots)) => match slots.master_of(slot) {
                        Some(master) => Arc::clone(master),
                        None => return Err(self.no_master(slot)),
                    },
                    Some(Err(_)) | None => return Err(self.no_master(slot)),
                }
            }
        };
        self.link_to(&master, until.since(clock::now())).await
    }

    /// The connection to one server.
    pub(super) async fn link_to(
        &self,
        address: &str,
        limit: Duration,
    ) -> Result<Arc<Link>, BackendError> {
        let connecting = match self.line(address) {
            Ok(line) => line.try_link(limit).await,
            Err(failure) => Err(failure),
        };
        connecting.map_err(|failure| {
            self.doubt();
            failure.into_error(address)
        })
    }

    fn line(&self, address: &str) -> Result<Arc<Line>, Failure> {
        let mut lines = lock(&self.lines);
        if let Some(kept) = lines.get(address) {
            return Ok(Arc::clone(&kept.line));
        }
        let Some((host, port)) = apart(address) else {
            return Err(Failure::Silent { tls: false });
        };
        let endpoint = self.manner.endpoint(host, port)?;
        let own = Arc::clone(&endpoint.address);
        let slots = Arc::clone(&self.slots);
        let line = Line::new(Source::Server(endpoint))
            .waiting(self.waits)
            .deaf(Box::new(move |prefix| probe(&slots.borrow(), &own, prefix)));
        let kept = Kept {
            line: Arc::new(line),
            ends: Arc::new(Notify::new()),
        };
        lines.insert(address.into(), kept.clone());
        // what runs the lines may have ended, with the manager
        drop(self.new.send(kept.clone()));
        Ok(kept.line)
    }

    /// The map may be old: look again, soon.
    pub(super) fn doubt(&self) {
        self.doubt.notify_one();
    }

    /// A server says that another one has this slot.
    pub(super) fn moved(&self, slot: u16, to: &str) {
        self.slots.send_modify(|slots| slots.moved(slot, to));
        self.doubt();
    }

    fn no_master(&self, slot: u16) -> BackendError {
        if let Some(failure) = lock(&self.failure).clone() {
            return failure.into_error(&self.name);
        }
        BackendError::new(
            BackendErrorKind::NotReady,
            format!(
                "the cluster at {} has no master for slot {slot} at this moment; a failover is under way, or some of its slots have none",
                self.name
            ),
        )
    }

    /// Keeps the lines up and the map new, for ever.
    pub(super) async fn run(&self, channel: &str, wakeups: &Wakeups) {
        let made = lock(&self.made).take();
        let lines = async {
            if let Some(made) = made {
                run_all(made, channel, wakeups).await;
            }
        };
        let ear = self.ear.listen(self, channel, wakeups);
        future::join3(lines, self.keep_map(wakeups), ear).await;
    }

    async fn keep_map(&self, wakeups: &Wakeups) {
        let mut pause = FIRST_LOOK;
        loop {
            let known = self.slots.borrow().servers();
            match self.scouts.look(&known, &self.manner).await {
                Ok(found) => {
                    *lock(&self.failure) = None;
                    if self.learn(found, wakeups) {
                        pause = FIRST_LOOK;
                    }
                }
                Err(failure) => *lock(&self.failure) = Some(failure),
            }
            clock::sleep(pause).await;
            // more often only while somebody has doubts
            pause = match clock::within(QUIET_LOOK, self.doubt.notified()).await {
                Some(()) => (pause * 2).min(LAST_LOOK),
                None => FIRST_LOOK,
            };
        }
    }

    /// Takes a new map; whether it is another one.
    fn learn(&self, found: Slots, wakeups: &Wakeups) -> bool {
        let mut gone = Vec::new();
        let mut changed = false;
        self.slots.send_if_modified(|slots| {
            let masters = found.masters();
            gone.extend(slots.masters().difference(&masters).cloned());
            changed = *slots != found;
            if changed {
                *slots = found;
            }
            changed
        });
        let mut lines = lock(&self.lines);
        for address in &gone {
            if let Some(kept) = lines.remove(address) {
                kept.ends.notify_one();
            }
        }
        drop(lines);
        if !gone.is_empty() {
            // another server has their locks, and may have less of them
            wakeups.reconnected();
        }
        changed
    }

    /// The connections to all masters, each for itself.
    pub(super) async fn links(&self, limit: Duration) -> Result<Vec<Addressed>, BackendError> {
        self.find(limit).await?;
        let masters = self.slots.borrow().masters();
        let links = masters.into_iter().map(|master| async move {
            let link = self.link_to(&master, limit).await;
            (master, link)
        });
        Ok(future::join_all(links).await)
    }

    /// Waits for the first map.
    async fn find(&self, limit: Duration) -> Result<(), BackendError> {
        let known = self.link(0, limit).await.map(drop);
        known.or_else(|error| {
            if self.slots.borrow().masters().is_empty() {
                Err(error)
            } else {
                Ok(())
            }
        })
    }

    /// What all masters have found.
    pub(super) async fn health(&self, limit: Duration) -> Result<Health, BackendError> {
        self.find(limit).await?;
        let (masters, uncovered) = {
            let slots = self.slots.borrow();
            (slots.masters(), slots.uncovered())
        };
        let looks = masters.iter().map(|master| async move {
            match self.line(master) {
                Ok(line) => super::look::through(&line, limit).await,
                Err(failure) => Err(failure.into_error(master)),
            }
        });
        let mut health = Health::new();
        for look in future::join_all(looks).await {
            health.add(look?);
        }
        if uncovered > 0 {
            health
                .findings
                .push(Finding::Uncovered { slots: uncovered });
        }
        health.findings.extend(self.ear.finding());
        Ok(health)
    }
}

/// Runs each line from when it is made until it ends.
async fn run_all(mut made: mpsc::UnboundedReceiver<Kept>, channel: &str, wakeups: &Wakeups) {
    let mut running: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
    // so that there always is one to wait for
    running.push(future::pending().boxed());
    loop {
        let next = pin!(made.recv());
        match future::select(next, running.select_next_some()).await {
            future::Either::Left((Some(kept), _)) => running.push(
                async move {
                    let run = pin!(kept.line.run(channel, wakeups));
                    future::select(run, pin!(kept.ends.notified())).await;
                    kept.line.ended();
                }
                .boxed(),
            ),
            future::Either::Left((None, _)) => return,
            future::Either::Right(_) => {}
        }
    }
}

/// A record's key that no lock has, in a slot of this server: escapes have two digits, and these haven't.
fn probe(slots: &Slots, address: &str, prefix: &str) -> String {
    (0..PROBES)
        .map(|number| format!("{prefix}%!{number}"))
        .find(|key| {
            let master = slots.master_of(slot_of(key));
            master.is_some_and(|master| **master == *address)
        })
        .unwrap_or_else(|| prefix.to_owned())
}

/// `host:port`, where the host may have colons itself.
fn apart(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    Some((host, port.parse().ok()?))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cluster").field(&self.name).finish()
    }
}
