//! One ticket from its first ask until nothing of it is left: the keeper's side of the protocol, as a pure state machine.
//!
//! What happened and when comes in; which requests to send comes out, by way of [`Calls`]. The caller's side is told through
//! the shared [`Life`](crate::hold::Life). Late and repeated answers are harmless in every phase.
//!
//! It is one long room on purpose: each phase answers every event, and is read against the others.

#[cfg(test)]
mod bounds;
mod order;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod unsettled;

use std::time::Duration;

use crate::backend::{
    Answer, Asked, BackendError, BackendErrorKind, HandOver, Released, Renewed, Withdrawn,
};
use crate::clock::Moment;
use crate::error::{LockError, LossReason};
use crate::hold::Ending;
use crate::lease::Lease;
pub(crate) use order::{Call, Calls, Order};
use unsettled::Unsettled;

use crate::options::{Mode, Timing};
use crate::queue::{GaveUp, Waiter};
use crate::telemetry::Event;
use crate::token::FencingToken;
use crate::watchdog::handover::{Debt, HandingBack};
use crate::watchdog::schedule::Renewals;

#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) order: Order,
    waiter: Waiter,
    phase: Phase,
    /// An ask is on its way.
    asking: bool,
    /// A renewal is on its way since then.
    renewing: Option<Moment>,
    /// The storage was back while a renewal was on its way: who answers it may not be who has the lock now.
    doubted: bool,
    /// Some ask has been executed, or may have been: the server may know this ticket.
    touched: bool,
    /// Until then an unused grant may stand, which an ask would lengthen: no hint makes us ask earlier.
    lapses: Moment,
    /// When the hold ends whatever is renewed, once the caller has said that it started.
    cap: Moment,
    /// The longest lease that was ever asked for.
    longest: Duration,
    /// The manager shuts down.
    stopping: bool,
    /// The rank that was told last.
    told_rank: Option<u64>,
    /// How long the hold was when its caller left, and whether nobody waits for the release.
    left: (Duration, bool),
    /// The wait, the hold was told to take too long.
    told_stuck: (bool, bool),
    /// A hand-over was announced that didn't fit: ask again as soon as the present ask is answered.
    hinted: bool,
    unsettled: Unsettled,
}

#[derive(Debug)]
enum Phase {
    Waiting {
        next: Moment,
    },
    /// Given, and the caller hasn't looked yet. `told`: it will report when it does.
    Granted {
        renewals: Renewals,
        told: bool,
        /// The server has surely ended a grant that nobody took: not before it is asked for anew, which would lengthen it.
        lapses: Moment,
    },
    Held(Renewals),
    /// Lost, or over by its cap; the caller still has to drop its body, or has done so and says it soon.
    Lost(LossReason),
    HandingBack(HandingBack),
    /// Given back, and one more withdrawal has to be executed after the last ask that may still be under way.
    Settling {
        next: Moment,
        moot: Moment,
        in_flight: bool,
    },
    Over,
}

impl Attempt {
    pub(crate) fn new(order: Order, now: Moment, calls: &mut Calls) -> Self {
        let waiter = Waiter::new(order.timing, now, order.wait);
        let longest = order.timing.lease;
        let mut attempt = Self {
            order,
            waiter,
            phase: Phase::Waiting { next: now },
            asking: false,
            renewing: None,
            doubted: false,
            touched: false,
            lapses: Moment::ZERO,
            cap: Moment::END,
            longest,
            stopping: false,
            told_rank: None,
            left: (Duration::ZERO, true),
            told_stuck: (false, false),
            hinted: false,
            unsettled: Unsettled::default(),
        };
        attempt.tick(now, calls);
        attempt
    }

    /// The mode that goes to the server: no wait is one try that leaves nothing behind.
    pub(crate) fn mode(&self) -> Mode {
        match self.order.life.mode {
            Mode::Queue if self.order.wait != Some(Duration::ZERO) => Mode::Queue,
            Mode::Queue | Mode::Reject | Mode::Skip => Mode::Reject,
        }
    }

    /// How long an ask may take. One that isn't repeated needn't hurry.
    pub(crate) fn ask_valid(&self) -> Duration {
        match self.mode() {
            Mode::Queue => self.order.timing.answer,
            Mode::Reject | Mode::Skip => self.order.timing.request,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Whether a body may be running.
    pub(crate) fn is_held(&self) -> bool {
        matches!(
            self.phase,
            Phase::Granted { .. } | Phase::Held(_) | Phase::Lost(_)
        )
    }

    /// Whether the lock was lost and the body still has to go.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.phase, Phase::Lost(_))
    }

    /// The renewal that is to be sent: the token of the hold, the length, and when it counts as sent.
    pub(crate) fn renewal(&self) -> Option<(FencingToken, Duration, Moment)> {
        match (&self.phase, self.renewing) {
            (Phase::Held(renewals), Some(sent)) => {
                Some((renewals.lease.token, renewals.length(), sent))
            }
            _ => None,
        }
    }

    /// The longest queue that the server may put this ticket into.
    pub(crate) fn max_waiters(&self) -> Option<u32> {
        self.order
            .max_waiters
            .filter(|_| self.mode() == Mode::Queue)
    }

    /// When to call [`Attempt::tick`] next.
    pub(crate) fn due(&self) -> Option<Moment> {
        match &self.phase {
            Phase::Waiting { next } => {
                let next = (!self.asking).then_some(*next);
                let limit = self.waiter.limit().filter(|_| self.mode() == Mode::Queue);
                [next, limit].into_iter().flatten().min()
            }
            Phase::Granted {
                renewals,
                told: true,
                ..
            } => Some(renewals.lease.start_by()),
            Phase::Granted {
                renewals,
                told: false,
                ..
            } => Some(renewals.due()),
            Phase::Held(renewals) => Some(renewals.due().min(self.cap)),
            Phase::HandingBack(back) => back.due(),
            Phase::Settling {
                next,
                moot,
                in_flight,
            } => (!*in_flight && !self.asking).then(|| (*next).min(*moot)),
            Phase::Lost(reason) => {
                let runs_on = self.order.life.bounds.runs_on(*reason);
                Some(self.cap).filter(|cap| runs_on && *cap < Moment::END)
            }
            Phase::Over => None,
        }
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now: Moment, calls: &mut Calls) {
        match &mut self.phase {
            Phase::Waiting { next } => {
                let asks = !self.asking && now >= *next;
                if self.mode() == Mode::Queue
                    && let Some(gave_up) = self.waiter.gives_up(now)
                {
                    let error = self.gave_up(gave_up);
                    self.refuse(error, now, calls);
                } else if asks {
                    self.asking = true;
                    self.hinted = false;
                    calls.push(Call::Ask);
                }
            }
            Phase::Granted {
                renewals, lapses, ..
            } if now >= renewals.lease.start_by() => {
                let lapses = *lapses;
                if self.order.life.take_back() {
                    self.lapses = lapses;
                    self.phase = Phase::Waiting { next: lapses };
                    self.tick(now, calls);
                } else {
                    self.begun(now, calls);
                }
            }
            Phase::Granted { renewals, told, .. } => {
                if renewals.wants_renewal(now) && !*told {
                    if self.order.life.has_begun_or_tells() {
                        self.begun(now, calls);
                    } else {
                        *told = true;
                    }
                }
            }
            Phase::Held(renewals) => {
                // the caller may have left, or seen the deadline before us: then nothing is renewed any more
                if renewals.is_over(now) || !self.order.life.is_live(now) {
                    let ran_out = self.order.life.run_out();
                    self.phase = Phase::Lost(ran_out.unwrap_or(LossReason::GivenBack));
                } else if renewals.wants_renewal(now) && self.renewing.is_none() {
                    self.renewing = Some(now);
                    renewals.sent();
                    calls.push(Call::Renew);
                }
            }
            Phase::HandingBack(back) => {
                if back.patience_ended(now) {
                    self.order.life.gone(Ending::Unconfirmed);
                }
                if back.is_moot(now) {
                    self.order.life.gone(Ending::Unconfirmed);
                    self.phase = Phase::Over;
                } else if back.send(now) {
                    calls.push(match (back.debt, back.keeps(now)) {
                        (Debt::Lock, Some(left)) => Call::Keep(left),
                        (Debt::Lock, None) => Call::Release,
                        (Debt::Ticket, _) => Call::Withdraw,
                    });
                }
            }
            Phase::Settling {
                next,
                moot,
                in_flight,
            } => {
                if *in_flight || self.asking {
                    // its answer is waited for
                } else if now >= *moot {
                    self.phase = Phase::Over;
                } else if now >= *next {
                    *in_flight = true;
                    calls.push(Call::Withdraw);
                }
            }
            // a body that runs on after a loss ends here; for the server it stays a loss
            Phase::Lost(_) if now >= self.cap => {
                self.order.life.lose(LossReason::CapReached);
                self.cap = Moment::END;
            }
            Phase::Lost(_) | Phase::Over => {}
        }
    }

    /// The caller has looked at its grant and goes on, or starts its work.
    pub(crate) fn begun(&mut self, now: Moment, calls: &mut Calls) {
        self.cap = self.order.life.cap();
        if let Phase::Granted { .. } = self.phase
            && let Phase::Granted { renewals, .. } = std::mem::replace(&mut self.phase, Phase::Over)
        {
            self.phase = Phase::Held(renewals);
            self.tick(now, calls);
        }
    }

    /// The body wants its lock for `length` from now on, and a renewal that says so.
    pub(crate) fn extend(&mut self, length: Duration, now: Moment, calls: &mut Calls) {
        // a caller that extends has begun, whether or not we were to be told
        self.begun(now, calls);
        if let Phase::Held(renewals) = &mut self.phase {
            renewals.extend(length, self.renewing.is_none());
            self.longest = self.longest.max(length);
            self.tick(now, calls);
        }
    }

    /// The caller has looked at its grant on its last breath: it is there, so the grant may be lengthened.
    pub(crate) fn looked(&mut self, now: Moment, calls: &mut Calls) {
        let taken_back = match self.phase {
            Phase::Granted { .. } => self.order.life.take_back(),
            Phase::Waiting { .. } => true,
            Phase::Held(_)
            | Phase::Lost(_)
            | Phase::HandingBack(_)
            | Phase::Settling { .. }
            | Phase::Over => false,
        };
        if taken_back {
            self.lapses = Moment::ZERO;
            self.phase = Phase::Waiting { next: now };
            self.tick(now, calls);
        }
    }

    /// The caller has left: its body is dropped, or it waits no longer. `waits`: it wants to know how the release ends, which may
    /// be said later.
    pub(crate) fn leave(&mut self, now: Moment, waits: bool, calls: &mut Calls) {
        let debt = match self.phase {
            Phase::Waiting { .. } => Debt::Ticket,
            Phase::Granted { .. } | Phase::Held(_) | Phase::Lost(_) => Debt::Lock,
            Phase::HandingBack(ref mut back) => {
                // left behind by a drop, and somebody wants to know now
                if waits {
                    back.wait(now + self.order.release_timeout);
                    self.left.1 = false;
                }
                return;
            }
            Phase::Settling { .. } | Phase::Over => return,
        };
        let patience = waits.then(|| now + self.order.release_timeout);
        self.left = (self.order.life.held_for(now), !waits);
        let reason = if let Phase::Lost(reason) = self.phase {
            reason
        } else {
            LossReason::GivenBack
        };
        let lost = reason != LossReason::GivenBack;
        // what was lost isn't ours to keep; at its cap it still is
        let ours = !lost || reason == LossReason::CapReached;
        let started = self.order.life.started().filter(|_| ours);
        let keep_until = started.map(|started| started + self.order.min_hold);
        self.hand_back(debt, patience, keep_until, now, calls);
        if lost && let Phase::HandingBack(back) = &mut self.phase {
            // that was told already
            back.tells();
        }
    }

    /// An ask sent at `sent` came back. `known`: this backend has answered before.
    pub(crate) fn asked(
        &mut self,
        asked: Asked,
        sent: Moment,
        now: Moment,
        known: bool,
        spread: f64,
        calls: &mut Calls,
    ) {
        self.asking = false;
        let server_mode = self.mode();
        self.touched |= asked.answer.is_ok() || asked.last > 0;
        if asked.answer.is_err() {
            self.unsettled
                .unanswered(asked.last, sent + self.ask_valid());
        }
        match (&mut self.phase, asked.answer) {
            (Phase::Waiting { next }, Ok(Answer::Waiting { number, rank, left })) => {
                *next = self.waiter.placed(sent, now, number, rank, left, spread);
                if self.hinted {
                    *next = now;
                }
                self.tell_rank(rank);
            }
            (Phase::Waiting { next }, Ok(Answer::Held { token })) => {
                let lease = Lease {
                    token,
                    from: sent,
                    length: self.order.timing.lease,
                };
                if now < lease.start_by() {
                    self.grant(lease, now);
                } else {
                    *next = now;
                }
            }
            (Phase::Waiting { .. }, Ok(Answer::Busy { left, waiting })) => {
                let error = self.busy(left, waiting, now);
                self.order.life.refuse(error);
                // nothing of this ticket is stored, unless an earlier ask is still under way
                self.settle(now);
            }
            (Phase::Waiting { .. }, Ok(Answer::Differs { present })) => {
                self.order.life.refuse(self.order.life.differs(present));
                self.settle(now);
            }
            (Phase::Waiting { next }, Err(error)) => {
                let outcome = match server_mode {
                    Mode::Reject | Mode::Skip => Err(error),
                    Mode::Queue => self.waiter.failed(sent, now, error, known, spread),
                };
                match outcome {
                    Ok(again) => *next = again,
                    Err(error) => {
                        let error = LockError::from_backend(
                            self.order.life.key.clone(),
                            self.order.life.mode,
                            error,
                        );
                        self.refuse(error, now, calls);
                    }
                }
            }
            (Phase::Granted { .. } | Phase::Held(_), Ok(Answer::Held { token })) => {
                self.confirmed_by_ask(token, sent, now, calls)
            }
            // the ticket stands in the queue anew, after its grant: the server had forgotten it (places and tokens are numbers
            // of one counter)
            (
                Phase::Granted { renewals, .. } | Phase::Held(renewals),
                Ok(Answer::Waiting { number, .. }),
            ) if number > renewals.lease.token.get() => {
                self.unsettled.crossed();
            }
            (Phase::Lost(_), Ok(Answer::Waiting { .. })) => self.unsettled.crossed(),
            // an ask that came back after the lock was given back: it may have been executed later
            (
                Phase::HandingBack(_) | Phase::Settling { .. },
                Ok(Answer::Held { .. } | Answer::Waiting { .. }),
            ) => {
                self.unsettled.crossed();
            }
            _ => {}
        }
        self.tick(now, calls);
    }

    /// A hand-over to this ticket was announced.
    pub(crate) fn handed_over(&mut self, hand_over: HandOver, now: Moment, calls: &mut Calls) {
        if let Phase::Waiting { next } = &mut self.phase {
            match self.waiter.handed_over(hand_over, now) {
                Some(lease) => self.grant(lease, now),
                None => {
                    *next = now.max(self.lapses);
                    self.hinted = true;
                    self.tick(now, calls);
                }
            }
        }
    }

    /// A release of this process, sent at `sent`, gave the lock to this ticket for its whole lease.
    pub(crate) fn named(
        &mut self,
        hand_over: HandOver,
        sent: Moment,
        now: Moment,
        calls: &mut Calls,
    ) {
        if let Phase::Waiting { next } = &mut self.phase {
            let lease = Lease {
                token: hand_over.token,
                from: sent,
                length: self.order.timing.lease,
            };
            if now < lease.start_by() {
                self.grant(lease, now);
            } else {
                *next = now;
                self.hinted = true;
                self.tick(now, calls);
            }
        }
    }

    /// A renewal sent at `sent` came back, or never will.
    pub(crate) fn renewed(
        &mut self,
        result: Result<Renewed, BackendError>,
        sent: Moment,
        now: Moment,
        calls: &mut Calls,
    ) {
        let late = self.renewing != Some(sent);
        if late {
            // the next one may be under way; that this one was executed after `sent` counts all the same
            if let (Phase::Held(renewals), Ok(Renewed::Renewed)) = (&mut self.phase, result)
                && renewals.confirmed_late(sent)
            {
                self.order.life.extend(renewals.lease, sent);
            }
            return;
        }
        self.renewing = None;
        let doubted = std::mem::take(&mut self.doubted);
        if let Phase::Held(renewals) = &mut self.phase {
            match result {
                Ok(Renewed::Renewed) => {
                    renewals.confirmed(sent);
                    let life = &self.order.life;
                    life.extend(renewals.lease, sent);
                    let lock = life.subject();
                    life.tell(&Event::Renewed { lock });
                    if doubted {
                        renewals.hurry(now);
                    }
                }
                Ok(Renewed::Lost) => self.lose(LossReason::Taken),
                Err(error) if error.kind() == BackendErrorKind::Foreign => {
                    self.lose(LossReason::Taken)
                }
                Err(error) => {
                    renewals.failed(sent, now);
                    let life = &self.order.life;
                    life.tell(&Event::RenewalFailed {
                        lock: life.subject(),
                        error: &error,
                        left: life.deadline().since(now),
                    });
                }
            }
        }
        self.tick(now, calls);
    }

    /// A release came back.
    pub(crate) fn released(
        &mut self,
        result: &Result<Released, BackendError>,
        now: Moment,
        calls: &mut Calls,
    ) {
        if let Phase::HandingBack(back) = &mut self.phase {
            let life = &self.order.life;
            match result {
                Ok(Released::Kept) => {
                    back.kept();
                    life.gone(Ending::Released);
                    // the server ends it at its time whether or not we are here
                    if self.stopping {
                        self.settle(now);
                    }
                }
                Ok(released) => {
                    let ending = back.ending(*released != Released::NotHeld);
                    let lock = life.subject();
                    if ending != Ending::NotHeld {
                        let (held, dropped) = self.left;
                        life.tell(&Event::Released {
                            lock,
                            held,
                            dropped,
                        });
                    } else if back.tells() {
                        life.tell(&Event::NotOurs { lock });
                    }
                    life.gone(ending);
                    self.settle(now);
                }
                Err(error) => {
                    if back.tells() {
                        let lock = life.subject();
                        life.tell(&Event::ReleaseFailed { lock, error });
                    }
                    back.failed(now);
                }
            }
        }
        self.tick(now, calls);
    }

    /// A withdrawal came back.
    pub(crate) fn withdrawn(
        &mut self,
        result: &Result<Withdrawn, BackendError>,
        now: Moment,
        calls: &mut Calls,
    ) {
        match &mut self.phase {
            Phase::HandingBack(back) => match result {
                Ok(withdrawn) => {
                    let life = &self.order.life;
                    life.gone(back.ending(withdrawn.released != Released::NotHeld));
                    let lock = life.subject();
                    life.tell(&Event::Withdrawn { lock });
                    self.unsettled.withdrawn(withdrawn.now, now, false);
                    self.settle(now);
                }
                Err(_) => back.failed(now),
            },
            Phase::Settling {
                next, in_flight, ..
            } => {
                *in_flight = false;
                *next = now + self.order.timing.request;
                if let Ok(withdrawn) = result {
                    // nothing is withdrawn here while an ask is on its way
                    self.unsettled.withdrawn(withdrawn.now, now, true);
                    *next = self.unsettled.due().unwrap_or(*next);
                    if self.unsettled.is_settled() {
                        self.phase = Phase::Over;
                    }
                }
            }
            Phase::Waiting { .. }
            | Phase::Granted { .. }
            | Phase::Held(_)
            | Phase::Lost(_)
            | Phase::Over => {}
        }
        self.tick(now, calls);
    }

    /// The storage is back and may have forgotten.
    pub(crate) fn hurry(&mut self, now: Moment, calls: &mut Calls) {
        match &mut self.phase {
            Phase::Waiting { next } => *next = now.max(self.lapses),
            Phase::Granted { renewals, .. } | Phase::Held(renewals) if self.renewing.is_none() => {
                renewals.hurry(now)
            }
            // one that is under way fails soon, or is answered, perhaps by who is no longer asked
            Phase::Granted { .. } | Phase::Held(_) => self.doubted = true,
            Phase::HandingBack(back) => back.hurry(now),
            Phase::Settling { .. } | Phase::Lost(_) | Phase::Over => {}
        }
        self.tick(now, calls);
    }

    /// The manager shuts down: waiting ends, and nothing is kept from here.
    pub(crate) fn stop_waiting(&mut self, now: Moment, calls: &mut Calls) {
        self.stopping = true;
        if let Phase::HandingBack(back) = &self.phase
            && back.is_kept()
        {
            self.settle(now);
        }
        if let Phase::Granted { .. } = self.phase
            && !self.order.life.take_back()
        {
            return;
        }
        if let Phase::Waiting { .. } | Phase::Granted { .. } = self.phase {
            let error = LockError::ShuttingDown {
                key: self.order.life.key.clone(),
                mode: self.order.life.mode,
            };
            self.refuse(error, now, calls);
        }
    }

    /// The manager's time for running bodies is over.
    pub(crate) fn stop_holding(&mut self) {
        match self.phase {
            Phase::Granted { .. } | Phase::Held(_) => self.lose(LossReason::ShutDown),
            // for a body that runs on after it; for the server it stays a loss
            Phase::Lost(_) => {
                self.order.life.lose(LossReason::ShutDown);
                self.cap = Moment::END;
            }
            Phase::Waiting { .. }
            | Phase::HandingBack(_)
            | Phase::Settling { .. }
            | Phase::Over => {}
        }
    }

    /// The keeper ends unexpectedly: nobody may wait for it.
    pub(crate) fn abandon(&mut self) {
        let life = &self.order.life;
        life.take_back();
        life.lose(LossReason::KeeperEnded);
        life.refuse(LockError::from_backend(
            life.key.clone(),
            life.mode,
            keeper_ended(),
        ));
        life.gone(Ending::Unconfirmed);
    }

    fn grant(&mut self, lease: Lease, now: Moment) {
        let watchdog = self.order.life.bounds.watchdog;
        let renewals = Renewals::new(lease, self.order.timing.lease, watchdog);
        let told = renewals.wants_renewal(now);
        // a caller that has left says so by itself, and the grant is given back then
        self.order.life.grant(lease, told);
        self.waiter.forget_place();
        self.phase = Phase::Granted {
            renewals,
            told,
            lapses: lapse(now, lease.length),
        };
    }

    /// An ask found the lock to be ours already.
    fn confirmed_by_ask(
        &mut self,
        token: FencingToken,
        sent: Moment,
        now: Moment,
        calls: &mut Calls,
    ) {
        let length = self.order.timing.lease;
        if let Phase::Granted { lapses, .. } = &mut self.phase {
            *lapses = (*lapses).max(lapse(now, length));
        }
        let (Phase::Granted { renewals, .. } | Phase::Held(renewals)) = &mut self.phase else {
            return;
        };
        if token == renewals.lease.token {
            renewals.lease.renewed(sent, length);
            self.order.life.extend(renewals.lease, Moment::ZERO);
        } else if token > renewals.lease.token {
            // the server had forgotten the first grant and gave a second one
            if self.order.life.take_back() {
                self.grant(
                    Lease {
                        token,
                        from: sent,
                        length,
                    },
                    now,
                );
            } else {
                self.begun(now, calls);
                self.lose(LossReason::Taken);
            }
        }
    }

    fn lose(&mut self, reason: LossReason) {
        self.order.life.lose(reason);
        self.phase = Phase::Lost(reason);
    }

    fn refuse(&mut self, error: LockError, now: Moment, calls: &mut Calls) {
        self.order.life.refuse(error);
        self.hand_back(Debt::Ticket, None, None, now, calls);
    }

    fn hand_back(
        &mut self,
        debt: Debt,
        patience: Option<Moment>,
        keep_until: Option<Moment>,
        now: Moment,
        calls: &mut Calls,
    ) {
        if debt == Debt::Ticket && !self.touched && !self.asking {
            self.phase = Phase::Over;
            return;
        }
        if self.asking {
            self.unsettled.crossed();
        }
        let timing = Timing {
            lease: self.longest,
            ..self.order.timing
        };
        let back = HandingBack::new(debt, timing, now, patience, keep_until);
        self.phase = Phase::HandingBack(back);
        self.tick(now, calls);
    }

    /// Given back: over, unless an ask may still be executed.
    fn settle(&mut self, now: Moment) {
        let timing = self.order.timing;
        self.phase = if self.asking || !self.unsettled.is_settled() {
            let next = self.unsettled.due().map_or(now, |until| until.max(now));
            Phase::Settling {
                next,
                moot: now + timing.lease + timing.request,
                in_flight: false,
            }
        } else {
            Phase::Over
        };
    }

    /// Tells a hold or a wait that has been going on for `after`, each once.
    pub(crate) fn tell_stuck(&mut self, after: Duration, now: Moment) {
        let life = &self.order.life;
        let lock = life.subject();
        match self.phase {
            Phase::Waiting { .. } => {
                let waited = self.waiter.waited(now);
                if waited >= after && !std::mem::replace(&mut self.told_stuck.0, true) {
                    life.tell(&Event::StuckWait { lock, waited });
                }
            }
            Phase::Granted { .. } | Phase::Held(_) | Phase::Lost(_) => {
                let held = life.held_for(now);
                if held >= after && !std::mem::replace(&mut self.told_stuck.1, true) {
                    life.tell(&Event::StuckHold { lock, held });
                }
            }
            Phase::HandingBack(_) | Phase::Settling { .. } | Phase::Over => {}
        }
    }

    fn tell_rank(&mut self, rank: u64) {
        let before = self.told_rank.replace(rank);
        if before == Some(rank) {
            return;
        }
        let life = &self.order.life;
        let (lock, joined) = (life.subject(), before.is_none());
        life.tell(&Event::Waiting { lock, rank, joined });
        if joined && life.observer().warns_of_queue(rank) {
            life.tell(&Event::LongQueue { lock, rank });
        }
    }

    fn busy(&self, left: Option<Duration>, waiting: Option<u64>, now: Moment) -> LockError {
        let (key, mode) = (self.order.life.key.clone(), self.order.life.mode);
        // a queue call without a wait was one try
        if mode == Mode::Queue && self.mode() == Mode::Reject {
            return LockError::WaitTimedOut {
                key,
                mode,
                waited: self.waiter.waited(now),
                rank: None,
            };
        }
        LockError::Busy {
            key,
            mode,
            remaining: left,
            waiting,
        }
    }

    fn gave_up(&self, gave_up: GaveUp) -> LockError {
        let (key, mode) = (self.order.life.key.clone(), self.order.life.mode);
        match gave_up {
            GaveUp::TimedOut { waited, rank } => LockError::WaitTimedOut {
                key,
                mode,
                waited,
                rank,
            },
            GaveUp::Failed(error) => LockError::from_backend(key, mode, error),
        }
    }
}

/// When the server has surely ended a grant of this length that we learnt of at `now`.
fn lapse(now: Moment, length: Duration) -> Moment {
    now + length + Timing::margin(length)
}

/// What callers are told when the keeper is no more.
pub(crate) fn keeper_ended() -> BackendError {
    BackendError::new(
        BackendErrorKind::Protocol,
        "the lock manager's thread has ended; build a new manager",
    )
}
