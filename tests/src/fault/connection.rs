//! One client's connection through the proxy.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::Request;
use super::resp::{first_message, first_word};
use super::rewrite::replace;
use super::rules::{Armed, Close, Flow, Rules, Takes};

const HOST: &[u8] = b"127.0.0.1";

pub(crate) type Traps = Arc<Mutex<Vec<Armed>>>;

/// Carries bytes both ways until one side ends or the rules cut it.
pub(crate) async fn carry(
    mut client: TcpStream,
    server: &str,
    mut rules: watch::Receiver<Rules>,
    traps: Traps,
) {
    let born = rules.borrow_and_update().cuts;
    let cut = {
        let mut rules = rules.clone();
        async move {
            match rules.wait_for(|rules| rules.cuts > born).await {
                Ok(rules) => rules.close,
                Err(_) => Close::Fin,
            }
        }
    };
    let close = {
        let transfer = transfer(&mut client, server, &rules, &traps);
        tokio::select! {
            close = transfer => close,
            close = cut => close,
        }
    };
    if close == Close::Reset {
        // errors here mean that the client is gone already
        drop(client.set_zero_linger());
    }
}

async fn transfer(
    client: &mut TcpStream,
    server: &str,
    rules: &watch::Receiver<Rules>,
    traps: &Traps,
) -> Close {
    // a black hole answers nothing: neither side learns of the other until the network heals, and then it is too late
    {
        let mut rules = rules.clone();
        let black =
            |rules: &Rules| rules.to_server == Flow::Swallow && rules.to_client == Flow::Swallow;
        if black(&rules.borrow_and_update()) {
            drop(rules.wait_for(|rules| !black(rules)).await);
            return Close::Reset;
        }
    }
    let Ok(mut server) = TcpStream::connect(server).await else {
        return Close::Reset;
    };
    drop((client.set_nodelay(true), server.set_nodelay(true)));
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let waiting = Mutex::new(Waiting::default());
    let up = Pump::new(from_client, to_server, rules.clone(), |rules| {
        rules.to_server
    });
    let mut down = Pump::new(from_server, to_client, rules.clone(), |rules| {
        rules.to_client
    });
    down.renames = true;
    tokio::select! {
        end = up.run(|message, _| waiting.lock().unwrap_or_else(PoisonError::into_inner).request(message, traps)) => end,
        end = down.run(|message, rules| waiting.lock().unwrap_or_else(PoisonError::into_inner).reply(message, rules)) => end,
    }
    .unwrap_or(Close::Reset)
}

/// What to do with a message.
enum Fate {
    Forward,
    Drop,
    /// Dropped, and the connection ends.
    End(Close),
}

/// Requests that have no reply yet, in order; each says what becomes of its reply.
#[derive(Default)]
struct Waiting {
    replies: VecDeque<Option<(watch::Sender<bool>, Option<Close>)>>,
    resp3: bool,
}

impl Waiting {
    fn request(&mut self, message: &[u8], traps: &Traps) -> Fate {
        let request = Request::parse(message);
        if request.is("HELLO") {
            self.resp3 = request.has("3");
        }
        let caught = {
            let mut traps = traps.lock().unwrap_or_else(PoisonError::into_inner);
            let found = traps.iter_mut().position(|trap| (trap.matches)(&request));
            found.and_then(|index| {
                let trap = traps.get(index)?;
                let caught = (trap.takes, trap.then, trap.sprung.clone());
                if !trap.stays {
                    drop(traps.swap_remove(index));
                }
                Some(caught)
            })
        };
        match caught {
            Some((Takes::Request, then, sprung)) => {
                sprung.send_replace(true);
                then.map_or(Fate::Drop, Fate::End)
            }
            Some((Takes::Reply, then, sprung)) => {
                self.replies.push_back(Some((sprung, then)));
                Fate::Forward
            }
            None => {
                // over RESP3 a subscription is confirmed by a push, not by a reply
                let subscribes = [
                    "SUBSCRIBE",
                    "SSUBSCRIBE",
                    "PSUBSCRIBE",
                    "UNSUBSCRIBE",
                    "SUNSUBSCRIBE",
                    "PUNSUBSCRIBE",
                ];
                if !(self.resp3 && subscribes.iter().any(|name| request.is(name))) {
                    self.replies.push_back(None);
                }
                Fate::Forward
            }
        }
    }

    fn reply(&mut self, message: &[u8], rules: &Rules) -> Fate {
        let push = message.first() == Some(&b'>');
        let word = if push || !self.resp3 {
            first_word(message)
        } else {
            Vec::new()
        };
        if push || [&b"message"[..], b"smessage", b"pmessage"].contains(&&*word) {
            let delivery = word.ends_with(b"message");
            return if delivery && rules.drop_messages {
                Fate::Drop
            } else {
                Fate::Forward
            };
        }
        match self.replies.pop_front().flatten() {
            Some((sprung, then)) => {
                sprung.send_replace(true);
                then.map_or(Fate::Drop, Fate::End)
            }
            None => Fate::Forward,
        }
    }
}

/// One direction.
struct Pump<'a> {
    reader: ReadHalf<'a>,
    writer: WriteHalf<'a>,
    rules: watch::Receiver<Rules>,
    flow: fn(&Rules) -> Flow,
    /// Bytes that are no whole message yet.
    part: Vec<u8>,
    /// Messages on their way, and when each arrives.
    travelling: VecDeque<(Instant, Vec<u8>)>,
    /// The bytes are no Redis protocol; they go on as they are.
    opaque: bool,
    /// Servers have other addresses on this side.
    renames: bool,
}

impl<'a> Pump<'a> {
    fn new(
        reader: ReadHalf<'a>,
        writer: WriteHalf<'a>,
        rules: watch::Receiver<Rules>,
        flow: fn(&Rules) -> Flow,
    ) -> Self {
        Self {
            reader,
            writer,
            rules,
            flow,
            part: Vec::new(),
            travelling: VecDeque::new(),
            opaque: false,
            renames: false,
        }
    }

    async fn run(mut self, mut judge: impl FnMut(&[u8], &Rules) -> Fate) -> io::Result<Close> {
        let mut ended = false;
        let mut lost = false;
        loop {
            let rules = self.rules.borrow_and_update().clone();
            let flow = (self.flow)(&rules);
            if lost && flow != Flow::Swallow {
                return Ok(Close::Reset);
            }
            if ended && self.travelling.is_empty() && flow == Flow::Pass {
                self.writer.shutdown().await?;
                return Ok(Close::Fin);
            }
            let due = self.travelling.front().map(|(due, _)| *due);
            let mut chunk = [0; 16 * 1024];
            tokio::select! {
                biased;
                changed = self.rules.changed() => if changed.is_err() { return Ok(Close::Fin) },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() && flow == Flow::Pass => {
                    if let Some((_, message)) = self.travelling.pop_front() {
                        self.writer.write_all(&message).await?;
                    }
                }
                length = self.reader.read(&mut chunk), if !ended => match length? {
                    0 => ended = true,
                    _ if flow == Flow::Swallow => lost = true,
                    length => {
                        self.part.extend(chunk.iter().take(length));
                        if let Some(end) = self.sort(&rules, &mut judge) {
                            return Ok(end);
                        }
                    }
                },
            }
            if flow == Flow::Swallow && !self.travelling.is_empty() {
                // what was under way is lost as well
                self.travelling.clear();
                lost = true;
            }
        }
    }

    /// Sends whole messages on their way.
    fn sort(
        &mut self,
        rules: &Rules,
        judge: &mut impl FnMut(&[u8], &Rules) -> Fate,
    ) -> Option<Close> {
        let due = Instant::now() + rules.delay;
        while !self.part.is_empty() && !self.opaque {
            match first_message(&self.part) {
                Ok(None) => return None,
                Ok(Some(end)) => {
                    let rest = self.part.split_off(end);
                    let mut message = std::mem::replace(&mut self.part, rest);
                    // five digits stand in many answers, and mean a port only beside a host
                    if self.renames && message.windows(HOST.len()).any(|part| part == HOST) {
                        replace(&mut message, &rules.words);
                    }
                    match judge(&message, rules) {
                        Fate::Forward => self.travelling.push_back((due, message)),
                        Fate::Drop => {}
                        Fate::End(close) => return Some(close),
                    }
                }
                Err(_) => self.opaque = true,
            }
        }
        if !self.part.is_empty() {
            self.travelling
                .push_back((due, std::mem::take(&mut self.part)));
        }
        None
    }
}
