//! The product's scripts on a real server, driven step by step. No time passes: a tick takes its share off what the keys have
//! left and off the tickets' deadlines, so that every run is exact.

use redis::Value;
use tests::server::Raw;
use tests::wire;

use crate::rules::Times;
use crate::server::{Ask, Asked, Channel, Number, Push, Released, Ticket};

macro_rules! script {
    ($verb:literal) => {
        include_str!(concat!(
            "../../../lockruntime/src/backend/redis/scripts/",
            $verb,
            ".lua"
        ))
    };
}

const ASK: &str = concat!(script!("prelude"), script!("ask"), script!("wait"));
const RENEW: &str = script!("renew");
const RELEASE: &str = concat!(script!("prelude"), script!("release"));
const WITHDRAW: &str = concat!(script!("prelude"), script!("withdraw"));

/// A tick in ms of the server; so long that what a run really takes is nothing.
const TICK: i64 = 1_000_000;
const REST: &str = ",\"key\":\"boleto\",\"version\":1}";

/// The parts of an answer.
pub(super) type Parts = Vec<String>;

pub(super) struct Real<'a> {
    raw: &'a Raw,
    keys: [String; 4],
    times: Times,
    channels: &'a [Channel],
    /// The server's numbers, by the model's.
    numbers: Vec<u64>,
}

/// What stands on the server, in the model's words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// Ticket, token, ticks left.
    pub(super) owner: Option<(Ticket, u64, i64)>,
    /// Ticket, number, ticks until it dies.
    pub(super) queue: Vec<(Ticket, u64, i64)>,
    pub(super) queue_left: i64,
}

impl<'a> Real<'a> {
    pub(super) fn new(raw: &'a Raw, times: Times, channels: &'a [Channel]) -> Self {
        raw.run::<()>(&["FLUSHALL"]);
        let queue = wire::queue("models");
        let (words, number) = (format!("{queue}:w"), format!("{queue}:n"));
        Self {
            raw,
            keys: [wire::record("models"), queue, words, number],
            times,
            channels,
            numbers: vec![0],
        }
    }

    // --- the verbs

    pub(super) fn ask(&self, ask: Ask) -> Parts {
        let Times { lease, beat, .. } = self.times;
        let [lease, claim, beat] = [lease, self.times.claim(), beat].map(|t| ms(t).to_string());
        // half a tick later, so that the last tick is whole
        let remains = ms(ask.valid) - ms(ask.age) + TICK / 2;
        let last = (self.now() + remains).to_string();
        let mode = if ask.queues { "queue" } else { "reject" };
        let (ticket, member) = (id(ask.ticket), member(ask.ticket));
        let channel = self.channel(ask.ticket);
        let most = ask.most.map(|most| most.to_string());
        let arguments = [
            &ticket, &member, &lease, &claim, &beat, mode, &channel, REST, &last,
        ];
        let arguments: Vec<_> = arguments.into_iter().chain(most.as_deref()).collect();
        self.eval(ASK, 4, &arguments)
    }

    pub(super) fn renew(&self, ticket: Ticket, token: Number, lease: u8) -> Parts {
        let token = self.numbers.get(usize::from(token)).copied().unwrap_or(1);
        let held = format!("{}\",\"fencingToken\":{token:016}", id(ticket));
        let lease = ms(lease).to_string();
        self.eval(RENEW, 1, &[&held, &lease])
    }

    pub(super) fn release(&self, ticket: Ticket) -> Parts {
        self.eval(RELEASE, 4, &[&id(ticket), &self.channel(ticket)])
    }

    pub(super) fn keep(&self, ticket: Ticket, keep: u8) -> Parts {
        let keep = ms(keep).to_string();
        self.eval(RELEASE, 4, &[&id(ticket), &self.channel(ticket), &keep])
    }

    /// Without the server's time, which stands first.
    pub(super) fn withdraw(&self, ticket: Ticket) -> Parts {
        let (id, member, channel) = (id(ticket), member(ticket), self.channel(ticket));
        let mut parts = self.eval(WITHDRAW, 4, &[&id, &member, &channel]);
        parts.remove(0);
        parts
    }

    // --- answers, in the model's numbers: read once all numbers of a step are known

    pub(super) fn asked(&mut self, parts: &[String]) -> Asked {
        let ticks = |text: &str| u8::try_from(ticks(text.parse::<i64>().unwrap().max(0))).unwrap();
        match parts[0].as_str() {
            "STALE" => Asked::Stale,
            "HELD" => Asked::Held {
                token: self.number(&parts[2]),
            },
            "WAIT" => Asked::Waiting {
                number: self.number(&parts[2]),
                rank: parts[3].parse().unwrap(),
                left: ticks(&parts[4]),
            },
            // -1: unknown, when the lock is free and nobody knows whose turn it is
            "BUSY" => Asked::Busy {
                left: ticks(&parts[2]),
            },
            other => panic!("an ask answered {other}"),
        }
    }

    pub(super) fn released(&mut self, parts: &[String]) -> Released {
        match parts[0].as_str() {
            "FREE" => Released::Free,
            "PASSED" => Released::Passed,
            "KEPT" => Released::Kept,
            "ABSENT" => Released::Absent,
            "OTHER" => Released::Other,
            "NEXT" => Released::Next(self.push(&parts[1..])),
            other => panic!("a release answered {other}"),
        }
    }

    /// Ticket, number and token of a hand-over.
    pub(super) fn push(&mut self, words: &[String]) -> Push {
        let number = self.number(&words[1]);
        Push {
            ticket: ticket_of(&words[0]),
            number,
            token: self.number(&words[2]),
        }
    }

    // --- time and losses

    pub(super) fn tick(&self) {
        let [record, queue, words, _] = &self.keys;
        self.shorten(record, TICK);
        // a little less, so that "less than a beat" is decided as with whole ticks
        self.shorten(queue, TICK - 1_000);
        self.shorten(words, TICK - 1_000);
        let fields: Vec<String> = self.raw.run(&["HGETALL", words]);
        for pair in fields.chunks(2).filter(|pair| pair[0].starts_with('d')) {
            // a little more, so that a ticket whose last tick is over is dead
            let dies = pair[1].parse::<i64>().unwrap() - TICK - 1;
            self.raw
                .run::<()>(&["HSET", words, &pair[0], &dies.to_string()]);
        }
    }

    fn shorten(&self, key: &str, by: i64) {
        let left = self.raw.run::<i64>(&["PTTL", key]) - by;
        if ticks(left) > 0 {
            self.raw.run::<()>(&["PEXPIRE", key, &left.to_string()]);
        } else {
            self.raw.run::<()>(&["DEL", key]);
        }
    }

    /// All keys are lost, or only one of them: 0 record, 2 tickets, 3 number.
    pub(super) fn lose(&self, key: Option<usize>) {
        match key {
            None => self.raw.run::<()>(&["FLUSHALL"]),
            Some(key) => self.raw.run::<()>(&["DEL", &self.keys[key]]),
        }
    }

    // --- what is there

    /// Also checks what must be true of every key: it has an expiry, and nothing else is there.
    pub(super) fn stored(&self) -> Stored {
        let [record, queue, words, _] = &self.keys;
        for key in self.raw.keys("*") {
            assert!(self.keys.contains(&key), "{key} is none of the lock's keys");
            assert!(self.raw.left(&key).is_some(), "{key} is gone in between");
        }
        let owner = self
            .raw
            .run::<Option<String>>(&["GET", record])
            .map(|json| {
                let (owner, token) = wire::owner_of(&json);
                (ticket_of(&owner), token, self.left(record))
            });
        let now = self.now();
        let members: Vec<String> = self.raw.run(&["ZRANGE", queue, "0", "-1", "WITHSCORES"]);
        let waiting = members.chunks(2).map(|pair| {
            let field = format!("d{}", pair[0]);
            let dies: Option<i64> = self.raw.run(&["HGET", words, &field]);
            let alive = dies.map_or(0, |dies| ticks(dies - now).max(0));
            (ticket_of(&pair[0]), pair[1].parse().unwrap(), alive)
        });
        let queue_of = waiting.collect::<Vec<_>>();
        let fields: Vec<String> = self.raw.run(&["HKEYS", words]);
        for field in fields {
            let ticket = ticket_of(&field);
            let waits = queue_of.iter().any(|waiter| waiter.0 == ticket);
            assert!(waits, "{field} belongs to nobody who waits");
        }
        Stored {
            owner,
            queue: queue_of,
            queue_left: self.left(queue).max(0),
        }
    }

    fn left(&self, key: &str) -> i64 {
        ticks(self.raw.run::<i64>(&["PTTL", key]))
    }

    fn now(&self) -> i64 {
        i64::try_from(self.raw.time().as_millis()).unwrap()
    }

    /// The server's number as the model counts: they come in the same order. One that is new is greater than all before.
    fn number(&mut self, text: &str) -> Number {
        let number: u64 = text.parse().unwrap();
        let place = match self.numbers.iter().position(|known| *known == number) {
            Some(place) => place,
            None => {
                let newest = self.numbers.last().unwrap();
                assert!(number > *newest, "{number} after {newest}");
                self.numbers.push(number);
                self.numbers.len() - 1
            }
        };
        Number::try_from(place).unwrap()
    }

    /// The server's number for one of the model's; a new one is met here for the first time.
    pub(super) fn is_number(&mut self, model: Number, real: u64) -> bool {
        self.number(&real.to_string()) == model
    }

    fn channel(&self, ticket: Ticket) -> String {
        channel(self.channels[usize::from(ticket)])
    }

    fn eval(&self, script: &str, keys: usize, arguments: &[&str]) -> Parts {
        let count = keys.to_string();
        let mut command = vec!["EVAL", script, &count];
        command.extend(self.keys.iter().take(keys).map(String::as_str));
        command.extend(arguments);
        match self.raw.run::<Value>(&command) {
            Value::Array(parts) => parts.iter().map(text).collect(),
            one => vec![text(&one)],
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).unwrap(),
        other => panic!("a script answered {other:?}"),
    }
}

fn ms(ticks: u8) -> i64 {
    i64::from(ticks) * TICK
}

/// Whole ticks, to the nearest.
fn ticks(ms: i64) -> i64 {
    (ms + TICK / 2).div_euclid(TICK)
}

pub(super) fn channel(channel: Channel) -> String {
    format!("wake:{channel}")
}

fn id(ticket: Ticket) -> String {
    // all zeros is nobody's
    format!("a{ticket:031x}")
}

fn member(ticket: Ticket) -> String {
    format!("host:1:2:{}", id(ticket))
}

fn ticket_of(name: &str) -> Ticket {
    Ticket::from_str_radix(&name[name.len() - 31..], 16).unwrap()
}
