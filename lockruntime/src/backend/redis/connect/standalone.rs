//! The line to one server: connects, replaces a closed or suspect connection, backs off.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{AsyncConnectionConfig, Client, ConnectionInfo, PushInfo, PushKind, RedisError, Value};
use tokio::sync::{Notify, watch};

use super::link::{Health, Link};
use crate::backend::redis::reply;
use crate::backend::{BackendError, BackendErrorKind, Wakeups};
use crate::clock;
use crate::telemetry::{self, Event};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// The way to one server.
pub(in crate::backend::redis) struct Line {
    client: Client,
    pub(in crate::backend::redis) address: String,
    state: watch::Sender<State>,
    /// A call found no connection: try again now.
    wanted: Notify,
}

#[derive(Clone)]
enum State {
    /// Not connected; the failure of the latest of so many tries.
    Down {
        tries: u64,
        failure: Option<RedisError>,
    },
    Up(Arc<Link>),
}

impl Line {
    pub(in crate::backend::redis) fn new(server: ConnectionInfo) -> Result<Self, RedisError> {
        let address = server.addr().to_string();
        let settings = server
            .redis_settings()
            .clone()
            .set_protocol(redis::ProtocolVersion::RESP3)
            .set_skip_set_lib_name();
        let tcp = server.tcp_settings().clone().set_nodelay(true);
        let client = Client::open(server.set_redis_settings(settings).set_tcp_settings(tcp))?;
        let state = watch::Sender::new(State::Down {
            tries: 0,
            failure: None,
        });
        Ok(Self {
            client,
            address,
            state,
            wanted: Notify::new(),
        })
    }

    /// The present connection. Where there is none, waits for the outcome of one try, at most `limit`.
    pub(in crate::backend::redis) async fn link(
        &self,
        limit: Duration,
    ) -> Result<Arc<Link>, BackendError> {
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
        let found = match outcome.await {
            Some(Ok(state)) => Some((*state).clone()),
            Some(Err(_)) | None => None,
        };
        match found {
            Some(State::Up(link)) => Ok(link),
            Some(State::Down {
                failure: Some(failure),
                ..
            }) => Err(reply::failed(&self.address, failure)),
            Some(State::Down { failure: None, .. }) | None => Err(BackendError::new(
                BackendErrorKind::Unreachable,
                format!(
                    "Redis at {} doesn't answer to a new connection; check the address and the network between",
                    self.address
                ),
            )),
        }
    }

    /// Keeps the line up, for ever.
    pub(in crate::backend::redis) async fn run(&self, channel: &str, wakeups: &Wakeups) {
        let mut pause = FIRST_PAUSE;
        let mut connected_before = false;
        let mut up = true;
        let mut present = Arc::new(Health::default());
        loop {
            let health = Arc::new(Health::default());
            match self.connect(channel, wakeups, &health).await {
                Ok(link) => {
                    self.state.send_replace(State::Up(Arc::new(link)));
                    telemetry::emit(&Event::Backend {
                        address: &self.address,
                        up: true,
                    });
                    up = true;
                    pause = FIRST_PAUSE;
                    if connected_before {
                        wakeups.reconnected();
                    }
                    connected_before = true;
                    present = health;
                    // a suspect one may yet answer what it was asked: it goes when the next one stands
                    present.ill().await;
                    self.drop_closed(&present);
                }
                Err(failure) => {
                    if std::mem::replace(&mut up, false) {
                        telemetry::emit(&Event::Backend {
                            address: &self.address,
                            up: false,
                        });
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

    /// A closed connection is none.
    fn drop_closed(&self, present: &Health) {
        self.state.send_if_modified(|state| {
            let drops = present.is_closed() && matches!(state, State::Up(_));
            if drops {
                *state = State::Down {
                    tries: 0,
                    failure: None,
                };
            }
            drops
        });
    }

    /// One try. `Err(None)`: no answer in time.
    async fn connect(
        &self,
        channel: &str,
        wakeups: &Wakeups,
        health: &Arc<Health>,
    ) -> Result<Link, Option<RedisError>> {
        let connecting = async {
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(None)
                .set_response_timeout(None)
                .set_push_sender(listener(wakeups.clone(), Arc::clone(health)));
            let mut connection = self
                .client
                .get_multiplexed_async_connection_with_config(&config)
                .await?;
            let (seconds, micros): (u64, u64) =
                redis::cmd("TIME").query_async(&mut connection).await?;
            let received = clock::now();
            let subscribed = match connection.subscribe(channel).await {
                Ok(()) => true,
                Err(error) if reply::is_permission(&error) => false,
                Err(error) => return Err(error),
            };
            Ok(Link::new(
                connection,
                Arc::clone(health),
                subscribed,
                seconds * 1_000 + micros / 1_000,
                received,
            ))
        };
        match clock::within(CONNECT_TIMEOUT, connecting).await {
            Some(result) => result.map_err(Some),
            None => Err(None),
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Takes what the server sends by itself.
fn listener(
    wakeups: Wakeups,
    health: Arc<Health>,
) -> impl Fn(PushInfo) -> Result<(), redis::aio::SendError> + Send + Sync + 'static {
    move |push| {
        match (push.kind, push.data.as_slice()) {
            (PushKind::Disconnection, _) => health.closed(),
            (PushKind::Message, [_, Value::BulkString(message)]) => {
                // anything else on our channel is a hint for nobody
                if let Some(hand_over) = reply::hand_over(message) {
                    wakeups.handed_over(hand_over);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
