//! The scripts against the model's steps, on a real server: after each of many random steps both must have answered alike and
//! hold the same owner, queue, deadlines and expiries.

mod real;

use proptest::prelude::*;
use proptest::test_runner::{Config as Cases, TestRunner};
use tests::RedisServer;
use tests::server::Raw;
use tests::timing;

use crate::rules::{ALL, CALM, Config, Times};
use crate::server::{Ask, Asked, Channel, Number, Released, Server, Ticket};
use real::{Real, Stored};

/// Stands for whoever owns the lock.
const OWNER: Ticket = 6;
/// As the scripts have it.
const DROPS: usize = 64;

#[derive(Clone, Debug)]
enum Step {
    Ask {
        ticket: Ticket,
        age: u8,
        queues: bool,
        most: Option<usize>,
    },
    /// With the newest number, or one of those before it, for a lease that may be shorter or longer.
    Renew {
        ticket: Ticket,
        back: Number,
        lease: u8,
    },
    Release(Ticket),
    /// A minimum hold of a body that is over.
    Keep(Ticket, u8),
    Withdraw(Ticket),
    Tick,
    Flush,
    /// One of the keys is lost: record, tickets, number.
    LoseRecord,
    LoseTickets,
    LoseNumber,
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Asked(Asked),
    Renewed(bool),
    Released(Released),
    Nothing,
}

/// Model and server side by side.
struct Pair<'a> {
    model: Server,
    real: Real<'a>,
    times: Times,
    channels: &'a [Channel],
    pushes: redis::PubSub<'a>,
    heard: usize,
}

impl<'a> Pair<'a> {
    fn new(raw: &'a Raw, listener: &'a mut redis::Connection, channels: &'a [Channel]) -> Self {
        let times = Times {
            drops: DROPS,
            ..Config::three(CALM).times
        };
        let mut pushes = listener.as_pubsub();
        pushes
            .psubscribe(format!("{}*", real::channel(0).trim_end_matches('0')))
            .unwrap();
        pushes.set_read_timeout(Some(timing::lease())).unwrap();
        Self {
            model: Server::default(),
            real: Real::new(raw, times, channels),
            times,
            channels,
            pushes,
            heard: 0,
        }
    }

    fn step(&mut self, step: &Step) {
        let (times, channels) = (self.times, self.channels);
        let owner = self.model.owner;
        let who = |ticket| match owner {
            Some(owner) if ticket == OWNER => owner.ticket,
            _ => ticket,
        };
        let (model, real) = (&mut self.model, &mut self.real);
        let mut parts = Vec::new();
        let expected = match *step {
            Step::Ask {
                ticket,
                age,
                queues,
                most,
            } => {
                let valid = times.answer;
                let ask = Ask {
                    ticket: who(ticket),
                    age,
                    valid,
                    queues,
                    most,
                };
                parts = real.ask(ask);
                Answer::Asked(model.ask(&times, &ALL, ask, channels))
            }
            Step::Renew {
                ticket,
                back,
                lease,
            } => {
                let newest = match owner {
                    Some(owner) if ticket == OWNER => owner.token,
                    _ => model.last,
                };
                let (ticket, token) = (who(ticket), newest.saturating_sub(back));
                let times = Times { lease, ..times };
                parts = real.renew(ticket, token, lease);
                Answer::Renewed(model.renew(&times, &ALL, ticket, token))
            }
            Step::Release(ticket) => {
                let ticket = who(ticket);
                parts = real.release(ticket);
                Answer::Released(model.release(&times, &ALL, ticket, channels))
            }
            Step::Keep(ticket, keep) => {
                let ticket = who(ticket);
                parts = real.keep(ticket, keep);
                Answer::Released(model.keep(ticket, keep))
            }
            Step::Withdraw(ticket) => {
                let ticket = who(ticket);
                parts = real.withdraw(ticket);
                Answer::Released(model.withdraw(&times, &ALL, ticket, channels))
            }
            Step::Tick => {
                model.tick(&ALL);
                real.tick();
                Answer::Nothing
            }
            Step::Flush => {
                model.flush(&ALL);
                real.lose(None);
                Answer::Nothing
            }
            Step::LoseRecord => {
                model.owner = None;
                real.lose(Some(0));
                Answer::Nothing
            }
            Step::LoseTickets => {
                // whose deadline isn't known counts as dead
                model.queue.iter_mut().for_each(|waiter| waiter.alive = 0);
                real.lose(Some(2));
                Answer::Nothing
            }
            Step::LoseNumber => {
                // the clock takes over
                real.lose(Some(3));
                Answer::Nothing
            }
        };
        self.compare();
        let real = &mut self.real;
        let answer = match expected {
            Answer::Asked(_) => Answer::Asked(real.asked(&parts)),
            Answer::Renewed(_) => Answer::Renewed(parts == ["1"]),
            Answer::Released(_) => Answer::Released(real.released(&parts)),
            Answer::Nothing => Answer::Nothing,
        };
        assert_eq!(
            answer, expected,
            "{step:?}: the script's answer, the model's"
        );
        self.listen();
    }

    fn compare(&mut self) {
        let stored = self.real.stored();
        let model = &self.model;
        // numbers are met in the order in which they were given
        let mut numbers: Vec<(Number, u64)> = Vec::new();
        let both = model.queue.iter().zip(&stored.queue);
        numbers.extend(both.map(|(waiter, there)| (waiter.number, there.1)));
        let both = model.owner.iter().zip(&stored.owner);
        numbers.extend(both.map(|(owner, there)| (owner.token, there.1)));
        numbers.sort_unstable();
        for (number, there) in numbers {
            assert!(
                self.real.is_number(number, there),
                "{there} is not number {number}"
            );
        }
        let model = &self.model;
        let place = |ticket: Ticket| {
            let there = stored.queue.iter().find(|waiter| waiter.0 == ticket);
            there.map_or(0, |waiter| waiter.1)
        };
        let queue = model.queue.iter();
        let expected = Stored {
            owner: model.owner.map(|owner| {
                let token = stored.owner.map_or(0, |there| there.1);
                (owner.ticket, token, i64::from(owner.left))
            }),
            queue: queue
                .map(|waiter| (waiter.ticket, place(waiter.ticket), i64::from(waiter.alive)))
                .collect(),
            queue_left: i64::from(model.queue_left),
        };
        assert_eq!(stored, expected, "what is stored, what the model has");
    }

    /// Every push of the model arrives, in order, and no other.
    fn listen(&mut self) {
        while self.heard < self.model.pushes.len() {
            let message = self
                .pushes
                .get_message()
                .expect("the push that the model sent");
            let words: String = message.get_payload().unwrap();
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let push = self.real.push(&words);
            assert_eq!(push, self.model.pushes[self.heard], "the push, the model's");
            let channel = self.channels[usize::from(push.ticket)];
            assert_eq!(message.get_channel_name(), real::channel(channel));
            self.heard += 1;
        }
    }
}

fn listener(server: &RedisServer) -> redis::Connection {
    let client = redis::Client::open(format!("redis://{}", server.address())).unwrap();
    client.get_connection().unwrap()
}

fn any_step() -> impl Strategy<Value = Step> {
    let ticket = prop_oneof![6 => 0_u8..6, 1 => Just(OWNER)];
    let most = prop::option::weighted(0.3, 0_usize..4);
    let queues = prop::bool::weighted(0.85);
    let ask =
        (ticket.clone(), 0_u8..3, queues, most).prop_map(|(ticket, age, queues, most)| Step::Ask {
            ticket,
            age,
            queues,
            most,
        });
    let keep = (ticket.clone(), 1_u8..6).prop_map(|(ticket, keep)| Step::Keep(ticket, keep));
    let renew = (ticket.clone(), 0_u16..3, 1_u8..6).prop_map(|(ticket, back, lease)| Step::Renew {
        ticket,
        back,
        lease,
    });
    prop_oneof![
        12 => ask,
        3 => renew,
        6 => ticket.clone().prop_map(Step::Release),
        2 => keep,
        3 => ticket.prop_map(Step::Withdraw),
        6 => Just(Step::Tick),
        1 => prop_oneof![
            Just(Step::Flush),
            Just(Step::LoseRecord),
            Just(Step::LoseTickets),
            Just(Step::LoseNumber),
        ],
    ]
}

#[test]
fn scripts_do_what_the_model_does() {
    let server = RedisServer::start();
    let raw = server.raw();
    let cases = Cases {
        cases: crate::checker::cases(),
        failure_persistence: None,
        max_shrink_time: 20_000,
        ..Cases::default()
    };
    TestRunner::new(cases)
        .run(&prop::collection::vec(any_step(), 1..60), |steps| {
            let mut listener = listener(&server);
            let mut pair = Pair::new(&raw, &mut listener, &[0, 0, 0, 1, 1, 2, 2]);
            steps.iter().for_each(|step| pair.step(step));
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// Around the bound of dead tickets that one call drops.
#[test]
fn scripts_drop_so_many_dead_tickets_a_call_as_the_model_does() {
    let server = RedisServer::start();
    let raw = server.raw();
    let ask = |ticket, queues| Step::Ask {
        ticket,
        age: 0,
        queues,
        most: None,
    };
    for dead in [63, 64, 65] {
        for lives in [false, true] {
            for last in [
                ask(200, true),
                ask(200, false),
                Step::Release(0),
                Step::Withdraw(0),
            ] {
                let mut listener = listener(&server);
                let channels: Vec<Channel> = (0..=255).collect();
                let mut pair = Pair::new(&raw, &mut listener, &channels);
                let mut steps: Vec<Step> = (0..=dead).map(|ticket| ask(ticket, true)).collect();
                steps.extend([Step::Tick, Step::Tick]);
                if lives {
                    steps.push(ask(199, true));
                }
                // the record of 0 is still there for those who give it back
                match last {
                    Step::Ask { .. } => steps.push(Step::Tick),
                    _ => steps.extend([
                        Step::Renew {
                            ticket: 0,
                            back: model_numbers(dead, lives),
                            lease: 3,
                        },
                        Step::Tick,
                    ]),
                }
                steps.extend([
                    last.clone(),
                    last.clone(),
                    last,
                    ask(201, true),
                    ask(201, true),
                    ask(201, true),
                ]);
                steps.iter().for_each(|step| pair.step(step));
            }
        }
    }
}

/// How many numbers were given after the token of the first ticket.
fn model_numbers(dead: u8, lives: bool) -> Number {
    Number::from(dead) + Number::from(lives)
}
