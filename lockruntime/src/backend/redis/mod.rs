//! Locks on Redis, the same for every topology: the verbs in terms of scripts.

mod connect;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod info;
mod keys;
#[cfg(feature = "quorum")]
mod node;
mod operating;
mod record;
mod renewal;
mod replicas;
mod reply;
mod rights;
mod scan;
mod script;
mod servers;
mod survey;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use redis::Value;

use super::{
    Answer, Ask, Asked, Backend, BackendError, BackendErrorKind, BoxFuture, Capabilities, Eviction,
    Inventory, Listing, Release, Released, Renew, Renewals, Renewed, Snapshot, Survey, Wakeups,
    Withdraw, Withdrawn,
};
use crate::clock::{self, millis_up};
use crate::health::Health;
use crate::options::Sharing;
use connect::{Link, Way, Ways};
use renewal::{Renewal, Standing};
use replicas::Replicas;
use reply::AskReply;
use script::{Script, Scripts};
pub(crate) use servers::Servers;

/// How long a call waits for a connection where there is none.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// How often an ask is sent again because the server's clock was not where it was thought to be.
const CORRECTIONS: u32 = 3;
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);
const SHOWN: usize = 1_000;

/// Locks on one Redis, 6.2 or later, or a server that speaks like it; on the master that sentinels name, or on a cluster.
///
/// It has one connection to each server, whatever the number of locks and waiters: requests share it, and wake-ups arrive on it
/// (RESP3). With RESP2, and with a cluster, there is one more for the wake-ups.
#[derive(Debug)]
pub struct RedisBackend {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    ways: Ways,
    scripts: Scripts,
    replicas: Option<Replicas>,
}

impl RedisBackend {
    fn on(ways: Ways) -> Self {
        Self::confirmed_on(ways, None)
    }

    /// Where a grant counts only when so many replicas have it.
    fn confirmed_on(ways: Ways, replicas: Option<Replicas>) -> Self {
        Self {
            shared: Arc::new(Shared {
                ways: ways.waiting(replicas.is_some()),
                scripts: Scripts::new(),
                replicas,
            }),
        }
    }
}

/// Why a call has no answer, and whether a server may have executed it.
struct NoAnswer {
    error: BackendError,
    may_run: bool,
}

/// How long a call may take.
#[derive(Clone, Copy)]
struct Limits {
    /// To connect, where there is no connection.
    connect: Duration,
    /// To be answered, from then on.
    answer: Duration,
}

impl Limits {
    fn of(answer: Duration) -> Self {
        Self {
            connect: CONNECT_LIMIT,
            answer,
        }
    }
}

/// The scripts of one verb.
struct Verb<'a> {
    /// To be called first by those who hold the lock alone: it knows when the other one is needed.
    alone: Option<&'a Script>,
    shared: &'a Script,
}

impl<'a> Verb<'a> {
    fn of(alone: &'a Script, shared: &'a Script, sharing: Sharing) -> Self {
        let alone = (sharing == Sharing::Alone).then_some(alone);
        Self { alone, shared }
    }
}

impl Shared {
    /// Calls a script on the server that has these keys; on which connection, and what it answered.
    async fn call(
        &self,
        script: &Script,
        keys: &[String],
        limits: Limits,
        arguments: impl Fn(&Link) -> Vec<String>,
    ) -> Result<(Arc<Link>, Value), NoAnswer> {
        let mut way = self.way(keys, limits);
        loop {
            let link = way.link().await.map_err(|error| NoAnswer {
                error: error.unsent(),
                may_run: false,
            })?;
            let arguments = arguments(&link);
            let call = script.call(&link, way.is_asking(), keys, &arguments);
            match link.within(way.left(), call).await {
                Some(Ok(value)) => return Ok((link, value)),
                Some(Err(error)) => {
                    if way.turns(&link, &error).await {
                        continue;
                    }
                    // an error that the server answers comes before the script's first write
                    let may_run = error.is_io_error()
                        || error.is_connection_dropped()
                        || error.code().is_none();
                    return Err(NoAnswer {
                        error: reply::failed(link.address(), error),
                        may_run,
                    });
                }
                None => {
                    way.silent();
                    return Err(NoAnswer {
                        error: no_answer(&link, limits.answer),
                        may_run: true,
                    });
                }
            }
        }
    }

    /// The same for a verb: with the script of those who share the lock where that has to do it.
    async fn call_verb(
        &self,
        verb: Verb<'_>,
        record: &str,
        limits: Limits,
        arguments: impl Fn(&Link) -> Vec<String>,
    ) -> Result<(Arc<Link>, Value), NoAnswer> {
        let begin = clock::now();
        if let Some(alone) = verb.alone {
            let keys = keys::of(record);
            let (link, value) = self.call(alone, &keys, limits, &arguments).await?;
            if !reply::is_shared(&value) {
                return Ok((link, value));
            }
        }
        let answer = limits.answer.saturating_sub(clock::now().since(begin));
        let (keys, limits) = (keys::shared(record), Limits { answer, ..limits });
        self.call(verb.shared, &keys, limits, &arguments).await
    }

    fn way<'a>(&'a self, keys: &'a [String], limits: Limits) -> Way<'a> {
        let record = keys.first().map_or("", String::as_str);
        Way::new(&self.ways, record, limits.connect, limits.answer)
    }

    /// The channel on which waiters of this process are to be told instead of by the answer: where a grant has to be confirmed
    /// first, that of nobody.
    fn own_channel<'a>(&self, link: &Link, channel: &'a str) -> &'a str {
        match self.replicas {
            Some(_) => "",
            None => channel_of(link, channel),
        }
    }

    async fn ask(&self, ask: &Ask) -> Asked {
        let rest = record::encode_rest(&ask.record, &ask.holder, ask.lease, ask.sharing);
        let last = AtomicU64::new(0);
        let arguments = |link: &Link| {
            let until = link.server_now() + millis_up(ask.valid);
            last.store(until, Ordering::Relaxed);
            let mut arguments = vec![ask.ticket.to_string(), ask.member()];
            arguments
                .extend([ask.lease, ask.claim, ask.beat].map(|time| millis_up(time).to_string()));
            arguments.extend([
                ask.mode.to_string(),
                channel_of(link, &ask.channel).to_owned(),
                rest.clone(),
                until.to_string(),
            ]);
            arguments.extend(ask.max_waiters.map(|most| most.to_string()));
            arguments
        };
        for _ in 0..=CORRECTIONS {
            let verb = Verb::of(&self.scripts.ask, &self.scripts.shared.ask, ask.sharing);
            let called = self
                .call_verb(verb, &ask.record, Limits::of(ask.valid), &arguments)
                .await;
            let last = last.load(Ordering::Relaxed);
            let (link, value) = match called {
                Ok(answered) => answered,
                Err(no) => return Asked::new(Err(no.error), if no.may_run { last } else { 0 }),
            };
            match reply::ask(&value) {
                Some((now, reply)) => {
                    link.server_said(now, clock::now());
                    if let AskReply::Answer(answer) = reply {
                        return self.confirm(&link, ask, answer, last).await;
                    }
                }
                None => return Asked::new(Err(reply::unknown(link.address())), last),
            }
        }
        Asked::new(Err(clock_jumps(self.ways.name())), 0)
    }

    /// A grant counts once its replicas have it; else it is for the keeper to undo.
    async fn confirm(&self, link: &Link, ask: &Ask, answer: Answer, last: u64) -> Asked {
        if let (Some(replicas), Answer::Held { token }) = (&self.replicas, &answer) {
            let renewal = Renewal::of(
                &self.scripts,
                &Standing {
                    record: &ask.record,
                    ticket: ask.ticket,
                    token: *token,
                    lease: ask.lease,
                    sharing: ask.sharing,
                },
            );
            if let Err(error) = replicas.have(link, &renewal, ask.valid).await {
                return Asked::new(Err(error), last);
            }
        }
        Asked::new(Ok(answer), 0)
    }

    /// Lengthens one hold. Reports when it isn't answered in time, and once more when it is answered later.
    async fn renew(&self, renew: &Renew, report: impl Fn(Result<Renewed, BackendError>)) {
        let renewal = Renewal::of(&self.scripts, &Standing::from(renew));
        // a renewal doesn't wait for a connection beyond its own time
        let limits = Limits {
            connect: renew.timeout,
            answer: renew.timeout,
        };
        let mut way = self.way(&renewal.keys, limits);
        let read = |link: &Link, value: &Value| {
            reply::renewed(value).ok_or_else(|| reply::unknown(link.address()))
        };
        loop {
            let link = match way.link().await {
                Ok(link) => link,
                Err(error) => return report(Err(error)),
            };
            let mut call = pin!(renewal.call(&link, way.is_asking()));
            match link.within(way.left(), &mut call).await {
                Some(Ok(value)) => {
                    let renewed = match read(&link, &value) {
                        Ok(Renewed::Renewed) => {
                            self.confirm_renewal(&link, &renewal, way.left()).await
                        }
                        other => other,
                    };
                    return report(renewed);
                }
                Some(Err(error)) => {
                    if !way.turns(&link, &error).await {
                        return report(Err(reply::failed(link.address(), error)));
                    }
                }
                None => {
                    way.silent();
                    report(Err(no_answer(&link, renew.timeout)));
                    if self.replicas.is_none()
                        && let Some(Ok(value)) = clock::within(renew.lease, call).await
                    {
                        report(read(&link, &value));
                    }
                    return;
                }
            }
        }
    }

    /// What the replicas don't have would be shorter after a failover.
    async fn confirm_renewal(
        &self,
        link: &Link,
        renewal: &Renewal<'_>,
        limit: Duration,
    ) -> Result<Renewed, BackendError> {
        if let Some(replicas) = &self.replicas {
            replicas.have(link, renewal, limit).await?;
        }
        Ok(Renewed::Renewed)
    }

    async fn release(&self, release: &Release) -> Result<Released, BackendError> {
        let arguments = |link: &Link| {
            let mut arguments = vec![
                release.ticket.to_string(),
                self.own_channel(link, &release.channel).to_owned(),
            ];
            arguments.extend(release.keep.map(|keep| millis_up(keep).to_string()));
            arguments
        };
        let (alone, shared) = (&self.scripts.release, &self.scripts.shared.release);
        let verb = Verb::of(alone, shared, release.sharing);
        let limits = Limits::of(release.timeout);
        let (link, value) = self
            .call_verb(verb, &release.record, limits, arguments)
            .await
            .map_err(|no| no.error)?;
        reply::released(&value).ok_or_else(|| reply::unknown(link.address()))
    }

    async fn withdraw(&self, withdraw: &Withdraw) -> Result<Withdrawn, BackendError> {
        let arguments = |link: &Link| {
            vec![
                withdraw.ticket.to_string(),
                withdraw.member(),
                self.own_channel(link, &withdraw.channel).to_owned(),
            ]
        };
        let (alone, shared) = (&self.scripts.withdraw, &self.scripts.shared.withdraw);
        let verb = Verb::of(alone, shared, withdraw.sharing);
        let limits = Limits::of(withdraw.timeout);
        let (link, value) = self
            .call_verb(verb, &withdraw.record, limits, arguments)
            .await
            .map_err(|no| no.error)?;
        let (now, released) =
            reply::withdrawn(&value).ok_or_else(|| reply::unknown(link.address()))?;
        link.server_said(now, clock::now());
        Ok(Withdrawn::new(released, now))
    }

    async fn snapshot(&self, record: &str) -> Result<Snapshot, BackendError> {
        let (link, value) = self
            .call(
                &self.scripts.snapshot,
                &keys::shared(record),
                Limits::of(SNAPSHOT_TIMEOUT),
                |_| vec![SHOWN.to_string()],
            )
            .await
            .map_err(|no| no.error)?;
        let snapshot = reply::snapshot(&value).ok_or_else(|| reply::unknown(link.address()))?;
        snapshot.map_err(|()| {
            let message = format!(
                "Redis at {} has something that isn't a lock at {record}",
                link.address()
            );
            BackendError::new(BackendErrorKind::Foreign, message)
        })
    }
}

fn no_answer(link: &Link, limit: Duration) -> BackendError {
    let message = format!(
        "Redis at {} gave no answer within {} ms",
        link.address(),
        limit.as_millis()
    );
    BackendError::new(BackendErrorKind::Timeout, message)
}

fn clock_jumps(name: &str) -> BackendError {
    BackendError::new(
        BackendErrorKind::NotReady,
        format!("the clock of Redis at {name} jumps; set it once and let it run"),
    )
}

/// Where to announce hand-overs: nowhere, when this process may not listen.
fn channel_of<'a>(link: &Link, channel: &'a str) -> &'a str {
    if link.subscribed { channel } else { "" }
}

impl Backend for RedisBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            across_processes: true,
            fifo: true,
            wakeups: true,
            shares: true,
            ..Capabilities::new()
        }
    }

    fn run(&self, channel: &str, wakeups: Wakeups) -> BoxFuture<()> {
        let (shared, channel) = (Arc::clone(&self.shared), channel.to_owned());
        let wakeups = match &shared.replicas {
            Some(_) => replicas::as_signs(wakeups),
            None => wakeups,
        };
        Box::pin(async move { shared.ways.run(&channel, &wakeups).await })
    }

    fn ask(&self, ask: Ask) -> BoxFuture<Asked> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.ask(&ask).await })
    }

    fn renew(&self, batch: Vec<Renew>, renewals: Renewals) -> BoxFuture<()> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            // each finds its own way: a server that is blocked or gone delays no other's
            let mut calls: FuturesUnordered<_> = batch
                .iter()
                .enumerate()
                .map(|(index, renew)| {
                    let (shared, renewals) = (&shared, &renewals);
                    shared.renew(renew, move |result| renewals.report(index, result))
                })
                .collect();
            while calls.next().await.is_some() {}
        })
    }

    fn release(&self, release: Release) -> BoxFuture<Result<Released, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.release(&release).await })
    }

    fn withdraw(&self, withdraw: Withdraw) -> BoxFuture<Result<Withdrawn, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.withdraw(&withdraw).await })
    }

    fn health(&self) -> BoxFuture<Result<Health, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.ways.health().await })
    }

    fn list(&self, listing: Listing) -> BoxFuture<Result<Inventory, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.list(&listing).await })
    }

    fn survey(&self, listing: Listing) -> BoxFuture<Result<Vec<Survey>, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.survey(&listing).await })
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
