//! The witness: a second server that no test disturbs. Bodies write down there that they entered and left, in the one order in
//! which that server executes it, and change balances there in a way that loses updates unless they are alone.

use std::time::Duration;

use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;

use crate::RedisServer;
use crate::history::{Event, What};
use crate::server::Raw;

const EVENTS: &str = "events";

/// Appends the event with the witness's own time.
const NOTE: &str = "local now = redis.call('TIME')
redis.call('RPUSH', KEYS[1], table.concat({now[1], now[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]}, ' '))";

/// What a store has to do to be safe from late writers: refuse a token that is smaller than one it has seen.
const FENCED_WRITE: &str = "local last = tonumber(redis.call('HGET', KEYS[1], 'token') or '0')
if tonumber(ARGV[1]) < last then return 0 end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'value', ARGV[2])
return 1";

/// A guarded store's log, oldest first: `<key> <token> <call> <r or w> <1 or 0: accepted> <value>`.
const STORE: &str = "store";

/// Reads the value for a holder who means to write it, and refuses whoever came before the newest one. The token has to count
/// from here on: a stale holder's write between this read and this holder's write would get lost otherwise.
const OPEN: &str = "local last = tonumber(redis.call('HGET', KEYS[1], 'token') or '0')
local value = redis.call('HGET', KEYS[1], 'value') or '0'
local stale = tonumber(ARGV[1]) < last
if not stale then redis.call('HSET', KEYS[1], 'token', ARGV[1]) end
redis.call('RPUSH', KEYS[2], table.concat({ARGV[2], ARGV[1], ARGV[3], 'r', stale and 0 or 1, value}, ' '))
if stale then return false end
return value";

/// Writes, unless a later holder has opened the value.
const PUT: &str = "local last = tonumber(redis.call('HGET', KEYS[1], 'token') or '0')
local stale = tonumber(ARGV[1]) < last
if not stale then redis.call('HSET', KEYS[1], 'value', ARGV[4]) end
redis.call('RPUSH', KEYS[2], table.concat({ARGV[2], ARGV[1], ARGV[3], 'w', stale and 0 or 1, ARGV[4]}, ' '))
return stale and 0 or 1";

/// The register of one test.
#[derive(Debug)]
pub struct Register {
    server: RedisServer,
    raw: Raw,
}

impl Register {
    /// An empty one.
    #[must_use]
    pub fn start() -> Self {
        let server = RedisServer::start();
        let raw = server.raw();
        Self { server, raw }
    }

    /// Where witnesses connect to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.server.address())
    }

    /// A connection for bodies of this process; belongs to the runtime that calls.
    pub async fn witness(&self) -> Witness {
        Witness::connect(&self.url()).await
    }

    /// Everything that was written down so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let lines: Vec<String> = self.raw.run(&["LRANGE", EVENTS, "0", "-1"]);
        lines
            .iter()
            .map(|line| parse(line).unwrap_or_else(|| panic!("not a line of ours: {line}")))
            .collect()
    }

    /// The log of the guarded store, in the order in which it did things; see [`Witness::open`].
    #[must_use]
    pub fn store_log(&self) -> Vec<String> {
        self.raw.run(&["LRANGE", STORE, "0", "-1"])
    }

    /// A balance.
    #[must_use]
    pub fn balance(&self, key: &str) -> u64 {
        self.raw
            .run::<Option<u64>>(&["GET", &balance(key)])
            .unwrap_or(0)
    }
}

/// What a body has in hand.
#[derive(Clone, Debug)]
pub struct Witness(MultiplexedConnection);

impl Witness {
    /// Connects to a register's URL.
    pub async fn connect(url: &str) -> Self {
        let client = redis::Client::open(url).expect("the register's URL is valid");
        // the witness waits as long as it takes: a test that fails here would say nothing about the lock
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        Self(
            client
                .get_multiplexed_async_connection_with_config(&config)
                .await
                .expect("the register listens"),
        )
    }

    /// Writes down what a body does; returns once the register has it.
    pub async fn note(&self, what: What, key: &str, body: &str, token: u64) {
        let mut command = redis::cmd("EVAL");
        command
            .arg(NOTE)
            .arg(1)
            .arg(EVENTS)
            .arg(what.word())
            .arg(key)
            .arg(body)
            .arg(token);
        self.run::<()>(&command).await;
    }

    /// Reads a balance.
    pub async fn balance(&self, key: &str) -> u64 {
        self.run::<Option<u64>>(redis::cmd("GET").arg(balance(key)))
            .await
            .unwrap_or(0)
    }

    /// Overwrites a balance.
    pub async fn set_balance(&self, key: &str, value: u64) {
        self.run(redis::cmd("SET").arg(balance(key)).arg(value))
            .await
    }

    /// Writes unless a later holder has written; whether it did.
    pub async fn fenced_write(&self, key: &str, token: u64, value: &str) -> bool {
        let mut command = redis::cmd("EVAL");
        command
            .arg(FENCED_WRITE)
            .arg(1)
            .arg(format!("fenced:{key}"))
            .arg(token)
            .arg(value);
        self.run(&command).await
    }

    /// Reads a guarded value for `call`, which means to write it; `None` when a later holder has opened it.
    pub async fn open(&self, key: &str, token: u64, call: &str) -> Option<u64> {
        let mut command = redis::cmd("EVAL");
        command.arg(OPEN).arg(2).arg(guarded(key)).arg(STORE);
        self.run(command.arg(token).arg(key).arg(call)).await
    }

    /// Writes a guarded value; whether the store took it.
    pub async fn put(&self, key: &str, token: u64, call: &str, value: u64) -> bool {
        let mut command = redis::cmd("EVAL");
        command.arg(PUT).arg(2).arg(guarded(key)).arg(STORE);
        self.run(command.arg(token).arg(key).arg(call).arg(value))
            .await
    }

    async fn run<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> T {
        command
            .query_async(&mut self.0.clone())
            .await
            .expect("the register is never disturbed")
    }
}

fn guarded(key: &str) -> String {
    format!("guarded:{key}")
}

fn balance(key: &str) -> String {
    format!("balance:{key}")
}

fn parse(line: &str) -> Option<Event> {
    let mut words = line.split(' ');
    let at = Duration::from_secs(words.next()?.parse().ok()?)
        + Duration::from_micros(words.next()?.parse().ok()?);
    let what = What::parse(words.next()?)?;
    let (key, body) = (words.next()?.to_owned(), words.next()?.to_owned());
    let token = words.next()?.parse().ok()?;
    words.next().is_none().then_some(Event {
        what,
        key,
        body,
        token,
        at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    #[tokio::test]
    async fn events_come_back_in_order_and_with_their_time() {
        let register = Register::start();
        let witness = register.witness().await;
        witness
            .note(What::Entered, "k", "a", 1_800_000_000_000_007)
            .await;
        witness
            .note(What::Left, "k", "a", 1_800_000_000_000_007)
            .await;
        let events = register.events();
        assert_eq!(
            events.iter().map(|event| event.what).collect::<Vec<_>>(),
            [What::Entered, What::Left]
        );
        assert_eq!(events[0].token, 1_800_000_000_000_007);
        let now = register.raw.time();
        assert!(
            events[0].at <= events[1].at
                && events[1].at <= now
                && now < events[0].at + crate::timing::patience()
        );
        check::assert_exclusive(&events);
    }

    #[tokio::test]
    async fn a_store_refuses_a_stale_token() {
        let register = Register::start();
        let witness = register.witness().await;
        assert!(witness.fenced_write("k", 7, "a").await);
        assert!(witness.fenced_write("k", 7, "b").await);
        assert!(witness.fenced_write("k", 1_800_000_000_000_008, "c").await);
        assert!(!witness.fenced_write("k", 1_800_000_000_000_007, "d").await);
        assert_eq!(witness.open("k", 7, "a").await, Some(0));
        assert!(witness.put("k", 7, "a", 1).await);
        assert_eq!(witness.open("k", 9, "b").await, Some(1));
        assert!(!witness.put("k", 7, "a", 2).await);
        assert_eq!(witness.open("k", 7, "a").await, None);
        assert_eq!(
            register.store_log(),
            [
                "k 7 a r 1 0",
                "k 7 a w 1 1",
                "k 9 b r 1 1",
                "k 7 a w 0 2",
                "k 7 a r 0 1"
            ]
        );
        witness.set_balance("k", 3).await;
        assert_eq!(
            (
                witness.balance("k").await,
                register.balance("k"),
                register.balance("other")
            ),
            (3, 3, 0)
        );
    }
}
