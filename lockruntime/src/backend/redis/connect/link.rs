//! One live connection, and what is known of the server at its other end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, Value};
use tokio::sync::Notify;

use crate::clock::{self, Moment, millis_up};
use crate::health::Finding;

/// So many time-outs in a row make a connection suspect: it is replaced, since the client library never does.
const SUSPECT: u32 = 2;
/// And only one that has been silent for so long: on a busy machine short requests time out while answers still come.
const SILENCE: Duration = Duration::from_millis(200);

/// What one connection has not answered.
#[derive(Debug, Default)]
struct Silence {
    timeouts: AtomicU32,
    /// When the latest answer came, by the boot-time clock.
    heard: AtomicU64,
}

impl Silence {
    fn heard(&self) {
        self.timeouts.store(0, Ordering::Relaxed);
        self.heard.store(clock::now().as_nanos(), Ordering::Relaxed);
    }

    /// A request was not answered in time; whether that is suspect, where all others have been silent for so long as well.
    fn timed_out(&self, long: Duration) -> bool {
        let timeouts = self.timeouts.fetch_add(1, Ordering::Relaxed) + 1;
        let heard = Moment::from_nanos(self.heard.load(Ordering::Relaxed));
        timeouts >= SUSPECT && clock::now().since(heard) >= long
    }
}

/// What a connection's owner waits for.
#[derive(Debug, Default)]
pub(super) struct Health {
    closed: AtomicBool,
    silence: Silence,
    ill: Notify,
}

impl Health {
    pub(super) fn closed(&self) {
        self.closed.store(true, Ordering::Release);
        self.ill.notify_one();
    }

    fn heard(&self) {
        self.silence.heard();
    }

    /// A request was not answered in time.
    fn timed_out(&self) {
        if self.silence.timed_out(SILENCE) {
            self.suspect();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Something beside the connection says that it should be replaced.
    pub(super) fn suspect(&self) {
        self.ill.notify_one();
    }

    /// Ready when the connection is closed or suspect.
    pub(super) async fn ill(&self) {
        self.ill.notified().await;
    }
}

/// A connection with its subscription. Requests of all tickets share it, in order.
#[derive(Debug)]
pub(in crate::backend::redis) struct Link {
    address: Arc<str>,
    connection: MultiplexedConnection,
    /// A second one, to wait on for the replicas: what waits there holds up nobody else.
    waiting: Option<MultiplexedConnection>,
    /// Of the second one.
    waits: Silence,
    health: Arc<Health>,
    /// The server's clock minus ours, in milliseconds.
    offset: AtomicI64,
    /// Whether wake-ups arrive here. Without the right to subscribe the queue polls.
    pub(in crate::backend::redis) subscribed: bool,
    /// What was found when it was made.
    pub(super) findings: Vec<Finding>,
}

impl Link {
    pub(super) fn new(
        address: Arc<str>,
        connection: MultiplexedConnection,
        waiting: Option<MultiplexedConnection>,
        health: Arc<Health>,
        subscribed: bool,
        findings: Vec<Finding>,
    ) -> Self {
        let link = Self {
            address,
            connection,
            waiting,
            waits: Silence::default(),
            health,
            offset: AtomicI64::new(0),
            subscribed,
            findings,
        };
        link.health.heard();
        link
    }

    /// `host:port` of the server.
    pub(in crate::backend::redis) fn address(&self) -> &str {
        &self.address
    }

    pub(in crate::backend::redis) async fn send(&self, command: &Cmd) -> Result<Value, RedisError> {
        let answer = self.connection.clone().send_packed_command(command).await;
        self.looked_at(answer.and_then(Value::extract_error))
    }

    /// Sends a command for a key that is on its way to this server.
    #[cfg(feature = "cluster")]
    pub(in crate::backend::redis) async fn send_asking(
        &self,
        command: &Cmd,
    ) -> Result<Value, RedisError> {
        let mut both = Pipeline::new();
        both.cmd("ASKING").add_command(command.clone());
        // what the first one answers concerns nobody
        self.looked_at(in_a_row(&self.connection, &both, 2).await)
    }

    /// Waits until so many replicas have what the last of `commands` writes, and everything that was written before; `None` when the
    /// server isn't a master, or there is no connection for it. The commands' answers, and how many have it.
    pub(in crate::backend::redis) async fn replicated(
        &self,
        commands: &[Cmd],
        replicas: usize,
        limit: Duration,
    ) -> Option<(Vec<Value>, u64)> {
        let mut all = Pipeline::new();
        for command in commands {
            all.add_command(command.clone());
        }
        // 0 would be for ever
        all.cmd("WAIT").arg(replicas).arg(millis_up(limit).max(1));
        let mut connection = self.waiting.clone()?;
        let sent = connection.send_packed_commands(&all, 0, commands.len() + 1);
        let answer = clock::within(limit * 2, sent).await;
        let answers = match answer {
            Some(Ok(answers)) => answers,
            // neither is there any longer, perhaps
            Some(Err(_)) => {
                self.health.suspect();
                return None;
            }
            // others may wait before it, which says nothing against the connection
            None => {
                if self.waits.timed_out(SILENCE.max(limit * 2)) {
                    self.health.suspect();
                }
                return None;
            }
        };
        self.waits.heard();
        match answers.split_last() {
            Some((Value::Int(have), said)) => Some((said.to_vec(), u64::try_from(*have).ok()?)),
            _ => None,
        }
    }

    /// The server isn't the one to ask any more.
    #[cfg(feature = "sentinel")]
    pub(in crate::backend::redis) fn leave(&self) {
        self.health.closed();
    }

    fn looked_at(&self, answer: Result<Value, RedisError>) -> Result<Value, RedisError> {
        match &answer {
            Err(error) if error.is_connection_dropped() || error.is_io_error() => {
                self.health.closed()
            }
            _ => self.health.heard(),
        }
        answer
    }

    /// Waits for a call at most `limit`; `None` when it took longer.
    pub(in crate::backend::redis) async fn within<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = T>,
    ) -> Option<T> {
        let answer = clock::within(limit, call).await;
        if answer.is_none() {
            self.health.timed_out();
        }
        answer
    }

    /// The server's clock now, in milliseconds, as far as its latest answer tells. Never ahead of it but by a step of a clock.
    pub(in crate::backend::redis) fn server_now(&self) -> u64 {
        let ours = i64::try_from(clock::now().as_nanos() / 1_000_000).unwrap_or(i64::MAX);
        u64::try_from(ours.saturating_add(self.offset.load(Ordering::Relaxed))).unwrap_or(0)
    }

    /// An answer that was received at `received` says that the server's clock was `server`.
    pub(in crate::backend::redis) fn server_said(&self, server: u64, received: Moment) {
        let server = i64::try_from(server).unwrap_or(i64::MAX);
        let ours = i64::try_from(millis_up(received.since(Moment::ZERO))).unwrap_or(i64::MAX);
        self.offset
            .store(server.saturating_sub(ours), Ordering::Relaxed);
    }
}

/// The last answer to commands that follow each other whatever others send.
#[cfg(feature = "cluster")]
async fn in_a_row(
    connection: &MultiplexedConnection,
    commands: &Pipeline,
    count: usize,
) -> Result<Value, RedisError> {
    let answers = connection
        .clone()
        .send_packed_commands(commands, count - 1, 1)
        .await?;
    let last = answers.into_iter().next_back().unwrap_or(Value::Nil);
    last.extract_error()
}
