//! One Redis as a node of a quorum: its verbs in terms of scripts.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;

use super::connect::Link;
use super::script::Script;
use super::{
    CORRECTIONS, Limits, RedisBackend, Shared, channel_of, clock_jumps, keys, record, reply,
};
use crate::backend::quorum::{Bid, Committed, Granting, Keep, Lined, Node, Place, Said};
use crate::backend::{
    BackendError, BackendErrorKind, BoxFuture, Listed, Listing, Renewed, Snapshot, Survey, Wakeups,
};
use crate::clock::{self, millis_up};
use crate::health::Health;
use crate::options::Sharing;
use crate::token::FencingToken;

/// One Redis of a quorum.
#[derive(Debug)]
pub(crate) struct RedisNode {
    shared: Arc<Shared>,
    scripts: Arc<NodeScripts>,
}

#[derive(Debug)]
struct NodeScripts {
    grant: Script,
    commit: Script,
    renew: Script,
    top_up: Script,
    free: Script,
    line_up: Script,
    leave: Script,
    establish: Script,
}

macro_rules! script {
    ($name:literal $(, $part:literal)*) => {
        Script::new(concat!(
            include_str!("scripts/prelude.lua"),
            $(include_str!(concat!("scripts/quorum/", $part)),)*
            include_str!(concat!("scripts/quorum/", $name))
        ))
    };
}

impl NodeScripts {
    fn new() -> Self {
        Self {
            grant: script!("grant.lua"),
            commit: script!("commit.lua"),
            renew: Script::new(include_str!("scripts/renew.lua")),
            top_up: script!("top_up.lua"),
            free: script!("free.lua", "sign.lua"),
            line_up: script!("line_up.lua"),
            leave: script!("leave.lua", "sign.lua"),
            establish: Script::new(include_str!("scripts/quorum/establish.lua")),
        }
    }
}

/// What a script says that looks at the clock first.
enum Timed<T> {
    Stale,
    Said(T),
}

/// Takes an answer apart: the server's clock first. `None`: not one that this version knows.
type Read<T> = fn(&Value) -> Option<(u64, Timed<T>)>;

impl RedisBackend {
    /// This server as a node of a quorum.
    pub(crate) fn into_node(self) -> Arc<dyn Node> {
        Arc::new(RedisNode {
            shared: self.shared,
            scripts: Arc::new(NodeScripts::new()),
        })
    }
}

impl RedisNode {
    /// Calls a script that must not be executed later than `valid` after it was sent.
    fn timed<T: Send + 'static>(
        &self,
        script: impl Fn(&NodeScripts) -> &Script + Send + 'static,
        keys: Vec<String>,
        valid: Duration,
        arguments: impl Fn(&Link, &str) -> Vec<String> + Send + Sync + 'static,
        read: Read<T>,
    ) -> Said<T> {
        let (shared, scripts) = (Arc::clone(&self.shared), Arc::clone(&self.scripts));
        Box::pin(async move {
            let limits = Limits {
                connect: valid,
                answer: valid,
            };
            for _ in 0..=CORRECTIONS {
                let arguments = |link: &Link| {
                    let last = link.server_now() + millis_up(valid);
                    arguments(link, &last.to_string())
                };
                let (link, value) = shared
                    .call(script(&scripts), &keys, limits, arguments)
                    .await
                    .map_err(|no| no.error)?;
                let (now, said) = read(&value).ok_or_else(|| reply::unknown(link.address()))?;
                link.server_said(now, clock::now());
                if let Timed::Said(said) = said {
                    return Ok(said);
                }
            }
            Err(clock_jumps(shared.ways.name()))
        })
    }

    /// Calls a script that may be executed whenever it arrives.
    fn call<T: Send + 'static>(
        &self,
        script: impl Fn(&NodeScripts) -> &Script + Send + 'static,
        keys: Vec<String>,
        timeout: Duration,
        arguments: Vec<String>,
        read: fn(&Value) -> Option<T>,
    ) -> Said<T> {
        let (shared, scripts) = (Arc::clone(&self.shared), Arc::clone(&self.scripts));
        Box::pin(async move {
            let limits = Limits {
                connect: timeout,
                answer: timeout,
            };
            let (link, value) = shared
                .call(script(&scripts), &keys, limits, |_| arguments.clone())
                .await
                .map_err(|no| no.error)?;
            read(&value).ok_or_else(|| reply::unknown(link.address()))
        })
    }
}

fn rest(bid: &Bid, lease: Duration) -> String {
    record::encode_rest(&bid.record, &bid.holder, lease, Sharing::Alone)
}

/// The key that says since when a node has data, one for all locks of an app and environment. No lock has it, since none has an
/// empty key; and whoever may use those locks may use it.
fn marker(record: &str) -> String {
    let mut words = record.split(':').skip(1);
    let (app, env) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    format!("lib_mutex_queue:{{lib_lock:{app}:{env}:}}:q")
}

impl Node for RedisNode {
    fn name(&self) -> &str {
        self.shared.ways.name()
    }

    fn run(&self, channel: &str, wakeups: Wakeups) -> BoxFuture<()> {
        let (shared, channel) = (Arc::clone(&self.shared), channel.to_owned());
        Box::pin(async move { shared.ways.run(&channel, &wakeups).await })
    }

    fn grant(&self, bid: &Arc<Bid>) -> Said<Granting> {
        let mut keys = keys::of(&bid.record).to_vec();
        keys.push(marker(&bid.record));
        let quarantine = millis_up(bid.quarantine).to_string();
        let bid = Arc::clone(bid);
        let valid = bid.valid;
        let lease = millis_up(bid.lease).to_string();
        let rest = rest(&bid, bid.lease);
        let arguments = move |_: &Link, last: &str| {
            vec![
                bid.id.to_string(),
                bid.member.clone(),
                lease.clone(),
                rest.clone(),
                last.to_owned(),
                quarantine.clone(),
            ]
        };
        self.timed(
            |scripts| &scripts.grant,
            keys,
            valid,
            arguments,
            |value| {
                let (now, word, rest) = timed(value)?;
                let left = |at| Some(Duration::from_millis(reply::number(rest.get(at)?)?));
                let said = match word {
                    "STALE" => return Some((now, Timed::Stale)),
                    "NEWBORN" => Granting::Newborn { left: left(0)? },
                    "HELD" => Granting::Held { left: left(0)? },
                    "QUEUED" => Granting::Queued { left: left(0)? },
                    "GRANTED" => Granting::Granted {
                        last: reply::number(rest.first()?)?,
                        micros: reply::number(rest.get(1)?)?,
                    },
                    _ => return None,
                };
                Some((now, Timed::Said(said)))
            },
        )
    }

    fn commit(&self, bid: &Arc<Bid>, keep: Keep) -> Said<Committed> {
        let arguments = vec![
            bid.id.to_string(),
            bid.member.clone(),
            bid.ticket.to_string(),
            record::digits(keep.token),
            millis_up(keep.lease).to_string(),
            rest(bid, keep.lease),
        ];
        let keys = keys::of(&bid.record).to_vec();
        self.call(
            |scripts| &scripts.commit,
            keys,
            keep.timeout,
            arguments,
            |value| {
                Some(if reply::number(value)? == 1 {
                    Committed::Done
                } else {
                    Committed::Refused
                })
            },
        )
    }

    fn renew(&self, bid: &Arc<Bid>, keep: Keep) -> Said<Renewed> {
        let arguments = vec![
            record::owned_by(bid.ticket, keep.token),
            millis_up(keep.lease).to_string(),
        ];
        let keys = vec![bid.record.to_string()];
        self.call(
            |scripts| &scripts.renew,
            keys,
            keep.timeout,
            arguments,
            reply::renewed,
        )
    }

    fn top_up(&self, bid: &Arc<Bid>, keep: Keep) -> Said<Committed> {
        let bid = Arc::clone(bid);
        let keys = keys::of(&bid.record).to_vec();
        let arguments = move |_: &Link, last: &str| {
            vec![
                bid.ticket.to_string(),
                record::digits(keep.token),
                millis_up(keep.lease).to_string(),
                rest(&bid, keep.lease),
                last.to_owned(),
            ]
        };
        self.timed(
            |scripts| &scripts.top_up,
            keys,
            keep.timeout,
            arguments,
            |value| {
                let (now, word, _) = timed(value)?;
                let said = match word {
                    "STALE" => return Some((now, Timed::Stale)),
                    "DONE" => Committed::Done,
                    "REFUSED" => Committed::Refused,
                    _ => return None,
                };
                Some((now, Timed::Said(said)))
            },
        )
    }

    fn free(
        &self,
        bid: &Arc<Bid>,
        token: FencingToken,
        keep: Option<Duration>,
        timeout: Duration,
    ) -> Said<bool> {
        let keys = keys::of(&bid.record).to_vec();
        let mut arguments = vec![
            bid.id.to_string(),
            bid.ticket.to_string(),
            record::digits(token),
        ];
        arguments.extend(keep.map(|keep| millis_up(keep).to_string()));
        self.call(
            |scripts| &scripts.free,
            keys,
            timeout,
            arguments,
            |value| Some(reply::number(value)? == 1),
        )
    }

    fn line_up(&self, place: &Place) -> Said<Lined> {
        let Place {
            record,
            member,
            beat,
            channel,
            valid,
            most,
        } = place.clone();
        let arguments = move |link: &Link, last: &str| {
            let mut arguments = vec![
                member.clone(),
                millis_up(beat).to_string(),
                channel_of(link, &channel).to_owned(),
                last.to_owned(),
            ];
            arguments.extend(most.map(|most| most.to_string()));
            arguments
        };
        let keys = keys::of(&record).to_vec();
        self.timed(
            |scripts| &scripts.line_up,
            keys,
            valid,
            arguments,
            |value| {
                let (now, word, rest) = timed(value)?;
                let said = match word {
                    "STALE" => return Some((now, Timed::Stale)),
                    "PLACE" => Lined::At {
                        number: reply::number(rest.first()?)?,
                        rank: reply::number(rest.get(1)?)?,
                    },
                    "FULL" => Lined::Full {
                        waiting: reply::number(rest.first()?)?,
                    },
                    _ => return None,
                };
                Some((now, Timed::Said(said)))
            },
        )
    }

    fn leave(&self, record: &Arc<str>, member: &str, timeout: Duration) -> Said<()> {
        let keys = keys::of(record).to_vec();
        let arguments = vec![member.to_owned()];
        self.call(
            |scripts| &scripts.leave,
            keys,
            timeout,
            arguments,
            |value| reply::number(value).map(drop),
        )
    }

    fn establish(&self, record: &Arc<str>, young: Duration, timeout: Duration) -> Said<()> {
        let young = millis_up(young).to_string();
        let arguments = move |_: &Link, last: &str| vec![young.clone(), last.to_owned()];
        self.timed(
            |scripts| &scripts.establish,
            vec![marker(record)],
            timeout,
            arguments,
            |value| {
                let (now, word, _) = timed(value)?;
                Some((
                    now,
                    if word == "STALE" {
                        Timed::Stale
                    } else {
                        Timed::Said(())
                    },
                ))
            },
        )
    }

    fn health(&self) -> Said<Health> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.ways.health().await })
    }

    fn list(&self, listing: &Listing) -> Said<Vec<Listed>> {
        let (shared, listing) = (Arc::clone(&self.shared), listing.clone());
        Box::pin(async move {
            // it is one server: all or nothing
            Ok(shared.list(&listing).await?.locks)
        })
    }

    fn survey(&self, listing: &Listing) -> Said<Survey> {
        let (shared, listing) = (Arc::clone(&self.shared), listing.clone());
        Box::pin(async move {
            let surveys = shared.survey(&listing).await?;
            // it is one server
            surveys.into_iter().next().ok_or_else(|| {
                BackendError::new(
                    BackendErrorKind::Unreachable,
                    "there was no server to look at",
                )
            })
        })
    }

    fn snapshot(&self, record: &str) -> Said<Snapshot> {
        let (shared, record) = (Arc::clone(&self.shared), record.to_owned());
        Box::pin(async move { shared.snapshot(&record).await })
    }
}

/// The server's clock, the first word, and what follows: every script that looks at the clock answers so.
fn timed(value: &Value) -> Option<(u64, &str, &[Value])> {
    match reply::sequence(value)? {
        [word, now, rest @ ..] => Some((reply::number(now)?, reply::text(word)?, rest)),
        _ => None,
    }
}
