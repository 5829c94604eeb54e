//! Three masters, three replicas.

use super::{DATA, DOWN_AFTER, Topology, address_among, network, probe, scheme, takes};
use crate::fault::Proxy;
use crate::server::{Raw, Settings};
use crate::{RedisServer, timing, wire};

/// A cluster of three masters, each with a replica.
#[derive(Debug)]
pub struct Cluster {
    servers: Vec<RedisServer>,
    login: String,
}

const MASTERS: usize = 3;
const SLOTS: u16 = 16_384;

impl Cluster {
    /// A new one, ready to fail over.
    #[must_use]
    pub fn start() -> Self {
        Self::with(&Settings::default())
    }

    /// With these settings for each server.
    #[must_use]
    pub fn with(settings: &Settings) -> Self {
        let settings = DATA
            .iter()
            .fold(settings.clone().cluster(), |settings, line| {
                settings.line(line)
            })
            .line(&format!("cluster-node-timeout {}", DOWN_AFTER.as_millis()))
            .line("cluster-require-full-coverage no")
            .line("cluster-allow-replica-migration no")
            .line("cluster-announce-ip 127.0.0.1");
        let servers: Vec<_> = (0..2 * MASTERS)
            .map(|_| RedisServer::with(settings.clone()))
            .collect();
        let cluster = Self {
            servers,
            login: String::new(),
        };
        cluster.join();
        cluster
    }

    /// The managers come as this user, `user:password@`.
    #[must_use]
    pub fn as_user(mut self, login: &str) -> Self {
        self.login = login.to_owned();
        self
    }

    fn join(&self) {
        let raws: Vec<_> = self.servers.iter().map(RedisServer::raw).collect();
        for (index, raw) in raws.iter().enumerate() {
            raw.run::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]);
            let share = SLOTS / u16::try_from(MASTERS).expect("it is small");
            let place = u16::try_from(index).expect("it is small");
            if index < MASTERS {
                let last = if index + 1 == MASTERS {
                    SLOTS
                } else {
                    (place + 1) * share
                };
                raw.run::<()>(&[
                    "CLUSTER",
                    "ADDSLOTSRANGE",
                    &(place * share).to_string(),
                    &(last - 1).to_string(),
                ]);
            }
            // each to each: nobody waits for gossip
            for other in self.servers.iter().take(index) {
                raw.run::<()>(&[
                    "CLUSTER",
                    "MEET",
                    "127.0.0.1",
                    &other.port_among().to_string(),
                ]);
            }
        }
        let all = raws.len();
        for raw in &raws {
            timing::block_until("the servers have met", timing::patience(), || {
                let nodes: String = raw.run(&["CLUSTER", "NODES"]);
                nodes.matches(" connected").count() == all && !nodes.contains("handshake")
            });
        }
        for (replica, master) in raws.iter().skip(MASTERS).zip(&raws) {
            let id: String = master.run(&["CLUSTER", "MYID"]);
            replica.run::<()>(&["CLUSTER", "REPLICATE", &id]);
        }
        self.settle();
    }

    /// Waits until all servers that answer are in step and agree.
    pub fn settle(&self) {
        for server in &self.servers {
            timing::block_until("the cluster has settled", timing::patience() * 3, || {
                Raw::try_connect(&server.address()).is_some_and(|raw| {
                    let info: String = raw.attempt(&["CLUSTER", "INFO"]).unwrap_or_default();
                    let nodes: String = raw.attempt(&["CLUSTER", "NODES"]).unwrap_or_default();
                    let replication: String =
                        raw.attempt(&["INFO", "replication"]).unwrap_or_default();
                    info.contains("cluster_state:ok")
                        && nodes.matches("slave ").count() == MASTERS
                        && !nodes.contains("fail")
                        && (replication.contains("master_link_status:up")
                            || replication.contains("state=online"))
                })
            });
        }
    }

    /// The slot of a key's lock.
    #[must_use]
    pub fn slot_of(&self, key: &str) -> u16 {
        let raws = self.servers.iter();
        let mut raws = raws.filter_map(|server| Raw::try_connect(&server.address()));
        let raw = raws.next().expect("a server answers");
        raw.run(&["CLUSTER", "KEYSLOT", &wire::record(key)])
    }

    /// The replica that follows a master.
    #[must_use]
    pub fn replica_of(&self, master: usize) -> Option<usize> {
        let id: String = self.servers.get(master)?.raw().run(&["CLUSTER", "MYID"]);
        self.servers.iter().position(|server| {
            let raw = Raw::try_connect(&server.address());
            let nodes: Option<String> = raw.and_then(|raw| raw.attempt(&["CLUSTER", "NODES"]).ok());
            nodes.is_some_and(|nodes| {
                let own = nodes.lines().find(|line| line.contains("myself"));
                own.is_some_and(|own| own.contains("slave") && own.contains(&id))
            })
        })
    }

    /// Moves a slot to another master while it is in use, key by key; `pause` between the keys.
    pub fn move_slot(&self, slot: u16, from: usize, to: usize, mut pause: impl FnMut()) {
        let (from, to) = (self.servers.get(from), self.servers.get(to));
        let (from, to) = (from.expect("there is one"), to.expect("there is one"));
        let (source, target) = (from.raw(), to.raw());
        let (source_id, target_id): (String, String) = (
            source.run(&["CLUSTER", "MYID"]),
            target.run(&["CLUSTER", "MYID"]),
        );
        let slot = slot.to_string();
        let set = |raw: &Raw, what: &str, id: &str| {
            raw.run::<()>(&["CLUSTER", "SETSLOT", &slot, what, id]);
        };
        set(&target, "IMPORTING", &source_id);
        set(&source, "MIGRATING", &target_id);
        loop {
            let keys: Vec<String> = source.run(&["CLUSTER", "GETKEYSINSLOT", &slot, "1"]);
            let Some(key) = keys.first() else { break };
            source.run::<String>(&[
                "MIGRATE",
                "127.0.0.1",
                &to.port_among().to_string(),
                key,
                "0",
                "5000",
            ]);
            pause();
        }
        set(&target, "NODE", &target_id);
        set(&source, "NODE", &target_id);
        for server in &self.servers {
            if let Some(raw) = Raw::try_connect(&server.address()) {
                // replicas learn it from their masters
                drop(raw.attempt::<()>(&["CLUSTER", "SETSLOT", &slot, "NODE", &target_id]));
            }
        }
    }

    /// A URL up to its `?`, by way of these proxies before the servers in their order.
    #[must_use]
    pub fn place_through(&self, proxies: &[Proxy]) -> String {
        network::rename(&self.servers, proxies);
        let some = proxies.iter().take(2).map(Proxy::address);
        self.place_at(&some.collect::<Vec<_>>())
    }

    fn place_at(&self, hosts: &[String]) -> String {
        let scheme = scheme(&self.servers);
        format!("{scheme}+cluster://{}{}", self.login, hosts.join(","))
    }
}

impl Topology for Cluster {
    fn servers(&self) -> &[RedisServer] {
        &self.servers
    }

    fn server(&mut self, place: usize) -> &mut RedisServer {
        self.servers.get_mut(place).expect("there is one")
    }

    fn place(&self) -> String {
        // some are enough
        let hosts = self.servers.iter().take(2).map(address_among);
        self.place_at(&hosts.collect::<Vec<_>>())
    }

    fn master_of(&self, key: &str) -> usize {
        let probe = probe(key);
        let has = |server: &RedisServer| takes(server, &["SET", &probe, "1", "PX", "100"]);
        let mut found = None;
        // while one takes another's place there may be none
        timing::block_until("a master has the slot", timing::patience(), || {
            found = self.servers.iter().position(has);
            found.is_some()
        });
        found.expect("it was just found")
    }
}
