//! The line to one server at a time: connects, replaces a closed or suspect connection, backs off.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{self, BoxFuture, Either, FutureExt};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisError, Value};
use tokio::sync::{Notify, watch};

use super::endpoint::Endpoint;
use super::failure::Failure;
use super::link::{Health, Link};
#[cfg(feature = "sentinel")]
use super::sentinel::Sentinels;
use super::{hearing, look};
use crate::backend::redis::{reply, rights};
use crate::backend::{BackendError, Wakeups};
use crate::clock;
use crate::health::Finding;
use crate::telemetry::{self, Event};

pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// The way to one server at a time.
pub(in crate::backend::redis) struct Line {
    source: Source,
    /// Whether hand-overs are heard of here.
    hears: bool,
    /// Whether there is a second connection, to wait on for the replicas.
    waits: bool,
    /// A record's key that no lock has, for the look at the rights; else the one with no name.
    probe: Option<Probe>,
    state: watch::Sender<State>,
    /// Told as out of reach.
    out: AtomicBool,
    /// A call found no connection: try again now.
    wanted: Notify,
}

/// What makes a key to look at the rights with, from the prefix of all keys.
pub(super) type Probe = Box<dyn Fn(&str) -> String + Send + Sync>;

/// Which server a line leads to.
pub(in crate::backend::redis) enum Source {
    /// Always the same.
    Server(Endpoint),
    /// The one that sentinels name.
    #[cfg(feature = "sentinel")]
    Master(Sentinels),
}

impl Source {
    fn name(&self) -> &str {
        match self {
            Self::Server(endpoint) => &endpoint.address,
            #[cfg(feature = "sentinel")]
            Self::Master(sentinels) => sentinels.name(),
        }
    }

    /// That there is no answer.
    fn silent(&self) -> Failure {
        match self {
            Self::Server(endpoint) => endpoint.silent(),
            #[cfg(feature = "sentinel")]
            Self::Master(_) => Failure::Silent { tls: false },
        }
    }

    /// What goes on beside the line.
    async fn watch(&self) {
        match self {
            Self::Server(_) => future::pending().await,
            #[cfg(feature = "sentinel")]
            Self::Master(sentinels) => sentinels.watch().await,
        }
    }

    /// Ready when another server is the one.
    async fn left(&self, _address: &str) {
        match self {
            Self::Server(_) => future::pending().await,
            #[cfg(feature = "sentinel")]
            Self::Master(sentinels) => sentinels.left(_address).await,
        }
    }

    fn must_be_master(&self) -> bool {
        !matches!(self, Self::Server(_))
    }
}

#[derive(Clone)]
enum State {
    /// Not connected; the failure of the latest of so many tries.
    Down {
        tries: u64,
        failure: Failure,
    },
    Up(Arc<Link>),
}

/// A new connection, and what hears of hand-overs beside it where they aren't pushed.
struct Connected {
    link: Link,
    health: Arc<Health>,
    hearing: BoxFuture<'static, ()>,
}

impl Line {
    pub(in crate::backend::redis) fn new(source: Source) -> Self {
        Self {
            state: watch::Sender::new(State::Down {
                tries: 0,
                failure: source.silent(),
            }),
            out: AtomicBool::new(false),
            wanted: Notify::new(),
            hears: true,
            waits: false,
            probe: None,
            source,
        }
    }

    /// With a second connection to each server, to wait on for its replicas.
    pub(in crate::backend::redis) fn waiting(mut self, waits: bool) -> Self {
        self.waits = waits;
        self
    }

    /// Hears of no hand-overs: something else does.
    #[cfg(feature = "cluster")]
    pub(super) fn deaf(mut self, probe: Probe) -> Self {
        self.hears = false;
        self.probe = Some(probe);
        self
    }

    /// Whether the server is looked for, and has to be the master.
    #[cfg(feature = "sentinel")]
    pub(super) fn is_found(&self) -> bool {
        self.source.must_be_master()
    }

    /// The server's address, or how it is found.
    pub(in crate::backend::redis) fn name(&self) -> &str {
        self.source.name()
    }

    /// The present connection. Where there is none, waits for the outcome of one try, at most `limit`.
    pub(in crate::backend::redis) async fn link(
        &self,
        limit: Duration,
    ) -> Result<Arc<Link>, BackendError> {
        self.try_link(limit)
            .await
            .map_err(|failure| failure.into_error(self.name()))
    }

    /// The same, with the failure as it was.
    pub(in crate::backend::redis) async fn try_link(
        &self,
        limit: Duration,
    ) -> Result<Arc<Link>, Failure> {
        let mut state = self.state.subscribe();
        let tried = match &*state.borrow_and_update() {
            State::Up(link) => return Ok(Arc::clone(link)),
            State::Down { tries, .. } => *tries,
        };
        self.wanted.notify_one();
        let outcome = clock::within(
            limit,
            state.wait_for(|state| match state {
                State::Up(_) => true,
                State::Down { tries, .. } => *tries > tried,
            }),
        );
        match outcome.await {
            Some(Ok(state)) => match &*state {
                State::Up(link) => Ok(Arc::clone(link)),
                State::Down { failure, .. } => Err(failure.clone()),
            },
            Some(Err(_)) | None => Err(self.source.silent()),
        }
    }

    /// Keeps the line up, for ever.
    pub(in crate::backend::redis) async fn run(&self, channel: &str, wakeups: &Wakeups) {
        let keeping = self.keep(channel, wakeups);
        future::select(pin!(keeping), pin!(self.source.watch())).await;
    }

    async fn keep(&self, channel: &str, wakeups: &Wakeups) {
        let mut pause = FIRST_PAUSE;
        let mut connected_before = false;
        let mut present = Arc::new(Health::default());
        let mut told = Vec::new();
        loop {
            match self.connect(channel, wakeups).await {
                Ok(Connected {
                    link,
                    health,
                    hearing,
                }) => {
                    let link = Arc::new(link);
                    self.state.send_replace(State::Up(Arc::clone(&link)));
                    let address = link.address().to_owned();
                    self.out.store(false, Ordering::Relaxed);
                    self.tell_up(true);
                    pause = FIRST_PAUSE;
                    if connected_before {
                        wakeups.reconnected();
                    }
                    connected_before = true;
                    present = health;
                    let beside = async {
                        if let Some(findings) = look::at_server(&link).await {
                            self.tell(&mut told, findings);
                        }
                        // the line isn't what keeps a replaced connection
                        drop(link);
                        hearing.await;
                    };
                    // a suspect one may yet answer what it was asked: it goes when the next one stands
                    let ill = while_ill(&present, beside);
                    let left = self.source.left(&address);
                    if let Either::Right(_) = future::select(pin!(ill), pin!(left)).await {
                        // what is written there is lost
                        present.closed();
                    }
                    self.drop_closed(&present);
                }
                Err(failure) => {
                    if !self.out.swap(true, Ordering::Relaxed) {
                        self.tell_up(false);
                    }
                    if let Failure::Rights(missing) = &failure {
                        self.tell(&mut told, vec![look::missing(missing)]);
                    }
                    self.state.send_modify(|state| {
                        if let State::Down {
                            tries,
                            failure: last,
                        } = state
                        {
                            *tries += 1;
                            *last = failure;
                        }
                    });
                    self.drop_closed(&present);
                    clock::sleep(FIRST_PAUSE).await;
                    // somebody who waits for it shortens the pause, but never below the first
                    let _ = clock::within(pause - FIRST_PAUSE, self.wanted.notified()).await;
                    pause = (pause * 2).min(LAST_PAUSE);
                }
            }
        }
    }

    /// Under one name, whatever server it leads to.
    fn tell_up(&self, up: bool) {
        telemetry::emit(&Event::Backend {
            address: self.name(),
            up,
        });
    }

    /// Nobody needs its server any more: an outage is none, and would be told for ever.
    #[cfg(feature = "cluster")]
    pub(super) fn ended(&self) {
        if self.out.swap(false, Ordering::Relaxed) {
            self.tell_up(true);
        }
    }

    /// Tells what wasn't found before as well.
    fn tell(&self, told: &mut Vec<Finding>, findings: Vec<Finding>) {
        for finding in findings.iter().filter(|finding| !told.contains(finding)) {
            telemetry::emit(&Event::Found {
                address: self.name(),
                finding,
            });
        }
        *told = findings;
    }

    /// A closed connection is none.
    fn drop_closed(&self, present: &Health) {
        self.state.send_if_modified(|state| {
            let drops = present.is_closed() && matches!(state, State::Up(_));
            if drops {
                *state = State::Down {
                    tries: 0,
                    failure: self.source.silent(),
                };
            }
            drops
        });
    }

    /// One try.
    async fn connect(&self, channel: &str, wakeups: &Wakeups) -> Result<Connected, Failure> {
        match &self.source {
            Source::Server(endpoint) => self.connect_to(endpoint, channel, wakeups).await,
            #[cfg(feature = "sentinel")]
            Source::Master(sentinels) => {
                let connect = |endpoint: Endpoint| {
                    async move { self.connect_to(&endpoint, channel, wakeups).await }.boxed()
                };
                sentinels.first(connect).await
            }
        }
    }

    /// One try with one server.
    async fn connect_to(
        &self,
        endpoint: &Endpoint,
        channel: &str,
        wakeups: &Wakeups,
    ) -> Result<Connected, Failure> {
        let health = Arc::new(Health::default());
        let connecting = async {
            let plain = AsyncConnectionConfig::new()
                .set_connection_timeout(None)
                .set_response_timeout(None);
            let mut config = plain.clone();
            if endpoint.pushes {
                config =
                    config.set_push_sender(hearing::pushes(wakeups.clone(), Arc::clone(&health)));
            }
            let connection = endpoint.connect(config).await?;
            let prefix = rights::prefix_of(channel);
            let probe = (self.probe.as_ref()).map_or_else(|| prefix.clone(), |of| of(&prefix));
            let [by_hash, whole] = rights::requests(&probe, channel);
            // all at once: a new connection costs one round trip more than its greeting
            let looks = future::join(send(&connection, &by_hash), send(&connection, &whole));
            let looks = future::join3(looks, self.role(&connection), self.second(endpoint, plain));
            let ((found, role, waiting), (refused, hearing)) = if !self.hears {
                (looks.await, (None, future::pending().boxed()))
            } else if endpoint.pushes {
                let mut listener = connection.clone();
                let (looks, subscribed) = future::join(looks, listener.subscribe(channel)).await;
                let hearing = future::pending().boxed();
                (looks, (hearing::refused(channel, subscribed)?, hearing))
            } else {
                let second = hearing::second(endpoint, channel, wakeups, &health);
                let (looks, second) = future::join(looks, second).await;
                (looks, second?)
            };
            let received = clock::now();
            let found = rights::found(channel, found.0, found.1)?;
            if let Some(missing) = found.missing {
                return Err(Failure::Rights(missing));
            }
            if self.source.must_be_master() && (found.replica || !role?) {
                return Err(Failure::Replica);
            }
            let subscribed = refused.is_none();
            let findings = look::findings(found.replica, found.unpublished, refused);
            let link = Link::new(
                Arc::clone(&endpoint.address),
                connection,
                waiting?,
                Arc::clone(&health),
                subscribed,
                findings,
            );
            link.server_said(found.now.unwrap_or(0), received);
            Ok((link, hearing))
        };
        let (link, hearing) = match clock::within(CONNECT_TIMEOUT, connecting).await {
            Some(result) => result?,
            None => return Err(endpoint.silent()),
        };
        Ok(Connected {
            link,
            health,
            hearing,
        })
    }

    /// Whether the server says that it is a master, where that matters. Who may not ask looks at what is refused.
    async fn role(&self, connection: &MultiplexedConnection) -> Result<bool, Failure> {
        if !self.source.must_be_master() {
            return Ok(true);
        }
        match send(connection, &redis::cmd("ROLE")).await {
            Ok(said) => Ok(reply::sequence(&said)
                .and_then(|said| reply::text(said.first()?))
                .is_none_or(|role| role == "master")),
            Err(error) if reply::is_permission(&error) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    async fn second(
        &self,
        endpoint: &Endpoint,
        config: AsyncConnectionConfig,
    ) -> Result<Option<MultiplexedConnection>, Failure> {
        if self.waits {
            endpoint.connect(config).await.map(Some)
        } else {
            Ok(None)
        }
    }
}

/// Lets `beside` go on until the connection is closed or suspect.
async fn while_ill(present: &Health, beside: impl Future<Output = ()>) {
    let beside = pin!(beside);
    if let Either::Right(((), ill)) = future::select(pin!(present.ill()), beside).await {
        ill.await;
    }
}

async fn send(connection: &MultiplexedConnection, command: &Cmd) -> Result<Value, RedisError> {
    let answer = connection.clone().send_packed_command(command).await;
    answer.and_then(Value::extract_error)
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("to", &self.name())
            .finish_non_exhaustive()
    }
}
