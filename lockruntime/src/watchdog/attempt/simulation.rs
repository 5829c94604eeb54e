//! Many seeded runs of whole callers against the reference store, under a network and processes that fail.
//!
//! Requests are slow, lost, executed twice or without an answer; pushes are lost, late and repeated; processes pause and crash;
//! callers cancel, extend, have caps and minimum holds; they hold the lock alone, as readers, or by permits. In every millisecond: a
//! body that may run owns the lock with its token, and those that run beside each other share it. At the end nothing is left.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::backend::memory::Store;
use crate::backend::{Ask, Holder, Notice, Renew, Wakeups};
use crate::hold::{Bounds, Life, Turn};
use crate::key::LockKey;
use crate::options::{OnLost, Sharing};
use crate::token::OwnerToken;

const PROCESSES: usize = 3;
const CALLERS: usize = 6;
const END: u64 = 6_000;
const LEASE: u64 = 120;
const KEY: &str = "lib_lock:app:prod:k";

#[derive(Clone, Copy, Debug)]
enum Request {
    Ask,
    Renew(FencingToken, Duration),
    Release,
    Keep(Duration),
    Withdraw,
}

/// What becomes of the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answers {
    Comes,
    Lost,
    /// A second copy of a request: the first one's answer counts.
    Nobody,
}

enum Event {
    Execute(usize, OwnerToken, Request, Moment, Answers),
    Asked(usize, OwnerToken, Moment, Asked),
    Renewed(usize, OwnerToken, Moment, Result<Renewed, BackendError>),
    Released(usize, OwnerToken, Moment, Result<Released, BackendError>),
    Withdrawn(usize, OwnerToken, Moment, Result<Withdrawn, BackendError>),
    Push(HandOver),
}

struct Caller {
    process: usize,
    ticket: Option<OwnerToken>,
    body_until: Option<Moment>,
    cancels_at: Option<Moment>,
    idle_until: Moment,
}

struct World {
    rng: StdRng,
    now: Moment,
    store: Store,
    pushes: Arc<Mutex<Vec<HandOver>>>,
    events: BinaryHeap<Reverse<(Moment, u64)>>,
    bodies: HashMap<u64, Event>,
    next: u64,
    attempts: HashMap<OwnerToken, (usize, Attempt)>,
    callers: Vec<Caller>,
    paused_until: [Moment; PROCESSES],
    channels: Vec<Arc<str>>,
    kinds: &'static [Sharing],
    sharings: HashMap<OwnerToken, Sharing>,
    newest: u64,
    grants: u64,
    /// The most bodies that ran at one time.
    beside: usize,
    faults: bool,
}

fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

impl World {
    fn new(seed: u64, kinds: &'static [Sharing]) -> Self {
        let pushes = Arc::new(Mutex::new(Vec::new()));
        let channels: Vec<Arc<str>> = (0..PROCESSES)
            .map(|process| process.to_string().into())
            .collect();
        let mut store = Store::default();
        for channel in &channels {
            let pushes = Arc::clone(&pushes);
            store.listen(
                channel,
                Wakeups::new(move |notice| {
                    if let Notice::HandedOver(hand_over) = notice {
                        pushes.lock().unwrap().push(hand_over);
                    }
                }),
            );
        }
        let now = Moment::ZERO + Duration::from_secs(1);
        let callers = (0..CALLERS)
            .map(|i| Caller {
                process: i % PROCESSES,
                ticket: None,
                body_until: None,
                cancels_at: None,
                idle_until: now,
            })
            .collect();
        Self {
            rng: StdRng::seed_from_u64(seed),
            now,
            store,
            pushes,
            events: BinaryHeap::new(),
            bodies: HashMap::new(),
            next: 0,
            attempts: HashMap::new(),
            callers,
            paused_until: [Moment::ZERO; PROCESSES],
            channels,
            kinds,
            sharings: HashMap::new(),
            newest: 0,
            grants: 0,
            beside: 0,
            faults: true,
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.faults && self.rng.random_range(0..100) < percent
    }

    fn later(&mut self, delay: u64, event: Event) {
        self.next += 1;
        self.events.push(Reverse((self.now + ms(delay), self.next)));
        self.bodies.insert(self.next, event);
    }

    fn delay(&mut self) -> u64 {
        let most = if self.chance(10) { 60 } else { 2 };
        self.rng.random_range(0..=most)
    }

    fn awake(&self, process: usize) -> bool {
        self.now >= self.paused_until[process]
    }

    fn step(&mut self, ticket: OwnerToken, step: impl FnOnce(&mut Attempt, &mut Calls)) {
        let Some((process, attempt)) = self.attempts.get_mut(&ticket) else {
            return;
        };
        let process = *process;
        let mut calls = Calls::new();
        step(attempt, &mut calls);
        let over = attempt.is_over();
        let renewal = attempt.renewal();
        for call in calls {
            let request = match call {
                Call::Ask => Request::Ask,
                Call::Renew => {
                    let (token, length, _) = renewal.unwrap();
                    Request::Renew(token, length)
                }
                Call::Release => Request::Release,
                Call::Keep(left) => Request::Keep(left),
                Call::Withdraw => Request::Withdraw,
            };
            self.send(process, ticket, request);
        }
        if over {
            self.attempts.remove(&ticket);
        }
    }

    fn send(&mut self, process: usize, ticket: OwnerToken, request: Request) {
        let sent = self.now;
        let answers = if self.chance(8) {
            Answers::Lost
        } else {
            Answers::Comes
        };
        if self.chance(4) {
            // lost on the way
            self.unanswered(process, ticket, request, sent);
        } else {
            let delay = self.delay();
            self.later(
                delay,
                Event::Execute(process, ticket, request, sent, answers),
            );
            if self.chance(5) {
                let delay = self.rng.random_range(0..300);
                self.later(
                    delay,
                    Event::Execute(process, ticket, request, sent, Answers::Nobody),
                );
            }
        }
    }

    fn unanswered(&mut self, process: usize, ticket: OwnerToken, request: Request, sent: Moment) {
        let error = || BackendError::new(BackendErrorKind::Timeout, "no answer");
        let timing = timing();
        let wait = |world: &Self| {
            u64::try_from((sent + timing.answer).since(world.now).as_millis()).unwrap() + 1
        };
        let last = server(sent + timing.answer);
        let event = match request {
            Request::Ask => Event::Asked(process, ticket, sent, Asked::new(Err(error()), last)),
            Request::Renew(..) => Event::Renewed(process, ticket, sent, Err(error())),
            Request::Release | Request::Keep(_) => {
                Event::Released(process, ticket, sent, Err(error()))
            }
            Request::Withdraw => Event::Withdrawn(process, ticket, sent, Err(error())),
        };
        let delay = wait(self);
        self.later(delay, event);
    }

    /// The server runs a request; an answer that would come too late is none, but for that of a renewal.
    fn execute(
        &mut self,
        process: usize,
        ticket: OwnerToken,
        request: Request,
        sent: Moment,
        answers: Answers,
    ) {
        let (record, channel): (Arc<str>, _) = (KEY.into(), Arc::clone(&self.channels[process]));
        let now = self.now;
        let sharing = self.sharings[&ticket];
        let back = self.delay();
        let in_time = now + ms(back) <= sent + timing().answer;
        let event = match request {
            Request::Ask if now > sent + timing().answer => None,
            Request::Ask => {
                let mut ask = ask(record, ticket, sharing, channel);
                if let Some((_, attempt)) = self.attempts.get(&ticket) {
                    (ask.mode, ask.max_waiters) = (attempt.mode(), attempt.max_waiters());
                }
                let answer = self.store.ask(&ask, now);
                Some(Event::Asked(
                    process,
                    ticket,
                    sent,
                    Asked::new(Ok(answer), 0),
                ))
            }
            Request::Renew(token, lease) => {
                let renew = Renew {
                    record,
                    ticket,
                    sharing,
                    token,
                    lease,
                    timeout: timing().answer,
                };
                Some(Event::Renewed(
                    process,
                    ticket,
                    sent,
                    Ok(self.store.renew(&renew, now)),
                ))
            }
            Request::Release | Request::Keep(_) => {
                let keep = if let Request::Keep(left) = request {
                    Some(left)
                } else {
                    None
                };
                let released = self
                    .store
                    .release(&record, ticket, &channel, false, keep, now);
                Some(Event::Released(process, ticket, sent, Ok(released)))
            }
            Request::Withdraw => {
                let released = self
                    .store
                    .release(&record, ticket, &channel, true, None, now);
                Some(Event::Withdrawn(
                    process,
                    ticket,
                    sent,
                    Ok(Withdrawn::new(released, server(now))),
                ))
            }
        };
        match (event, answers) {
            (_, Answers::Nobody) => {}
            (Some(event), Answers::Comes) if in_time => self.later(back, event),
            // told that it isn't answered, and later that it was executed after all
            (Some(event @ Event::Renewed(..)), Answers::Comes) => {
                self.unanswered(process, ticket, request, sent);
                self.later(back, event);
            }
            _ => self.unanswered(process, ticket, request, sent),
        }
        let pushes = std::mem::take(&mut *self.pushes.lock().unwrap());
        for push in pushes {
            if !self.chance(25) {
                let delay = self.delay();
                self.later(delay, Event::Push(push));
            }
            if self.chance(10) {
                let delay = self.rng.random_range(0..400);
                self.later(delay, Event::Push(push));
            }
        }
    }

    fn happen(&mut self, event: Event) {
        let now = self.now;
        let spread = self.rng.random();
        match event {
            Event::Execute(process, ticket, request, sent, answers) => {
                self.execute(process, ticket, request, sent, answers)
            }
            Event::Asked(process, ..)
            | Event::Renewed(process, ..)
            | Event::Released(process, ..)
            | Event::Withdrawn(process, ..)
                if !self.awake(process) =>
            {
                let wait =
                    u64::try_from(self.paused_until[process].since(now).as_millis()).unwrap() + 1;
                self.later(wait, event);
            }
            Event::Asked(_, ticket, sent, asked) => self.step(ticket, |attempt, calls| {
                attempt.asked(asked, sent, now, true, spread, calls)
            }),
            Event::Renewed(_, ticket, sent, result) => self.step(ticket, |attempt, calls| {
                attempt.renewed(result, sent, now, calls)
            }),
            Event::Released(_, ticket, sent, result) => {
                let next = result.as_ref().ok().copied();
                self.step(ticket, |attempt, calls| {
                    attempt.released(&result, now, calls)
                });
                self.name(next, sent);
            }
            Event::Withdrawn(_, ticket, sent, result) => {
                let next = result.as_ref().ok().map(|withdrawn| withdrawn.released);
                self.step(ticket, |attempt, calls| {
                    attempt.withdrawn(&result, now, calls)
                });
                self.name(next, sent);
            }
            Event::Push(hand_over) => {
                let process = self
                    .attempts
                    .get(&hand_over.ticket)
                    .map(|(process, _)| *process);
                match process {
                    Some(process) if !self.awake(process) => self.later(5, Event::Push(hand_over)),
                    _ => self.step(hand_over.ticket, |attempt, calls| {
                        attempt.handed_over(hand_over, now, calls)
                    }),
                }
            }
        }
    }

    fn name(&mut self, released: Option<Released>, sent: Moment) {
        let now = self.now;
        if let Some(Released::Next(hand_over)) = released {
            self.step(hand_over.ticket, |attempt, calls| {
                attempt.named(hand_over, sent, now, calls)
            });
        }
    }

    fn tick_attempts(&mut self) {
        let now = self.now;
        let due: BTreeSet<_> = self
            .attempts
            .iter()
            .filter(|(_, (process, attempt))| {
                self.awake(*process) && attempt.due().is_some_and(|due| due <= now)
            })
            .map(|(ticket, _)| *ticket)
            .collect();
        for ticket in due {
            self.step(ticket, |attempt, calls| attempt.tick(now, calls));
        }
    }

    /// What the application does: asks, looks at its turn, runs, ends, cancels.
    fn callers_act(&mut self, starts: bool) {
        for i in 0..self.callers.len() {
            let (process, now) = (self.callers[i].process, self.now);
            if !self.awake(process) {
                continue;
            }
            let Some(ticket) = self.callers[i].ticket else {
                if starts && now >= self.callers[i].idle_until {
                    self.start(i);
                }
                continue;
            };
            let life = self
                .attempts
                .get(&ticket)
                .map(|(_, attempt)| Arc::clone(&attempt.order.life));
            let Some(life) = life else {
                self.rest(i);
                continue;
            };
            if let Some(until) = self.callers[i].body_until {
                let stopped = life.poll_stop(now, Waker::noop()).is_ready();
                if stopped || now >= until {
                    assert!(life.leave());
                    self.step(ticket, |attempt, calls| attempt.leave(now, false, calls));
                    self.rest(i);
                } else if self.rng.random_range(0..200) == 0 {
                    let length = ms(self.rng.random_range(LEASE / 2..4 * LEASE));
                    self.step(ticket, |attempt, calls| attempt.extend(length, now, calls));
                }
            } else if self.callers[i].cancels_at.is_some_and(|at| now >= at) {
                if life.leave() {
                    self.step(ticket, |attempt, calls| attempt.leave(now, false, calls));
                }
                self.rest(i);
            } else {
                match life.poll_turn(now, Waker::noop()) {
                    Poll::Ready(Turn::Begun { tell }) => {
                        let token = life.token().unwrap().get();
                        // those who share may begin in another order than that in which they were given the lock
                        let in_order = token > self.newest || !life.sharing.is_alone();
                        assert!(in_order, "a token went back");
                        self.newest = self.newest.max(token);
                        self.grants += 1;
                        let length = self.rng.random_range(0..3 * LEASE / 2);
                        self.callers[i].body_until = Some(now + ms(length));
                        life.start(now);
                        if tell || life.bounds.max_hold.is_some() {
                            self.step(ticket, |attempt, calls| attempt.begun(now, calls));
                        }
                    }
                    Poll::Ready(Turn::Late) => {
                        self.step(ticket, |attempt, calls| attempt.looked(now, calls));
                    }
                    Poll::Ready(Turn::Refused(_)) => self.rest(i),
                    Poll::Pending => {}
                }
            }
        }
    }

    fn start(&mut self, i: usize) {
        let mode = if self.rng.random_range(0..5) == 0 {
            Mode::Reject
        } else {
            Mode::Queue
        };
        let wait = (mode == Mode::Queue && self.rng.random_range(0..5) == 0)
            .then(|| ms(self.rng.random_range(0..200)));
        let bounds = Bounds {
            lease: ms(LEASE),
            watchdog: self.rng.random_range(0..5) > 0,
            max_hold: self.sometimes(LEASE),
            on_lost: OnLost::Cancel,
            longest: crate::options::LONGEST_LEASE,
        };
        let key = LockKey::from_text("k", 512).unwrap();
        let sharing = self.kinds[self.rng.random_range(0..self.kinds.len())];
        let life = Arc::new(Life::new(key, mode, bounds).shared(sharing));
        let ticket = life.ticket;
        self.sharings.insert(ticket, sharing);
        let order = Order {
            life,
            record: KEY.into(),
            holder: Arc::new(holder()),
            timing: timing(),
            wait,
            max_waiters: (self.rng.random_range(0..5) == 0).then_some(2),
            min_hold: self.sometimes(LEASE).unwrap_or_default(),
            release_timeout: ms(50),
            reentrant: true,
        };
        let now = self.now;
        let mut calls = Calls::new();
        let attempt = Attempt::new(order, now, &mut calls);
        self.attempts
            .insert(ticket, (self.callers[i].process, attempt));
        self.callers[i].ticket = Some(ticket);
        self.callers[i].cancels_at =
            (self.rng.random_range(0..4) == 0).then(|| now + ms(self.rng.random_range(0..150)));
        let process = self.callers[i].process;
        assert_eq!(calls, [Call::Ask]);
        self.send(process, ticket, Request::Ask);
    }

    /// Of one call in five, a time up to `most`.
    fn sometimes(&mut self, most: u64) -> Option<Duration> {
        (self.rng.random_range(0..5) == 0).then(|| ms(self.rng.random_range(0..most)))
    }

    fn rest(&mut self, i: usize) {
        let idle = self.rng.random_range(0..40);
        let caller = &mut self.callers[i];
        (caller.ticket, caller.body_until, caller.cancels_at) = (None, None, None);
        caller.idle_until = self.now + ms(idle);
    }

    fn disturb(&mut self) {
        let process = self.rng.random_range(0..PROCESSES);
        if self.rng.random_range(0..1000) < 3 && self.faults {
            self.paused_until[process] = self.now + ms(self.rng.random_range(0..3 * LEASE));
        }
        if self.rng.random_range(0..1000) < 1 && self.faults {
            // the process dies and starts anew; what it had sent still arrives
            self.attempts.retain(|_, (of, _)| *of != process);
            for i in 0..self.callers.len() {
                if self.callers[i].process == process {
                    self.rest(i);
                }
            }
        }
    }

    /// A body that may run owns the lock with its token, and those beside it share it, as many as may.
    fn check(&mut self) {
        let running: Vec<_> = self
            .callers
            .iter()
            .filter(|caller| caller.body_until.is_some())
            .filter_map(|caller| self.attempts.get(&caller.ticket?))
            .map(|(_, attempt)| &attempt.order.life)
            .filter(|life| life.is_live(self.now))
            .collect();
        let owners = self.store.owners(KEY, self.now);
        for life in &running {
            let owned = (life.ticket, life.token().unwrap());
            assert!(owners.contains(&owned), "a body runs without the lock");
            assert!(running.len() <= life.sharing.most(), "too many bodies");
            let beside = running.iter().filter(|other| other.ticket != life.ticket);
            let mut beside = beside.map(|other| other.sharing);
            assert!(beside.all(|other| life.sharing.shares_with(other)));
        }
        self.beside = self.beside.max(running.len());
    }

    fn run(&mut self) {
        let start = self.now;
        // faults end, then new work ends, then everything must end by itself
        while self.now < start + ms(END) {
            self.now = self.now + ms(1);
            self.faults = self.now < start + ms(END * 2 / 3);
            let starts = self.now < start + ms(END * 5 / 6);
            if self.faults {
                self.disturb();
            }
            while let Some(&Reverse((at, id))) = self.events.peek()
                && at <= self.now
            {
                self.events.pop();
                let event = self.bodies.remove(&id).unwrap();
                self.happen(event);
                self.check();
            }
            self.tick_attempts();
            self.check();
            self.callers_act(starts);
            self.check();
        }
        assert!(
            self.attempts.is_empty(),
            "left: {:?}",
            self.attempts.values().next()
        );
        let left = self.store.owners(KEY, self.now);
        assert_eq!(left, [], "the lock was left behind");
        assert!(
            self.grants > 20,
            "only {} grants: nothing was proved",
            self.grants
        );
    }
}

fn timing() -> Timing {
    Timing::new(ms(LEASE), ms(40), ms(100))
}

/// The server's clock is another one than ours.
fn server(moment: Moment) -> u64 {
    moment.as_nanos() / 1_000_000 + 5_000_000
}

fn holder() -> Holder {
    Holder {
        thread_id: 1,
        host_name: "h".to_owned(),
        process_name: "p".to_owned(),
        process_id: 1,
        name_of: String::new(),
        created: String::new(),
    }
}

fn ask(record: Arc<str>, ticket: OwnerToken, sharing: Sharing, channel: Arc<str>) -> Ask {
    let timing = timing();
    Ask {
        record,
        ticket,
        mode: Mode::Queue,
        sharing,
        max_waiters: None,
        lease: timing.lease,
        claim: timing.claim,
        beat: timing.beat,
        valid: timing.answer,
        channel,
        holder: Arc::new(holder()),
    }
}

/// Runs many worlds; answers the most bodies that ran at one time.
fn runs(kinds: &'static [Sharing], seeds: u64) -> usize {
    let mut most = 0;
    for seed in 0..seeds {
        let outcome = std::panic::catch_unwind(|| {
            let mut world = World::new(seed, kinds);
            world.run();
            world.beside
        });
        match outcome {
            Ok(beside) => most = most.max(beside),
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    most
}

#[test]
fn callers_exclude_each_other_whatever_fails() {
    assert_eq!(runs(&[Sharing::Alone], 80), 1);
}

#[test]
fn readers_share_and_writers_exclude_whatever_fails() {
    let most = runs(&[Sharing::Read, Sharing::Read, Sharing::Write], 30);
    assert!(most > 3, "{most} beside each other");
}

#[test]
fn no_more_bodies_than_permits_whatever_fails() {
    assert_eq!(runs(&[Sharing::Permits(3)], 30), 3);
}

/// Whoever holds the lock alone, or by another number of permits, is kept apart as well.
#[test]
fn those_who_share_otherwise_exclude_each_other_whatever_fails() {
    let kinds = &[Sharing::Permits(2), Sharing::Permits(3), Sharing::Alone];
    assert_eq!(runs(kinds, 30), 3);
}
