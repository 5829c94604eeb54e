//! One master, two replicas, three sentinels.

use super::{DATA, DOWN_AFTER, Topology, address_among, network, scheme};
use crate::fault::Proxy;
use crate::server::{Raw, Settings};
use crate::{RedisServer, timing};

/// One master, two replicas, and three sentinels that replace it.
#[derive(Debug)]
pub struct Sentinel {
    servers: Vec<RedisServer>,
    /// The sentinels.
    pub sentinels: Vec<RedisServer>,
    login: String,
    parameters: String,
}

/// Under which name the sentinels know the master.
pub const MASTER: &str = "mymaster";

impl Sentinel {
    /// New ones, ready to fail over.
    #[must_use]
    pub fn start() -> Self {
        Self::with(&Settings::default(), &Settings::default(), &[])
    }

    /// With these settings for the servers and the sentinels, and these further lines of sentinels about the master, such as
    /// `auth-pass mymaster secret`.
    #[must_use]
    pub fn with(data: &Settings, sentinel: &Settings, about: &[&str]) -> Self {
        let data = DATA.iter().fold(data.clone(), |data, line| data.line(line));
        let master = RedisServer::with(data.clone());
        let replica = data.line(&format!("replicaof 127.0.0.1 {}", master.port_among()));
        let servers = vec![
            master,
            RedisServer::with(replica.clone()),
            RedisServer::with(replica),
        ];
        let first = servers.first().expect("there are three");
        let mut watching = sentinel.clone().sentinel();
        let about = about.iter().map(|line| (*line).to_owned());
        let lines = [
            format!("monitor {MASTER} 127.0.0.1 {} 2", first.port_among()),
            format!(
                "down-after-milliseconds {MASTER} {}",
                DOWN_AFTER.as_millis()
            ),
            format!("failover-timeout {MASTER} 3000"),
            format!("parallel-syncs {MASTER} 2"),
        ];
        for line in lines.into_iter().chain(about) {
            watching = watching.line(&format!("sentinel {line}"));
        }
        for replica in servers.iter().skip(1) {
            let raw = replica.raw();
            timing::block_until("a replica is in step", timing::patience(), || {
                raw.run::<String>(&["INFO", "replication"])
                    .contains("master_link_status:up")
            });
        }
        let sentinels: Vec<_> = (0..3)
            .map(|_| RedisServer::with(watching.clone()))
            .collect();
        for sentinel in &sentinels {
            let raw = sentinel.raw();
            timing::block_until("the sentinels know all", timing::patience(), || {
                knows_all(&raw)
            });
        }
        Self {
            servers,
            sentinels,
            login: String::new(),
            parameters: String::new(),
        }
    }

    /// The managers come as this user, `user:password@`, and with these further words of the URL's query, `&name=value`.
    #[must_use]
    pub fn as_user(mut self, login: &str, parameters: &str) -> Self {
        (self.login, self.parameters) = (login.to_owned(), parameters.to_owned());
        self
    }

    /// The place of the server that the sentinels call the master; of the most of them.
    #[must_use]
    pub fn master(&self) -> usize {
        let named = |sentinel: &RedisServer| {
            let raw = Raw::try_connect(&sentinel.address())?;
            let (_, port): (String, u16) = raw
                .attempt(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER])
                .ok()?;
            self.servers
                .iter()
                .position(|server| server.port_among() == port)
        };
        let mut named: Vec<_> = self.sentinels.iter().filter_map(named).collect();
        named.sort_unstable();
        *named
            .get(named.len() / 2)
            .expect("a sentinel names the master")
    }

    /// Whether some sentinel names another master than this one.
    #[must_use]
    pub fn names_another(&self, master: usize) -> bool {
        let old = self.servers.get(master).map(RedisServer::port_among);
        self.sentinels.iter().any(|sentinel| {
            let named = Raw::try_connect(&sentinel.address()).and_then(|raw| {
                raw.attempt::<(String, u16)>(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER])
                    .ok()
            });
            named.is_some_and(|(_, port)| Some(port) != old)
        })
    }

    /// Waits until all sentinels agree on a master that both others follow. One that was held up for seconds does nothing for half
    /// a minute.
    pub fn settle(&self) {
        timing::block_until("all have settled", timing::patience() * 6, || {
            let master = self.master();
            let agree = self.sentinels.iter().all(|sentinel| {
                Raw::try_connect(&sentinel.address()).is_some_and(|raw| knows_all(&raw))
            });
            let follow = self.servers.get(master).is_some_and(|server| {
                Raw::try_connect(&server.address()).is_some_and(|raw| {
                    let said: String = raw.attempt(&["INFO", "replication"]).unwrap_or_default();
                    said.contains("role:master")
                        && said.matches("state=online").count() == self.servers.len() - 1
                })
            });
            agree && follow
        });
    }

    /// A URL up to its `?`, by way of these proxies before the servers in their order, and then before the sentinels.
    #[must_use]
    pub fn place_through(&self, proxies: &[Proxy]) -> String {
        network::rename(&self.servers, proxies);
        let sentinels = proxies.iter().skip(self.servers.len()).map(Proxy::address);
        self.place_at(&sentinels.collect::<Vec<_>>())
    }

    /// Hosts of the sentinels, and what stands around them in a URL.
    fn place_at(&self, hosts: &[String]) -> String {
        let scheme = scheme(&self.sentinels);
        format!(
            "{scheme}+sentinel://{}{}/{MASTER}",
            self.login,
            hosts.join(",")
        )
    }
}

fn knows_all(sentinel: &Raw) -> bool {
    let fields: Vec<String> = sentinel
        .attempt(&["SENTINEL", "MASTER", MASTER])
        .unwrap_or_default();
    let field = |name: &str| {
        let at = fields.iter().position(|field| field == name)?;
        fields.get(at + 1).map(String::as_str)
    };
    field("num-slaves") == Some("2")
        && field("num-other-sentinels") == Some("2")
        && field("flags") == Some("master")
}

impl Topology for Sentinel {
    fn servers(&self) -> &[RedisServer] {
        &self.servers
    }

    fn server(&mut self, place: usize) -> &mut RedisServer {
        self.servers.get_mut(place).expect("there is one")
    }

    fn place(&self) -> String {
        let hosts: Vec<_> = self.sentinels.iter().map(address_among).collect();
        self.place_at(&hosts)
    }

    fn url_in(&self, environment: &str) -> String {
        let app = crate::wire::APP;
        format!(
            "{}?app={app}&env={environment}{}",
            self.place(),
            self.parameters
        )
    }

    fn master_of(&self, _key: &str) -> usize {
        self.master()
    }
}
