//! The proxy and its switches.

use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use super::connection::{Traps, carry};
use super::rules::{Armed, Rules, Takes};
use super::{Close, Flow, Request, Trap};
use crate::server::Port;
use crate::timing;

/// A network between clients and one server that fails on demand.
///
/// It lives on a thread of its own, so that it works whatever a test does to its runtime. Every switch is in force when its call
/// returns.
#[derive(Debug)]
pub struct Proxy {
    port: Port,
    rules: watch::Sender<Rules>,
    /// Whether the port is open at this moment.
    open: watch::Receiver<bool>,
    traps: TrapList,
    stop: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

struct TrapList(Traps);

impl std::fmt::Debug for TrapList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TrapList")
    }
}

impl Proxy {
    /// A proxy in front of `server` (`127.0.0.1:port`) that passes everything on.
    #[must_use]
    pub fn before(server: &str) -> Self {
        let port = Port::claim();
        let (rules, rules_seen) = watch::channel(Rules::default());
        let (opened, open) = watch::channel(false);
        let (stop, stopped) = oneshot::channel();
        let traps = Traps::default();
        let work = serve(
            port.number(),
            server.to_owned(),
            rules_seen,
            opened,
            Arc::clone(&traps),
        );
        let thread = std::thread::Builder::new()
            .name("proxy".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime can be made");
                runtime.block_on(async {
                    tokio::select! {
                        () = work => {}
                        _ = stopped => {}
                    }
                });
            })
            .expect("a thread can be started");
        let proxy = Self {
            port,
            rules,
            open,
            traps: TrapList(traps),
            stop: Some((stop, thread)),
        };
        proxy.wait_for_port(true);
        proxy
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// `127.0.0.1:port`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number())
    }

    /// Everything works again: new connections, both directions, no delay. What was held goes on; connections that lost bytes
    /// are reset, traps are gone.
    pub fn heal(&self) {
        self.traps
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        self.change(|rules| {
            *rules = Rules {
                cuts: rules.cuts,
                words: Arc::clone(&rules.words),
                ..Rules::default()
            }
        });
    }

    /// From now on the server's answers name other ports on 127.0.0.1 than it names: each pair is its own, and the other.
    ///
    /// # Panics
    /// When two ports of a pair have not the same number of digits.
    pub fn rename(&self, ports: &[(u16, u16)]) {
        let words = ports.iter().map(|(from, to)| {
            let (from, to) = (from.to_string(), to.to_string());
            assert_eq!(from.len(), to.len(), "{from} and {to} differ in length");
            (from.into_bytes(), to.into_bytes())
        });
        let words = Arc::new(words.collect());
        self.change(|rules| rules.words = words);
    }

    /// Each direction takes this long.
    pub fn delay(&self, each_way: Duration) {
        self.change(|rules| rules.delay = each_way);
    }

    /// Ends all present connections; new ones are let in.
    pub fn cut(&self, close: Close) {
        self.change(|rules| (rules.cuts, rules.close) = (rules.cuts + 1, close));
    }

    /// Ends all present connections with a reset and refuses new ones.
    pub fn refuse(&self) {
        self.change(|rules| {
            (rules.listening, rules.cuts, rules.close) = (false, rules.cuts + 1, Close::Reset)
        });
    }

    /// Swallows everything in both directions without a word; new connections are let in and learn nothing either.
    pub fn black_hole(&self) {
        self.flow(Flow::Swallow, Flow::Swallow);
    }

    /// What happens to bytes towards the server, and to bytes towards the client.
    pub fn flow(&self, to_server: Flow, to_client: Flow) {
        self.change(|rules| (rules.to_server, rules.to_client) = (to_server, to_client));
    }

    /// Loses every message of a subscription from now on; their confirmations pass.
    pub fn drop_messages(&self) {
        self.change(|rules| rules.drop_messages = true);
    }

    /// Loses the reply to the first request from now on for which `matches` is true; the server executes it. `then` ends the
    /// connection at that moment.
    pub fn swallow_reply(
        &self,
        matches: impl FnMut(&Request) -> bool + Send + 'static,
        then: Option<Close>,
    ) -> Trap {
        self.arm(Box::new(matches), Takes::Reply, then, false)
    }

    /// Loses the first request from now on for which `matches` is true; the server never sees it.
    pub fn swallow_request(
        &self,
        matches: impl FnMut(&Request) -> bool + Send + 'static,
        then: Option<Close>,
    ) -> Trap {
        self.arm(Box::new(matches), Takes::Request, then, false)
    }

    /// Loses every request from now on for which `matches` is true, until [`heal`](Self::heal).
    pub fn swallow_requests(&self, matches: impl FnMut(&Request) -> bool + Send + 'static) -> Trap {
        self.arm(Box::new(matches), Takes::Request, None, true)
    }

    fn arm(
        &self,
        matches: Box<dyn FnMut(&Request) -> bool + Send>,
        takes: Takes,
        then: Option<Close>,
        stays: bool,
    ) -> Trap {
        let (sprung, seen) = watch::channel(false);
        self.traps
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Armed {
                matches,
                takes,
                then,
                stays,
                sprung,
            });
        Trap(seen)
    }

    fn change(&self, change: impl FnOnce(&mut Rules)) {
        self.rules.send_modify(change);
        self.wait_for_port(self.rules.borrow().listening);
    }

    fn wait_for_port(&self, open: bool) {
        timing::block_until(
            "the proxy opens or closes its port",
            timing::patience(),
            || *self.open.borrow() == open,
        );
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.stop.take() {
            stop.send(()).ok();
            drop(thread.join());
        }
    }
}

async fn serve(
    port: u16,
    server: String,
    mut rules: watch::Receiver<Rules>,
    open: watch::Sender<bool>,
    traps: Traps,
) {
    let mut connections = JoinSet::new();
    let mut listener = None;
    loop {
        let listening = rules.borrow_and_update().listening;
        if listening != listener.is_some() {
            listener = if listening {
                Some(
                    TcpListener::bind(("127.0.0.1", port))
                        .await
                        .expect("the port is ours"),
                )
            } else {
                None
            };
            open.send_replace(listening);
        }
        tokio::select! {
            changed = rules.changed() => if changed.is_err() { return },
            client = async { listener.as_ref().expect("checked").accept().await }, if listener.is_some() => {
                if let Ok((client, _)) = client {
                    let (server, rules, traps) = (server.clone(), rules.clone(), Arc::clone(&traps));
                    connections.spawn(async move { carry(client, &server, rules, traps).await });
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    use proptest::prelude::*;

    use super::*;
    use crate::RedisServer;
    use crate::server::Raw;

    struct Plain(TcpStream);

    impl Plain {
        fn connect(proxy: &Proxy) -> Self {
            let stream = TcpStream::connect(proxy.address()).unwrap();
            stream.set_read_timeout(Some(timing::patience())).unwrap();
            Self(stream)
        }

        fn send(&mut self, text: &str) {
            self.0.write_all(text.as_bytes()).unwrap();
        }

        fn expect(&mut self, text: &str) {
            let mut bytes = vec![0; text.len()];
            self.0.read_exact(&mut bytes).unwrap();
            assert_eq!(String::from_utf8_lossy(&bytes), text);
        }

        fn expect_silence(&mut self, time: Duration) {
            self.0.set_read_timeout(Some(time)).unwrap();
            let error = self.0.read(&mut [0]).unwrap_err();
            assert!(
                matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                ),
                "{error}"
            );
            self.0.set_read_timeout(Some(timing::patience())).unwrap();
        }

        fn end(&mut self) -> std::io::Result<usize> {
            self.0.read(&mut [0; 100])
        }
    }

    fn pair() -> (RedisServer, Proxy) {
        let server = RedisServer::start();
        let proxy = Proxy::before(&server.address());
        (server, proxy)
    }

    #[test]
    fn a_healthy_network_carries_everything() {
        let (_server, proxy) = pair();
        let raw = Raw::connect(&format!("redis://{}", proxy.address()));
        let long = "x".repeat(300_000);
        raw.run::<()>(&["SET", "a", &long]);
        assert_eq!(raw.run::<String>(&["GET", "a"]), long);
    }

    #[test]
    fn delay_holds_each_direction_and_keeps_the_order() {
        let (_server, proxy) = pair();
        let mut client = Plain::connect(&proxy);
        let delay = timing::millis(50);
        proxy.delay(delay);
        let start = Instant::now();
        client.send("ECHO 1\r\nECHO 2\r\n");
        client.expect("$1\r\n1\r\n$1\r\n2\r\n");
        assert!(start.elapsed() >= delay * 2, "{:?}", start.elapsed());
        assert!(
            start.elapsed() < delay * 2 + timing::moment(),
            "{:?}",
            start.elapsed()
        );
    }

    #[test]
    fn cuts_end_connections_as_asked() {
        let (_server, proxy) = pair();
        let mut client = Plain::connect(&proxy);
        client.send("PING\r\n");
        client.expect("+PONG\r\n");
        proxy.cut(Close::Fin);
        assert_eq!(client.end().unwrap(), 0);
        let mut client = Plain::connect(&proxy);
        client.send("PING\r\n");
        client.expect("+PONG\r\n");
        proxy.cut(Close::Reset);
        assert_eq!(
            client.end().unwrap_err().kind(),
            std::io::ErrorKind::ConnectionReset
        );
    }

    #[test]
    fn refused_until_healed() {
        let (_server, proxy) = pair();
        proxy.refuse();
        let error = TcpStream::connect(proxy.address()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
        proxy.heal();
        let mut client = Plain::connect(&proxy);
        client.send("PING\r\n");
        client.expect("+PONG\r\n");
    }

    #[test]
    fn a_black_hole_says_nothing_and_resets_when_healed() {
        let (server, proxy) = pair();
        let mut before = Plain::connect(&proxy);
        before.send("PING\r\n");
        before.expect("+PONG\r\n");
        proxy.black_hole();
        let mut during = Plain::connect(&proxy);
        before.send("SET a 1\r\n");
        during.send("SET a 1\r\n");
        before.expect_silence(timing::millis(50));
        during.expect_silence(timing::millis(1));
        assert!(!server.raw().has("a"));
        proxy.heal();
        assert!(before.end().is_err());
        assert!(during.end().is_err());
    }

    #[test]
    fn held_bytes_arrive_when_let_go() {
        let (server, proxy) = pair();
        let mut client = Plain::connect(&proxy);
        client.send("PING\r\n");
        client.expect("+PONG\r\n");
        proxy.flow(Flow::Hold, Flow::Pass);
        client.send("SET a 1\r\n");
        client.expect_silence(timing::millis(50));
        assert!(!server.raw().has("a"));
        proxy.heal();
        client.expect("+OK\r\n");
        proxy.flow(Flow::Pass, Flow::Hold);
        client.send("SET b 1\r\n");
        timing::block_until("the server has it", timing::patience(), || {
            server.raw().has("b")
        });
        client.expect_silence(timing::millis(1));
        proxy.heal();
        client.expect("+OK\r\n");
    }

    #[test]
    fn one_chosen_reply_is_lost() {
        let (server, proxy) = pair();
        let mut client = Plain::connect(&proxy);
        let mut count = 0;
        let trap = proxy.swallow_reply(
            move |request| {
                count += usize::from(request.is("incr"));
                count == 2
            },
            None,
        );
        client.send("INCR a\r\nECHO 1\r\nINCR a\r\nECHO 2\r\nINCR a\r\n");
        client.expect(":1\r\n$1\r\n1\r\n$1\r\n2\r\n:3\r\n");
        assert!(trap.is_sprung());
        let trap = proxy.swallow_reply(|request| request.is("INCR"), Some(Close::Reset));
        client.send("INCR a\r\n");
        assert!(client.end().is_err());
        assert!(trap.is_sprung());
        assert_eq!(server.raw().run::<i64>(&["GET", "a"]), 4);
    }

    #[test]
    fn one_chosen_request_is_lost() {
        let (server, proxy) = pair();
        let mut client = Plain::connect(&proxy);
        let trap = proxy.swallow_request(|request| request.has("b"), None);
        client.send("SET a 1\r\nSET b 1\r\nECHO 1\r\n");
        client.expect("+OK\r\n$1\r\n1\r\n");
        assert!(trap.is_sprung());
        assert_eq!(server.raw().keys("*"), ["a"]);
        let all = proxy.swallow_requests(|request| request.is("SET"));
        client.send("SET b 1\r\nSET c 1\r\nECHO 2\r\n");
        client.expect("$1\r\n2\r\n");
        assert!(all.is_sprung());
        proxy.heal();
        client.send("SET d 1\r\n");
        client.expect("+OK\r\n");
        assert_eq!(server.raw().keys("*"), ["a", "d"]);
    }

    #[test]
    fn messages_are_lost_and_replies_are_not() {
        let (server, proxy) = pair();
        for (hello, subscribed, message) in [
            (
                "HELLO 3\r\n",
                ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
                ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n",
            ),
            (
                "",
                "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
                "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n",
            ),
        ] {
            proxy.heal();
            let mut client = Plain::connect(&proxy);
            let mut other = Plain::connect(&proxy);
            client.send(hello);
            if !hello.is_empty() {
                timing::block(timing::short_body());
                let length = client.0.read(&mut [0; 1000]).unwrap();
                assert!(length > 50, "HELLO was answered by {length} bytes");
            }
            client.send("SUBSCRIBE c\r\n");
            client.expect(subscribed);
            assert_eq!(server.raw().run::<i64>(&["PUBLISH", "c", "hi"]), 1);
            client.expect(message);
            proxy.drop_messages();
            assert_eq!(server.raw().run::<i64>(&["PUBLISH", "c", "hi"]), 1);
            client.expect_silence(timing::millis(20));
            other.send("PING\r\n");
            other.expect("+PONG\r\n");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn any_bytes_arrive_unchanged(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..3000), 1..6)) {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let proxy = Proxy::before(&listener.local_addr().unwrap().to_string());
            let echo = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut copy = stream.try_clone().unwrap();
                std::io::copy(&mut stream, &mut copy).unwrap();
            });
            // a first byte that no protocol knows: what looks like a part of a message later on is not waited for
            let mut client = TcpStream::connect(proxy.address()).unwrap();
            let mut sent = b"\x00\r\n".to_vec();
            client.write_all(&sent).unwrap();
            for chunk in chunks {
                client.write_all(&chunk).unwrap();
                sent.extend(chunk);
            }
            let mut got = vec![0; sent.len()];
            client.read_exact(&mut got).unwrap();
            prop_assert_eq!(got, sent);
            drop(client);
            echo.join().unwrap();
        }
    }
}
