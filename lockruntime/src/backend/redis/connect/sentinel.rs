//! The master that sentinels name: where it is now, and when it is another one.
//!
//! All sentinels are asked at once, since one that is frozen would cost its whole time-out. They also announce a failover: the
//! one that leads it says which replica it chose before that one is promoted, so the new master is found as soon as it is one.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{self, BoxFuture, Either};
use futures_util::stream::{FuturesUnordered, StreamExt};
use redis::{AsyncConnectionConfig, Msg, Pipeline, RedisError, Value};
use tokio::sync::watch;

use super::endpoint::{Endpoint, Manner};
use super::failure::Failure;
use super::hearing;
use super::line::CONNECT_TIMEOUT;
use crate::backend::redis::reply;
use crate::clock::{self, Moment};

/// How long sentinels may take to answer, and the others once one has.
const LOOK: Duration = Duration::from_millis(500);
const OTHERS: Duration = Duration::from_millis(50);
/// How often what they announce is checked against what they say, and whether they live.
const CHECK: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(500);
/// How long a replica that was chosen is waited for: from then on what is written to its master is lost.
const PROMOTION: Duration = Duration::from_secs(2);

/// The sentinels of one master.
pub(in crate::backend::redis) struct Sentinels {
    master: String,
    /// Master and sentinels, for people.
    name: String,
    sentinels: Vec<Endpoint>,
    manner: Manner,
    told: watch::Sender<Told>,
}

/// What was announced.
#[derive(Clone, Debug, Default)]
struct Told {
    /// The replica that is to be the master, and since when.
    chosen: Option<(Address, Moment)>,
    /// The master since the latest failover that was heard of.
    master: Option<Address>,
    /// What is older than this is known to be over.
    epoch: u64,
}

type Address = (String, u16);

impl Told {
    /// The replica that is the master in a moment.
    fn next(&self) -> Option<&Address> {
        let fresh = |since: Moment| clock::now().since(since) < PROMOTION;
        let (address, since) = self.chosen.as_ref()?;
        fresh(*since).then_some(address)
    }

    /// Whether the server at this address is the master no longer.
    fn is_over(&self, address: &str) -> bool {
        let now = self.next().or(self.master.as_ref());
        now.is_some_and(|(host, port)| format!("{host}:{port}") != address)
    }
}

/// What one sentinel says.
#[derive(Clone, Debug)]
struct Named {
    address: Address,
    /// Grows with each failover.
    epoch: u64,
}

impl Sentinels {
    /// `manner`: how to connect to the servers.
    pub(in crate::backend::redis) fn new(
        master: &str,
        sentinels: Vec<Endpoint>,
        manner: Manner,
    ) -> Self {
        let addresses: Vec<_> = sentinels.iter().map(|one| &*one.address).collect();
        Self {
            master: master.to_owned(),
            name: format!("{master}@{}", addresses.join(",")),
            sentinels,
            manner,
            told: watch::Sender::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The first connection to a server that is the master. When another one is announced meanwhile, begins anew.
    pub(super) async fn first<'a, T>(
        &self,
        connect: impl Fn(Endpoint) -> BoxFuture<'a, Result<T, Failure>> + Send + Sync,
    ) -> Result<T, Failure> {
        let mut told = self.told.subscribe();
        loop {
            let known = told.borrow_and_update().clone();
            let trying = pin!(self.attempt(&known, &connect));
            match future::select(trying, pin!(told.changed())).await {
                Either::Left((result, _)) => return result,
                Either::Right(_) => {}
            }
        }
    }

    async fn attempt<'a, T>(
        &self,
        known: &Told,
        connect: &(impl Fn(Endpoint) -> BoxFuture<'a, Result<T, Failure>> + Sync),
    ) -> Result<T, Failure> {
        let addresses = match known.next() {
            // its master takes writes until it is told, and they are lost
            Some(next) => vec![next.clone()],
            None => self.candidates(known).await?,
        };
        let mut failure = Failure::Replica;
        let mut tries = FuturesUnordered::new();
        for (rank, (host, port)) in addresses.iter().enumerate() {
            let endpoint = self.manner.endpoint(host, *port)?;
            let connecting = connect(endpoint);
            tries.push(async move { (rank, connecting.await) });
        }
        let mut best: Option<(usize, T)> = None;
        loop {
            let next = match &best {
                Some((0, _)) => None,
                // one that was named before it may be there in a moment
                Some(_) => clock::within(OTHERS, tries.next()).await.flatten(),
                None => tries.next().await,
            };
            match next {
                Some((rank, Ok(connected))) => {
                    if best.as_ref().is_none_or(|(held, _)| rank < *held) {
                        best = Some((rank, connected));
                    }
                }
                Some((_, Err(error))) => failure = worse(failure, error),
                None => break,
            }
        }
        best.map(|(_, connected)| connected).ok_or(failure)
    }

    /// Who may be the master, the likeliest first.
    async fn candidates(&self, known: &Told) -> Result<Vec<Address>, Failure> {
        let mut addresses: Vec<_> = known.master.iter().cloned().collect();
        match self.ask_all().await {
            Ok(mut named) => {
                named.sort_by_key(|named| std::cmp::Reverse(named.epoch));
                for Named { address, .. } in named {
                    if !addresses.contains(&address) {
                        addresses.push(address);
                    }
                }
            }
            Err(_) if !addresses.is_empty() => {}
            Err(none) => return Err(none),
        }
        Ok(addresses)
    }

    /// What the sentinels say, all asked at the same time.
    async fn ask_all(&self) -> Result<Vec<Named>, Failure> {
        let mut asked: FuturesUnordered<_> =
            self.sentinels.iter().map(|one| self.ask(one)).collect();
        let mut until = clock::now() + LOOK;
        let mut named = Vec::new();
        let (mut answered, mut failure) = (false, None);
        while let Some(Some(said)) = clock::within(until.since(clock::now()), asked.next()).await {
            match said {
                Ok(said) => {
                    if !std::mem::replace(&mut answered, true) {
                        until = until.min(clock::now() + OTHERS);
                    }
                    named.extend(said);
                }
                Err(error) => failure = Some(error),
            }
        }
        if named.is_empty() {
            return Err(match failure {
                _ if answered => Failure::UnknownMaster,
                Some(Failure::Redis(error)) => Failure::NoSentinel(Some(error)),
                Some(failure) => failure,
                None => Failure::NoSentinel(None),
            });
        }
        Ok(named)
    }

    async fn ask(&self, sentinel: &Endpoint) -> Result<Option<Named>, Failure> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        let mut connection = sentinel.connect(config).await?;
        let mut both = Pipeline::new();
        // the one that leads a failover names the new master by this, before the failover is over
        both.cmd("SENTINEL")
            .arg("GET-MASTER-ADDR-BY-NAME")
            .arg(&self.master);
        both.cmd("SENTINEL").arg("MASTER").arg(&self.master);
        both.ignore_errors();
        let answers = connection.send_packed_commands(&both, 0, 2).await?;
        let [place, fields] = answers.as_slice() else {
            return Ok(None);
        };
        if let Value::ServerError(error) = place {
            return Err(RedisError::from(error.clone()).into());
        }
        let place = reply::sequence(place).and_then(|place| match place {
            [host, port] => address(reply::text(host)?, reply::text(port)?),
            _ => None,
        });
        Ok(place.map(|address| Named {
            address,
            epoch: field(fields, "config-epoch").unwrap_or(0),
        }))
    }

    /// Ready when another server is the master.
    pub(super) async fn left(&self, address: &str) {
        let mut told = self.told.subscribe();
        let over = |told: &Told| told.is_over(address);
        if told.wait_for(over).await.is_err() {
            future::pending().await
        }
    }

    /// Listens to what is announced, for ever.
    pub(super) async fn watch(&self) {
        let listening = self.sentinels.iter().map(|one| self.listen(one));
        future::join(future::join_all(listening), self.verify()).await;
    }

    async fn listen(&self, sentinel: &Endpoint) {
        loop {
            let connecting = async {
                let mut connection = sentinel.listen().await?;
                connection
                    .subscribe(&["+switch-master", "+selected-slave"])
                    .await?;
                Ok::<_, Failure>(connection)
            };
            if let Some(Ok(connection)) = clock::within(CONNECT_TIMEOUT, connecting).await {
                hearing::hear(connection, Some(CHECK), |message| self.hear(message)).await;
            }
            clock::sleep(PAUSE).await;
        }
    }

    fn hear(&self, message: &Msg) {
        let text = String::from_utf8_lossy(message.get_payload_bytes()).into_owned();
        let words: Vec<_> = text.split(' ').collect();
        match (message.get_channel_name(), words.as_slice()) {
            ("+switch-master", [name, _, _, host, port]) if *name == self.master => {
                if let Some(address) = address(host, port) {
                    self.told.send_if_modified(|told| {
                        // every sentinel says it; what the others still believe is older
                        let new = told.master.as_ref() != Some(&address);
                        if new {
                            told.epoch += 1;
                            told.master = Some(address);
                        }
                        told.chosen = None;
                        new
                    });
                }
            }
            ("+selected-slave", ["slave", _, host, port, "@", name, ..])
                if *name == self.master =>
            {
                self.told
                    .send_modify(|told| told.chosen = address(host, port).zip(Some(clock::now())));
            }
            _ => {}
        }
    }

    /// An announcement may be missed.
    async fn verify(&self) {
        loop {
            clock::sleep(CHECK).await;
            let Ok(named) = self.ask_all().await else {
                continue;
            };
            let Some(newest) = named.into_iter().max_by_key(|named| named.epoch) else {
                continue;
            };
            self.told.send_if_modified(|told| {
                if newest.epoch <= told.epoch {
                    return false;
                }
                told.epoch = newest.epoch;
                let new = told.master.as_ref() != Some(&newest.address);
                told.master = Some(newest.address);
                new
            });
        }
    }
}

/// Of two failures the one that tells more.
fn worse(known: Failure, new: Failure) -> Failure {
    match (&known, &new) {
        (Failure::Rights(_), _) => known,
        (_, Failure::Rights(_)) => new,
        (Failure::Redis(error), _) if reply::is_permission(error) => known,
        (Failure::Replica, _) | (_, Failure::Redis(_)) => new,
        _ => known,
    }
}

fn address(host: &str, port: &str) -> Option<Address> {
    Some((host.to_owned(), port.parse().ok()?))
}

/// A number out of names and values.
fn field(fields: &Value, name: &str) -> Option<u64> {
    let fields = reply::sequence(fields)?;
    fields.chunks_exact(2).find_map(|pair| match pair {
        [key, value] if reply::text(key) == Some(name) => reply::number(value),
        _ => None,
    })
}

impl fmt::Debug for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sentinels").field(&self.name).finish()
    }
}
