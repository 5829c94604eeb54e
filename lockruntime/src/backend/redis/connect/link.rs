//! One live connection, and what is known of the server at its other end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisError, Value};
use tokio::sync::Notify;

use crate::clock::{self, Moment, millis_up};
use crate::health::Finding;

/// So many time-outs in a row make a connection suspect: it is replaced, since the client library never does.
const SUSPECT: u32 = 2;
/// And only one that has been silent for so long: on a busy machine short requests time out while answers still come.
const SILENCE: Duration = Duration::from_millis(200);

/// What a connection's owner waits for.
#[derive(Debug, Default)]
pub(super) struct Health {
    closed: AtomicBool,
    timeouts: AtomicU32,
    /// When the latest answer came, by the boot-time clock.
    heard: AtomicU64,
    ill: Notify,
}

impl Health {
    pub(super) fn closed(&self) {
        self.closed.store(true, Ordering::Release);
        self.ill.notify_one();
    }

    fn heard(&self) {
        self.timeouts.store(0, Ordering::Relaxed);
        self.heard.store(clock::now().as_nanos(), Ordering::Relaxed);
    }

    /// A request was not answered in time.
    fn timed_out(&self) {
        let timeouts = self.timeouts.fetch_add(1, Ordering::Relaxed) + 1;
        let heard = Moment::from_nanos(self.heard.load(Ordering::Relaxed));
        if timeouts >= SUSPECT && clock::now().since(heard) >= SILENCE {
            self.ill.notify_one();
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
    connection: MultiplexedConnection,
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
        connection: MultiplexedConnection,
        health: Arc<Health>,
        subscribed: bool,
        findings: Vec<Finding>,
    ) -> Self {
        let link = Self {
            connection,
            health,
            offset: AtomicI64::new(0),
            subscribed,
            findings,
        };
        link.health.heard();
        link
    }

    pub(in crate::backend::redis) async fn send(&self, command: &Cmd) -> Result<Value, RedisError> {
        let answer = self
            .connection
            .clone()
            .send_packed_command(command)
            .await
            .and_then(Value::extract_error);
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
