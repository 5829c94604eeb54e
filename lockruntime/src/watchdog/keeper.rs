//! The one background thread of a manager: timers, calls in flight, what came back.
//!
//! It decides nothing by itself: [`Attempt`] does, one per ticket. Calls run side by side, each bounded by its own time, so
//! that one slow key delays no other.

use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{mpsc, oneshot};

use crate::backend::{
    Ask, Asked, Backend, BackendError, BackendErrorKind, BoxFuture, Release, Released, Renew,
    Renewals, Renewed, Wakeups, Withdraw, Withdrawn,
};
use crate::clock::{self, Moment};
use crate::telemetry::{self, Observer};
use crate::token::OwnerToken;
use crate::watchdog::attempt::{Attempt, Call, Calls, Order};
use crate::watchdog::schedule::renewal_timeout;
use crate::watchdog::stuck::Looks;

/// At most so many renewals go into one batch, so that none holds the server for long.
const BATCH: usize = 500;
/// At most so many messages are taken before timers and answers are looked at.
const GULP: usize = 256;

/// A call beside all holds and waits, which reports by itself.
pub(crate) type BackendCall = Box<dyn FnOnce(&dyn Backend) -> BoxFuture<()> + Send>;

/// What callers and backends tell the keeper.
pub(crate) enum Message {
    Start(Box<Order>),
    Begun(OwnerToken),
    Looked(OwnerToken),
    Extend {
        ticket: OwnerToken,
        length: Duration,
    },
    Leave {
        ticket: OwnerToken,
        waits: bool,
    },
    Notice(crate::backend::Notice),
    Renewed {
        ticket: OwnerToken,
        sent: Moment,
        result: Result<Renewed, BackendError>,
    },
    Call(BackendCall),
    Shutdown {
        budget: Duration,
        done: oneshot::Sender<()>,
    },
}

/// How long a backend's own work may take in the end.
const FINISH: Duration = Duration::from_secs(1);

/// A call that came back.
enum Done {
    Asked(OwnerToken, Moment, Asked),
    Released(OwnerToken, Moment, Result<Released, BackendError>),
    Withdrawn(OwnerToken, Moment, Result<Withdrawn, BackendError>),
    /// The backend has nothing left to do by itself.
    Finished,
    Nothing,
}

/// What the backend does by itself for earlier calls, in the end.
#[derive(PartialEq)]
enum Rest {
    Unasked,
    Asked,
    Done,
}

/// A shutdown that is under way.
struct Stopping {
    bodies_until: Moment,
    /// Each with the end of its budget.
    done: Vec<(Moment, oneshot::Sender<()>)>,
}

pub(crate) struct Keeper {
    backend: Arc<dyn Backend>,
    channel: Arc<str>,
    inbox: mpsc::UnboundedReceiver<Message>,
    own: mpsc::WeakUnboundedSender<Message>,
    open: bool,
    attempts: HashMap<OwnerToken, Attempt>,
    timers: BTreeSet<(Moment, OwnerToken)>,
    calls: FuturesUnordered<BoxFuture<Done>>,
    /// The backend has answered before.
    known: bool,
    stopping: Option<Stopping>,
    rest: Rest,
    /// Renewals of this turn of the loop, sent together at its end.
    renewals: Vec<OwnerToken>,
    scratch: Calls,
    observer: Arc<Observer>,
    looks: Looks,
}

/// What the loop waits for.
enum Woken {
    Messages,
    Done(Done),
    Time,
}

impl Keeper {
    pub(crate) fn new(
        backend: Arc<dyn Backend>,
        channel: Arc<str>,
        inbox: mpsc::UnboundedReceiver<Message>,
        own: mpsc::WeakUnboundedSender<Message>,
        observer: Arc<Observer>,
    ) -> Self {
        Self {
            looks: Looks::new(observer.warn_after),
            observer,
            backend,
            channel,
            inbox,
            own,
            open: true,
            attempts: HashMap::new(),
            timers: BTreeSet::new(),
            calls: FuturesUnordered::new(),
            known: false,
            stopping: None,
            rest: Rest::Unasked,
            renewals: Vec::new(),
            scratch: Calls::new(),
        }
    }

    pub(crate) async fn work(mut self) {
        telemetry::observe_here(Arc::clone(&self.observer));
        let own = self.own.clone();
        let wakeups = Wakeups::new(move |notice| {
            if let Some(inbox) = own.upgrade() {
                // a closed inbox means that nobody waits any more
                drop(inbox.send(Message::Notice(notice)));
            }
        });
        let mut backend = Some(self.backend.run(&self.channel, wakeups));
        let mut messages = Vec::with_capacity(GULP);
        while self.open || !self.attempts.is_empty() || self.rest != Rest::Done {
            let woken = self.next(&mut backend, &mut messages).await;
            let now = clock::now();
            match woken {
                Woken::Messages => messages
                    .drain(..)
                    .for_each(|message| self.receive(message, now)),
                Woken::Done(done) => self.finish(done, now),
                Woken::Time => {}
            }
            self.fire_timers(now);
            self.look_for_stuck(now);
            self.send_renewals();
            self.finish_backend();
            self.stop(now);
        }
    }

    async fn next(
        &mut self,
        backend: &mut Option<BoxFuture<()>>,
        messages: &mut Vec<Message>,
    ) -> Woken {
        let due = self.due();
        let mut sleep = pin!(async {
            match due {
                Some(due) => clock::sleep_towards(due).await,
                None => std::future::pending().await,
            }
        });
        poll_fn(|context: &mut Context<'_>| {
            if let Some(work) = backend
                && work.as_mut().poll(context).is_ready()
            {
                *backend = None;
            }
            if self.open {
                match self.inbox.poll_recv_many(context, messages, GULP) {
                    Poll::Ready(0) => self.open = false,
                    Poll::Ready(_) => return Poll::Ready(Woken::Messages),
                    Poll::Pending => {}
                }
                if !self.open && self.attempts.is_empty() {
                    return Poll::Ready(Woken::Time);
                }
            }
            if let Poll::Ready(Some(done)) = self.calls.poll_next_unpin(context) {
                return Poll::Ready(Woken::Done(done));
            }
            Pin::new(&mut sleep)
                .as_mut()
                .poll(context)
                .map(|()| Woken::Time)
        })
        .await
    }

    fn due(&self) -> Option<Moment> {
        let timer = self.timers.first().map(|(due, _)| *due);
        let stops = self.stopping.iter().flat_map(|stopping| {
            let budgets = stopping.done.iter().map(|(until, _)| *until);
            budgets.chain([stopping.bodies_until])
        });
        let look = self.looks.due().filter(|_| !self.attempts.is_empty());
        timer.into_iter().chain(stops).chain(look).min()
    }

    fn receive(&mut self, message: Message, now: Moment) {
        match message {
            Message::Start(order) if self.stopping.is_some() => {
                let life = &order.life;
                life.refuse(crate::error::LockError::ShuttingDown {
                    key: life.key.clone(),
                    mode: life.mode,
                });
            }
            Message::Start(order) => {
                let ticket = order.life.ticket;
                let mut calls = std::mem::take(&mut self.scratch);
                self.attempts
                    .insert(ticket, Attempt::new(*order, now, &mut calls));
                self.after(ticket, None, calls);
            }
            Message::Begun(ticket) => self.step(ticket, |attempt, calls| attempt.begun(now, calls)),
            Message::Looked(ticket) => {
                self.step(ticket, |attempt, calls| attempt.looked(now, calls));
            }
            Message::Extend { ticket, length } => {
                self.step(ticket, |attempt, calls| attempt.extend(length, now, calls));
            }
            Message::Leave { ticket, waits } => {
                self.step(ticket, |attempt, calls| attempt.leave(now, waits, calls))
            }
            Message::Notice(crate::backend::Notice::HandedOver(hand_over)) => {
                self.step(hand_over.ticket, |attempt, calls| {
                    attempt.handed_over(hand_over, now, calls)
                });
            }
            Message::Notice(crate::backend::Notice::Reconnected) => {
                let tickets: Vec<_> = self.attempts.keys().copied().collect();
                for ticket in tickets {
                    self.step(ticket, |attempt, calls| attempt.hurry(now, calls));
                }
            }
            Message::Renewed {
                ticket,
                sent,
                result,
            } => {
                self.known |= result.is_ok();
                self.step(ticket, |attempt, calls| {
                    attempt.renewed(result, sent, now, calls)
                });
            }
            Message::Call(call) => {
                let called = call(&*self.backend);
                self.calls.push(Box::pin(async move {
                    called.await;
                    Done::Nothing
                }));
            }
            Message::Shutdown { budget, done } => self.begin_stop(budget, done, now),
        }
    }

    fn finish(&mut self, done: Done, now: Moment) {
        match done {
            Done::Asked(ticket, sent, asked) => {
                let known = self.known;
                self.known |= asked.answer.is_ok();
                self.step(ticket, |attempt, calls| {
                    attempt.asked(asked, sent, now, known, rand::random(), calls)
                });
            }
            Done::Released(ticket, sent, result) => {
                let next = result.as_ref().ok().copied();
                self.step(ticket, |attempt, calls| {
                    attempt.released(&result, now, calls)
                });
                self.name_next(next, sent, now);
            }
            Done::Withdrawn(ticket, sent, result) => {
                let next = result.as_ref().ok().map(|withdrawn| withdrawn.released);
                self.step(ticket, |attempt, calls| {
                    attempt.withdrawn(&result, now, calls)
                });
                self.name_next(next, sent, now);
            }
            Done::Finished => self.rest = Rest::Done,
            Done::Nothing => {}
        }
    }

    /// A release sent at `sent` named a waiter of this process as the next owner.
    fn name_next(&mut self, released: Option<Released>, sent: Moment, now: Moment) {
        if let Some(Released::Next(hand_over)) = released {
            self.step(hand_over.ticket, |attempt, calls| {
                attempt.named(hand_over, sent, now, calls)
            });
        }
    }

    fn fire_timers(&mut self, now: Moment) {
        while let Some(&(due, ticket)) = self.timers.first()
            && due <= now
        {
            self.timers.pop_first();
            self.step_from(ticket, Some(due), |attempt, calls| attempt.tick(now, calls));
        }
    }

    fn look_for_stuck(&mut self, now: Moment) {
        if let Some(after) = self.observer.warn_after
            && !self.attempts.is_empty()
            && self.looks.is_due(now)
        {
            let attempts = self.attempts.values_mut();
            attempts.for_each(|attempt| attempt.tell_stuck(after, now));
        }
    }

    fn step(&mut self, ticket: OwnerToken, step: impl FnOnce(&mut Attempt, &mut Calls)) {
        let Some(attempt) = self.attempts.get(&ticket) else {
            return;
        };
        let before = attempt.due();
        self.step_from(ticket, before, step);
    }

    fn step_from(
        &mut self,
        ticket: OwnerToken,
        before: Option<Moment>,
        step: impl FnOnce(&mut Attempt, &mut Calls),
    ) {
        let Some(attempt) = self.attempts.get_mut(&ticket) else {
            return;
        };
        let mut calls = std::mem::take(&mut self.scratch);
        step(attempt, &mut calls);
        if attempt.is_lost() {
            attempt.order.life.tell_loss(clock::now());
        }
        self.after(ticket, before, calls);
    }

    /// Sets the timer anew and sends what the step wants sent.
    fn after(&mut self, ticket: OwnerToken, before: Option<Moment>, mut calls: Calls) {
        let Some(attempt) = self.attempts.get(&ticket) else {
            return;
        };
        if let Some(before) = before {
            self.timers.remove(&(before, ticket));
        }
        if attempt.is_over() {
            self.attempts.remove(&ticket);
        } else if let Some(due) = attempt.due() {
            self.timers.insert((due, ticket));
        }
        for call in calls.drain(..) {
            self.send(ticket, call);
        }
        self.scratch = calls;
    }

    fn send(&mut self, ticket: OwnerToken, call: Call) {
        let Some(attempt) = self.attempts.get(&ticket) else {
            return;
        };
        let order = &attempt.order;
        let sent = clock::now();
        let call: BoxFuture<Done> = match call {
            Call::Renew => {
                self.renewals.push(ticket);
                return;
            }
            Call::Ask => {
                let ask = self.backend.ask(Ask {
                    record: Arc::clone(&order.record),
                    ticket,
                    mode: attempt.mode(),
                    sharing: order.life.sharing,
                    max_waiters: attempt.max_waiters(),
                    lease: order.timing.lease,
                    claim: order.timing.claim,
                    beat: order.timing.beat,
                    valid: attempt.ask_valid(),
                    channel: Arc::clone(&self.channel),
                    holder: Arc::clone(&order.holder),
                });
                Box::pin(async move { Done::Asked(ticket, sent, ask.await) })
            }
            Call::Release | Call::Keep(_) => {
                let keep = if let Call::Keep(left) = call {
                    Some(left)
                } else {
                    None
                };
                let release = self.backend.release(Release {
                    record: Arc::clone(&order.record),
                    ticket,
                    sharing: order.life.sharing,
                    channel: Arc::clone(&self.channel),
                    keep,
                    timeout: order.timing.request,
                });
                Box::pin(async move { Done::Released(ticket, sent, release.await) })
            }
            Call::Withdraw => {
                let withdraw = self.backend.withdraw(Withdraw {
                    record: Arc::clone(&order.record),
                    ticket,
                    sharing: order.life.sharing,
                    channel: Arc::clone(&self.channel),
                    timeout: order.timing.request,
                    holder: Arc::clone(&order.holder),
                });
                Box::pin(async move { Done::Withdrawn(ticket, sent, withdraw.await) })
            }
        };
        self.calls.push(call);
    }

    /// Sends the renewals of this turn, batch by batch. The answers come back through the inbox, one by one.
    fn send_renewals(&mut self) {
        if self.renewals.is_empty() {
            return;
        }
        let mut due = std::mem::take(&mut self.renewals);
        for chunk in due.chunks(BATCH) {
            let mut batch = Vec::with_capacity(chunk.len());
            let mut sent_by = Vec::with_capacity(chunk.len());
            for ticket in chunk {
                if let Some(attempt) = self.attempts.get(ticket)
                    && let Some((token, lease, sent)) = attempt.renewal()
                {
                    sent_by.push((*ticket, sent));
                    batch.push(Renew {
                        sharing: attempt.order.life.sharing,
                        record: Arc::clone(&attempt.order.record),
                        ticket: *ticket,
                        token,
                        lease,
                        timeout: renewal_timeout(attempt.order.timing.lease),
                    });
                }
            }
            // a keeper whose callers are all gone has nothing to renew
            let Some(inbox) = self.own.upgrade() else {
                continue;
            };
            let sent_by = Arc::new(sent_by);
            let report = {
                let (inbox, sent_by) = (inbox.clone(), Arc::clone(&sent_by));
                Renewals::new(move |index, result| {
                    if let Some(&(ticket, sent)) = sent_by.get(index) {
                        drop(inbox.send(Message::Renewed {
                            ticket,
                            sent,
                            result,
                        }));
                    }
                })
            };
            let renew = self.backend.renew(batch, report);
            self.calls.push(Box::pin(async move {
                renew.await;
                // what was reported is no longer under way and ignores this
                for &(ticket, sent) in sent_by.iter() {
                    let result = Err(BackendError::new(
                        BackendErrorKind::Timeout,
                        "the renewal was not answered",
                    ));
                    drop(inbox.send(Message::Renewed {
                        ticket,
                        sent,
                        result,
                    }));
                }
                Done::Nothing
            }));
        }
        due.clear();
        self.renewals = due;
    }

    fn begin_stop(&mut self, budget: Duration, done: oneshot::Sender<()>, now: Moment) {
        // what is left after the bodies is for telling the server
        let reserve = (budget / 5).min(Duration::from_secs(1));
        let stopping = self.stopping.get_or_insert(Stopping {
            bodies_until: Moment::END,
            done: Vec::new(),
        });
        // of several shutdowns the most impatient counts for the bodies, and each returns by its own budget
        stopping.bodies_until = stopping.bodies_until.min(now + (budget - reserve));
        stopping.done.push((now + budget, done));
        let tickets: Vec<_> = self.attempts.keys().copied().collect();
        for ticket in tickets {
            self.step(ticket, |attempt, calls| attempt.stop_waiting(now, calls));
        }
    }

    /// When no more work comes and none is left, lets the backend finish its own.
    fn finish_backend(&mut self) {
        let ends = !self.open || self.stopping.is_some();
        if ends && self.attempts.is_empty() && self.rest == Rest::Unasked {
            self.rest = Rest::Asked;
            let finish = self.backend.finish();
            self.calls.push(Box::pin(async move {
                // what takes too long is left to the leases
                let _ended = clock::within(FINISH, finish).await;
                Done::Finished
            }));
        }
    }

    /// Takes a shutdown further. New work stays refused for good.
    fn stop(&mut self, now: Moment) {
        let Some(stopping) = &mut self.stopping else {
            return;
        };
        let nothing_left = self.attempts.is_empty() && self.rest == Rest::Done;
        for (_, done) in stopping
            .done
            .extract_if(.., |(until, _)| nothing_left || now >= *until)
        {
            // whoever waited for it may have gone
            let _ = done.send(());
        }
        if now >= stopping.bodies_until {
            stopping.bodies_until = Moment::END;
            let tickets: Vec<_> = self
                .attempts
                .iter()
                .filter(|(_, a)| a.is_held())
                .map(|(ticket, _)| *ticket)
                .collect();
            for ticket in tickets {
                self.step(ticket, |attempt, _| attempt.stop_holding());
            }
        }
    }
}

impl Drop for Keeper {
    /// Empty after a normal end. After a panic nobody may be left waiting for a keeper that is no more.
    fn drop(&mut self) {
        self.inbox.close();
        while let Ok(message) = self.inbox.try_recv() {
            if let Message::Start(order) = message {
                Attempt::new(*order, clock::now(), &mut Calls::new()).abandon();
            }
        }
        self.attempts.values_mut().for_each(Attempt::abandon);
    }
}
