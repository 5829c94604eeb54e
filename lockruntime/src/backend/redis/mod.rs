//! Locks on one Redis: the verbs in terms of scripts.

mod connect;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod info;
mod keys;
#[cfg(feature = "quorum")]
mod node;
mod record;
mod reply;
mod rights;
mod scan;
mod script;
mod survey;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use redis::{Client, IntoConnectionInfo, ProtocolVersion, RedisError, Value};
use url::Url;

use super::{
    Ask, Asked, Backend, BackendError, BackendErrorKind, BoxFuture, Capabilities, Eviction, Listed,
    Listing, Release, Released, Renew, Renewals, Renewed, Snapshot, Survey, Wakeups, Withdraw,
    Withdrawn,
};
use crate::clock::{self, millis_up};
use crate::error::ConfigError;
use crate::health::Health;
#[cfg(feature = "tls")]
use crate::tls::TlsSettings;
use crate::token::OwnerToken;
use connect::{Endpoint, Failure, Line, Link, look};
use reply::AskReply;
use script::{Script, Scripts};

/// How long a call waits for a connection where there is none.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// How often an ask is sent again because the server's clock was not where it was thought to be.
const CORRECTIONS: u32 = 3;
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);
const SHOWN: usize = 1_000;

/// Locks on one Redis, 6.2 or later, or a server that speaks like it.
///
/// It has one connection, whatever the number of locks and waiters: requests share it, and wake-ups arrive on it (RESP3). With
/// RESP2 it has a second one for the wake-ups.
#[derive(Debug)]
pub struct RedisBackend {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    line: Line,
    scripts: Scripts,
}

impl RedisBackend {
    /// The server of `url`, without its query, spoken to in this protocol.
    pub(crate) fn from_url(url: &Url, protocol: ProtocolVersion) -> Result<Self, ConfigError> {
        Ok(Self::at(endpoint(url, protocol)?))
    }

    /// The same over TLS; `url` as for `redis://`.
    #[cfg(feature = "tls")]
    pub(crate) fn over_tls(
        url: &Url,
        protocol: ProtocolVersion,
        tls: &TlsSettings,
    ) -> Result<Self, ConfigError> {
        Ok(Self::at(endpoint(url, protocol)?.over_tls(tls)?))
    }

    /// The server of an application's own client, with its user, database, protocol and TLS.
    pub(crate) fn from_client(client: &Client) -> Result<Self, ConfigError> {
        let server = client.get_connection_info().clone();
        Ok(Self::at(Endpoint::new(server).map_err(unreadable)?))
    }

    fn at(endpoint: Endpoint) -> Self {
        Self {
            shared: Arc::new(Shared {
                line: Line::new(endpoint),
                scripts: Scripts::new(),
            }),
        }
    }
}

fn endpoint(url: &Url, protocol: ProtocolVersion) -> Result<Endpoint, ConfigError> {
    let server = url.as_str().into_connection_info().map_err(unreadable)?;
    let settings = server.redis_settings().clone().set_protocol(protocol);
    Endpoint::new(server.set_redis_settings(settings)).map_err(unreadable)
}

/// The client's own words may repeat the URL, and with it the password.
fn unreadable(_: RedisError) -> ConfigError {
    ConfigError::new("the redis URL can't be read; write redis://user:password@host:6379/0")
}

/// Why a call has no answer, and whether the server may have executed it.
struct NoAnswer {
    error: BackendError,
    may_run: bool,
}

impl Shared {
    async fn call(
        &self,
        script: &Script,
        link: &Link,
        limit: Duration,
        keys: &[String],
        arguments: &[&[u8]],
    ) -> Result<Value, NoAnswer> {
        match link.within(limit, script.call(link, keys, arguments)).await {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => {
                // an error that the server answers comes before the script's first write
                let may_run =
                    error.is_io_error() || error.is_connection_dropped() || error.code().is_none();
                Err(NoAnswer {
                    error: reply::failed(self.line.address(), error),
                    may_run,
                })
            }
            None => Err(NoAnswer {
                error: self.no_answer(limit),
                may_run: true,
            }),
        }
    }

    async fn health(&self) -> Result<Health, BackendError> {
        let link = match self.line.try_link(CONNECT_LIMIT).await {
            Ok(link) => link,
            Err(Failure::Rights(missing)) => {
                let mut health = Health::new();
                health.findings.push(look::missing(&missing));
                return Ok(health);
            }
            Err(failure) => return Err(failure.into_error(self.line.address())),
        };
        look::at(&link).await.ok_or_else(|| {
            let message = format!(
                "Redis at {} gave no answer to INFO in time; it may be overloaded or cut off",
                self.line.address()
            );
            BackendError::new(BackendErrorKind::Timeout, message)
        })
    }

    async fn ask(&self, ask: &Ask) -> Asked {
        let link = match self.line.link(CONNECT_LIMIT).await {
            Ok(link) => link,
            Err(error) => return Asked::new(Err(error), 0),
        };
        let keys = keys::of(&ask.record);
        let rest = record::encode_rest(&ask.record, &ask.holder, ask.lease);
        let ticket = ask.ticket.to_string();
        let member = ask.member();
        let [lease, claim, beat] =
            [ask.lease, ask.claim, ask.beat].map(|time| millis_up(time).to_string());
        let mode = ask.mode.to_string();
        let channel = channel_of(&link, &ask.channel);
        let most = ask.max_waiters.map(|most| most.to_string());
        for _ in 0..=CORRECTIONS {
            let last = link.server_now() + millis_up(ask.valid);
            let until = last.to_string();
            let arguments = [
                &ticket,
                &member,
                &lease,
                &claim,
                &beat,
                &mode,
                channel,
                rest.as_str(),
                &until,
            ];
            let arguments = arguments.into_iter().chain(most.as_deref());
            let arguments: Vec<_> = arguments.map(str::as_bytes).collect();
            let value = match self
                .call(&self.scripts.ask, &link, ask.valid, &keys, &arguments)
                .await
            {
                Ok(value) => value,
                Err(no) => return Asked::new(Err(no.error), if no.may_run { last } else { 0 }),
            };
            match reply::ask(&value) {
                Some((now, reply)) => {
                    link.server_said(now, clock::now());
                    if let AskReply::Answer(answer) = reply {
                        return Asked::new(Ok(answer), 0);
                    }
                }
                None => return Asked::new(Err(reply::unknown(self.line.address())), last),
            }
        }
        let message = format!(
            "the clock of Redis at {} jumps; set it once and let it run",
            self.line.address()
        );
        Asked::new(
            Err(BackendError::new(BackendErrorKind::NotReady, message)),
            0,
        )
    }

    /// Lengthens one hold. Reports when it isn't answered in time, and once more when it is answered later.
    async fn renew(
        &self,
        link: &Link,
        renew: &Renew,
        report: impl Fn(Result<Renewed, BackendError>),
    ) {
        let held = record::owned_by(renew.ticket, renew.token);
        let lease = millis_up(renew.lease).to_string();
        let keys = [renew.record.to_string()];
        let arguments = [held.as_bytes(), lease.as_bytes()];
        let mut call = pin!(self.scripts.renew.call(link, &keys, &arguments));
        let read = |value: &Value| {
            reply::renewed(value).ok_or_else(|| reply::unknown(self.line.address()))
        };
        match link.within(renew.timeout, &mut call).await {
            Some(Ok(value)) => report(read(&value)),
            Some(Err(error)) => report(Err(reply::failed(self.line.address(), error))),
            None => {
                report(Err(self.no_answer(renew.timeout)));
                if let Some(Ok(value)) = clock::within(renew.lease, call).await {
                    report(read(&value));
                }
            }
        }
    }

    fn no_answer(&self, limit: Duration) -> BackendError {
        let message = format!(
            "Redis at {} gave no answer within {} ms",
            self.line.address(),
            limit.as_millis()
        );
        BackendError::new(BackendErrorKind::Timeout, message)
    }

    async fn release(&self, release: &Release) -> Result<Released, BackendError> {
        let link = self.line.link(CONNECT_LIMIT).await?;
        let ticket = release.ticket.to_string();
        let keep = release.keep.map(|keep| millis_up(keep).to_string());
        let arguments = [&ticket, channel_of(&link, &release.channel)];
        let arguments = arguments.into_iter().chain(keep.as_deref());
        let arguments: Vec<_> = arguments.map(str::as_bytes).collect();
        let keys = keys::of(&release.record);
        let value = self
            .call(
                &self.scripts.release,
                &link,
                release.timeout,
                &keys,
                &arguments,
            )
            .await
            .map_err(|no| no.error)?;
        reply::released(&value).ok_or_else(|| reply::unknown(self.line.address()))
    }

    async fn withdraw(&self, withdraw: &Withdraw) -> Result<Withdrawn, BackendError> {
        let link = self.line.link(CONNECT_LIMIT).await?;
        let ticket: OwnerToken = withdraw.ticket;
        let (ticket, member) = (ticket.to_string(), withdraw.member());
        let arguments = [
            ticket.as_bytes(),
            member.as_bytes(),
            channel_of(&link, &withdraw.channel).as_bytes(),
        ];
        let keys = keys::of(&withdraw.record);
        let value = self
            .call(
                &self.scripts.withdraw,
                &link,
                withdraw.timeout,
                &keys,
                &arguments,
            )
            .await
            .map_err(|no| no.error)?;
        let (now, released) =
            reply::withdrawn(&value).ok_or_else(|| reply::unknown(self.line.address()))?;
        link.server_said(now, clock::now());
        Ok(Withdrawn::new(released, now))
    }

    async fn snapshot(&self, record: &str) -> Result<Snapshot, BackendError> {
        let link = self.line.link(CONNECT_LIMIT).await?;
        let shown = SHOWN.to_string();
        let keys = keys::of(record);
        let value = self
            .call(
                &self.scripts.snapshot,
                &link,
                SNAPSHOT_TIMEOUT,
                &keys,
                &[shown.as_bytes()],
            )
            .await
            .map_err(|no| no.error)?;
        let snapshot =
            reply::snapshot(&value).ok_or_else(|| reply::unknown(self.line.address()))?;
        snapshot.map_err(|()| {
            let message = format!(
                "Redis at {} has something that isn't a lock at {record}",
                self.line.address()
            );
            BackendError::new(BackendErrorKind::Foreign, message)
        })
    }
}

impl Shared {
    async fn list(&self, listing: &Listing) -> Result<Vec<Listed>, BackendError> {
        let link = self.line.link(CONNECT_LIMIT).await?;
        scan::list(&link, &self.scripts.list, listing)
            .await
            .map_err(|failed| self.not_listed(failed))
    }

    fn not_listed(&self, failed: scan::Failed) -> BackendError {
        match failed {
            scan::Failed::Silent => self.no_answer(SNAPSHOT_TIMEOUT),
            scan::Failed::Refused(error) => reply::failed(self.line.address(), error),
            scan::Failed::Odd => reply::unknown(self.line.address()),
        }
    }

    async fn survey(&self, listing: &Listing) -> Result<Survey, BackendError> {
        let link = self.line.link(CONNECT_LIMIT).await?;
        Ok(survey::of(self.line.address(), &link, listing).await)
    }

    /// The release script, by somebody who isn't the owner and names him.
    async fn evict(&self, eviction: Eviction) -> Result<Released, BackendError> {
        let Eviction {
            record,
            owner: ticket,
            timeout,
            ..
        } = eviction;
        self.release(&Release {
            record,
            ticket,
            channel: "".into(),
            keep: None,
            timeout,
        })
        .await
    }
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
            ..Capabilities::new()
        }
    }

    fn run(&self, channel: &str, wakeups: Wakeups) -> BoxFuture<()> {
        let (shared, channel) = (Arc::clone(&self.shared), channel.to_owned());
        Box::pin(async move { shared.line.run(&channel, &wakeups).await })
    }

    fn ask(&self, ask: Ask) -> BoxFuture<Asked> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.ask(&ask).await })
    }

    fn renew(&self, batch: Vec<Renew>, renewals: Renewals) -> BoxFuture<()> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let Some(limit) = batch.iter().map(|renew| renew.timeout).min() else {
                return;
            };
            let link = match shared.line.link(limit).await {
                Ok(link) => link,
                // what isn't reported counts as unanswered and is tried again
                Err(_) => return,
            };
            let mut calls: FuturesUnordered<_> = batch
                .iter()
                .enumerate()
                .map(|(index, renew)| {
                    let (shared, link) = (&shared, &link);
                    let renewals = &renewals;
                    shared.renew(link, renew, move |result| renewals.report(index, result))
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
        Box::pin(async move { shared.health().await })
    }

    fn list(&self, listing: Listing) -> BoxFuture<Result<Vec<Listed>, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.list(&listing).await })
    }

    fn survey(&self, listing: Listing) -> BoxFuture<Result<Vec<Survey>, BackendError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { Ok(vec![shared.survey(&listing).await?]) })
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
