//! Asks the servers of a cluster for its map.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisError};

use super::slots::Slots;
use super::{apart, lock};
use crate::backend::redis::connect::endpoint::Manner;
use crate::backend::redis::connect::failure::Failure;
use crate::clock;

/// How long servers may take to answer, and the others once most have: one that takes its time to connect has a vote.
const LOOK: Duration = Duration::from_millis(500);
const OTHERS: Duration = Duration::from_millis(30);

/// A connection to each server, for this one question.
pub(super) struct Scouts {
    seeds: Vec<Arc<str>>,
    connections: Mutex<HashMap<Arc<str>, MultiplexedConnection>>,
}

impl Scouts {
    pub(super) fn new(seeds: Vec<Arc<str>>) -> Self {
        Self {
            seeds,
            connections: Mutex::default(),
        }
    }

    /// The map that most servers have; seeds are asked as well.
    pub(super) async fn look(
        &self,
        known: &BTreeSet<Arc<str>>,
        manner: &Manner,
    ) -> Result<Slots, Failure> {
        let mut servers = known.clone();
        servers.extend(self.seeds.iter().cloned());
        lock(&self.connections).retain(|address, _| servers.contains(address));
        let mut asked: FuturesUnordered<_> = servers
            .iter()
            .map(|address| self.ask(address, manner))
            .collect();
        let mut until = clock::now() + LOOK;
        let mut maps = Vec::new();
        let mut failure = Failure::Silent { tls: false };
        while let Some(Some(said)) = clock::within(until.since(clock::now()), asked.next()).await {
            match said {
                Ok(map) => {
                    maps.push(map);
                    if maps.len() == servers.len() / 2 + 1 {
                        until = until.min(clock::now() + OTHERS);
                    }
                }
                Err(error) => failure = error,
            }
        }
        Slots::of_most(maps).ok_or(failure)
    }

    async fn ask(&self, address: &Arc<str>, manner: &Manner) -> Result<Slots, Failure> {
        let known = lock(&self.connections).remove(address);
        let mut connection = match known {
            Some(connection) => connection,
            None => connect(address, manner).await?,
        };
        let answer = connection
            .send_packed_command(redis::cmd("CLUSTER").arg("SLOTS"))
            .await?
            .extract_error()?;
        // one that didn't answer is dropped
        lock(&self.connections).insert(Arc::clone(address), connection);
        Slots::read(&answer, address).ok_or_else(|| {
            Failure::Redis(RedisError::from((
                redis::ErrorKind::UnexpectedReturnType,
                "the server knows no slots; is it part of a cluster?",
            )))
        })
    }
}

async fn connect(address: &str, manner: &Manner) -> Result<MultiplexedConnection, Failure> {
    let Some((host, port)) = apart(address) else {
        return Err(Failure::Silent { tls: false });
    };
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    manner.endpoint(host, port)?.connect(config).await
}
