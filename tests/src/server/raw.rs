//! Direct commands: what the server says, without the lock's code in between.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::{Connection, FromRedisValue, RedisResult};

use crate::timing;

/// A blocking connection for direct commands; works in whatever runtime a test has.
pub struct Raw(Mutex<Connection>);

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Raw")
    }
}

impl Raw {
    /// Connects to `redis://…`.
    #[must_use]
    pub fn connect(url: &str) -> Self {
        let connection = redis::Client::open(url)
            .and_then(|client| client.get_connection_with_timeout(timing::patience()))
            .unwrap_or_else(|error| panic!("{url}: {error}"));
        Self(Mutex::new(connection))
    }

    /// Connects to `127.0.0.1:port`, without a password; `None` when nobody answers soon.
    #[must_use]
    pub fn try_connect(address: &str) -> Option<Self> {
        let client = redis::Client::open(format!("redis://{address}")).ok()?;
        let connection = client.get_connection_with_timeout(timing::moment()).ok()?;
        connection.set_read_timeout(Some(timing::moment())).ok()?;
        Some(Self(Mutex::new(connection)))
    }

    /// Executes a command.
    pub fn attempt<T: FromRedisValue>(&self, command: &[&str]) -> RedisResult<T> {
        let (name, arguments) = command.split_first().expect("a command has a name");
        let mut connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        redis::cmd(name).arg(arguments).query(&mut connection)
    }

    /// Executes a command that must succeed.
    pub fn run<T: FromRedisValue>(&self, command: &[&str]) -> T {
        self.attempt(command)
            .unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// All keys that match `pattern`.
    #[must_use]
    pub fn keys(&self, pattern: &str) -> Vec<String> {
        let mut cursor = "0".to_owned();
        let mut keys = Vec::new();
        loop {
            let (next, page): (String, Vec<String>) =
                self.run(&["SCAN", &cursor, "MATCH", pattern, "COUNT", "1000"]);
            keys.extend(page);
            if next == "0" {
                keys.sort();
                keys.dedup();
                return keys;
            }
            cursor = next;
        }
    }

    /// What is left of a key; `None` when it doesn't exist.
    ///
    /// # Panics
    /// When it would stay for ever: no key of ours may.
    #[must_use]
    pub fn left(&self, key: &str) -> Option<Duration> {
        match self.run::<i64>(&["PTTL", key]) {
            -2 => None,
            -1 => panic!("{key} has no expiry"),
            left => Some(Duration::from_millis(left.unsigned_abs())),
        }
    }

    /// Whether a key exists.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.run(&["EXISTS", key])
    }

    /// The server's clock, since 1970.
    #[must_use]
    pub fn time(&self) -> Duration {
        let (seconds, micros): (u64, u64) = self.run(&["TIME"]);
        Duration::from_secs(seconds) + Duration::from_micros(micros)
    }

    /// How often the server executed a command (lower case), scripts' own calls included.
    #[must_use]
    pub fn calls(&self, command: &str) -> u64 {
        let text: String = self.run(&["INFO", "commandstats"]);
        let prefix = format!("cmdstat_{command}:calls=");
        text.lines()
            .find_map(|line| line.strip_prefix(&prefix))
            .and_then(|rest| rest.split(',').next())
            .map_or(0, |count| count.parse().expect("a count"))
    }
}
