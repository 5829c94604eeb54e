//! The line to one server: connects, replaces a closed or suspect connection, backs off.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{self, BoxFuture, Either, FutureExt};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisError, Value};
use tokio::sync::{Notify, watch};

use super::endpoint::Endpoint;
use super::failure::Failure;
use super::link::{Health, Link};
use super::{hearing, look};
use crate::backend::redis::rights;
use crate::backend::{BackendError, Wakeups};
use crate::clock;
use crate::health::Finding;
use crate::telemetry::{self, Event};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// The way to one server.
pub(in crate::backend::redis) struct Line {
    endpoint: Endpoint,
    state: watch::Sender<State>,
    /// A call found no connection: try again now.
    wanted: Notify,
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
    hearing: BoxFuture<'static, ()>,
}

impl Line {
    pub(in crate::backend::redis) fn new(endpoint: Endpoint) -> Self {
        Self {
            state: watch::Sender::new(State::Down {
                tries: 0,
                failure: endpoint.silent(),
            }),
            wanted: Notify::new(),
            endpoint,
        }
    }

    pub(in crate::backend::redis) fn address(&self) -> &str {
        &self.endpoint.address
    }

    /// The present connection. Where there is none, waits for the outcome of one try, at most `limit`.
    pub(in crate::backend::redis) async fn link(
        &self,
        limit: Duration,
    ) -> Result<Arc<Link>, BackendError> {
        self.try_link(limit)
            .await
            .map_err(|failure| failure.into_error(self.address()))
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
            Some(Err(_)) | None => Err(self.endpoint.silent()),
        }
    }

    /// Keeps the line up, for ever.
    pub(in crate::backend::redis) async fn run(&self, channel: &str, wakeups: &Wakeups) {
        let mut pause = FIRST_PAUSE;
        let mut connected_before = false;
        let mut up = true;
        let mut present = Arc::new(Health::default());
        let mut told = Vec::new();
        loop {
            let health = Arc::new(Health::default());
            match self.connect(channel, wakeups, &health).await {
                Ok(Connected { link, hearing }) => {
                    let link = Arc::new(link);
                    self.state.send_replace(State::Up(Arc::clone(&link)));
                    telemetry::emit(&Event::Backend {
                        address: self.address(),
                        up: true,
                    });
                    up = true;
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
                    while_ill(&present, beside).await;
                    self.drop_closed(&present);
                }
                Err(failure) => {
                    if std::mem::replace(&mut up, false) {
                        telemetry::emit(&Event::Backend {
                            address: self.address(),
                            up: false,
                        });
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

    /// Tells what wasn't found before as well.
    fn tell(&self, told: &mut Vec<Finding>, findings: Vec<Finding>) {
        for finding in findings.iter().filter(|finding| !told.contains(finding)) {
            telemetry::emit(&Event::Found {
                address: self.address(),
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
                    failure: self.endpoint.silent(),
                };
            }
            drops
        });
    }

    /// One try.
    async fn connect(
        &self,
        channel: &str,
        wakeups: &Wakeups,
        health: &Arc<Health>,
    ) -> Result<Connected, Failure> {
        let connecting = async {
            let mut config = AsyncConnectionConfig::new()
                .set_connection_timeout(None)
                .set_response_timeout(None);
            if self.endpoint.pushes {
                config =
                    config.set_push_sender(hearing::pushes(wakeups.clone(), Arc::clone(health)));
            }
            let connection = self.endpoint.connect(config).await?;
            let [by_hash, whole] = rights::requests(channel);
            // all at once: a new connection costs one round trip more than its greeting
            let looks = future::join(send(&connection, &by_hash), send(&connection, &whole));
            let (found, (refused, hearing)) = if self.endpoint.pushes {
                let mut listener = connection.clone();
                let (looks, subscribed) = future::join(looks, listener.subscribe(channel)).await;
                let hearing = future::pending().boxed();
                (looks, (hearing::refused(channel, subscribed)?, hearing))
            } else {
                let second = hearing::second(&self.endpoint, channel, wakeups, health);
                let (looks, second) = future::join(looks, second).await;
                (looks, second?)
            };
            let received = clock::now();
            let found = rights::found(channel, found.0, found.1)?;
            if let Some(missing) = found.missing {
                return Err(Failure::Rights(missing));
            }
            let subscribed = refused.is_none();
            let findings = look::findings(found.replica, found.unpublished, refused);
            let link = Link::new(connection, Arc::clone(health), subscribed, findings);
            link.server_said(found.now.unwrap_or(0), received);
            Ok(Connected { link, hearing })
        };
        match clock::within(CONNECT_TIMEOUT, connecting).await {
            Some(result) => result,
            None => Err(self.endpoint.silent()),
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
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}
