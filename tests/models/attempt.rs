//! One ticket as its process sees it: keeper and caller together, step by step as in `lockruntime/src/watchdog/attempt`.
//!
//! Left out: the wall of real time around giving back ("moot"), which no run here gets to, and pauses between tries, which a
//! tick is too coarse for: a failed call is tried again at once.

use crate::rules::{Config, Times};
use crate::server::{Number, Push, Released};

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    New,
    Waiting,
    /// Given; the caller hasn't looked yet.
    Granted,
    /// The body runs.
    Held,
    /// Lost or overdue, and the caller has not been polled since: its body can't go on, nor say that it has left.
    Lost,
    /// The lock is given back.
    Releasing,
    /// The ticket is given back.
    Withdrawing,
    /// Given back, and one more withdrawal has to be executed after the last ask that may still be under way.
    Settling,
    Over,
    /// The process died.
    Dead,
}

/// What stands still.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Still {
    Nothing,
    /// The caller's runtime; the keeper goes on.
    Caller,
    Process,
}

/// The calls of one ticket; each is under way once at the most.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    Ask,
    Renew,
    Release,
    Withdraw,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) phase: Phase,
    pub(crate) still: Still,
    /// The number in the queue, and how many ticks ago the newest ask was sent that was answered with it.
    pub(crate) place: Option<(Number, u8)>,
    pub(crate) token: Number,
    /// Granted, held: ticks until the local deadline.
    pub(crate) left: u8,
    /// Ticks until the next ask, renewal or withdrawal is due.
    pub(crate) timer: u8,
    /// How long the body has run.
    pub(crate) ran: u8,
    pub(crate) asking: bool,
    pub(crate) renewing: bool,
    /// A release or withdrawal is under way.
    pub(crate) leaving: bool,
    /// A push came that didn't fit: ask again as soon as the present ask is answered.
    pub(crate) hinted: bool,
    /// Some ask had no answer: ticks until no server executes it any more.
    pub(crate) unsettled: Option<u8>,
    /// An ask was under way when lock or ticket was given back.
    pub(crate) crossed: bool,
    /// For the checks only: it has stood in the queue; something happened to it that may cost it its place.
    pub(crate) queued: bool,
    pub(crate) excused: bool,
    /// Granted: ticks until the server has surely ended the grant if nobody takes it.
    pub(crate) lapses: u8,
}

impl Attempt {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::New,
            still: Still::Nothing,
            place: None,
            token: 0,
            left: 0,
            timer: 0,
            ran: 0,
            asking: false,
            renewing: false,
            leaving: false,
            hinted: false,
            unsettled: None,
            crossed: false,
            queued: false,
            excused: false,
            lapses: 0,
        }
    }

    /// A process that died, or a ticket of which nothing is left.
    pub(crate) fn ended(phase: Phase) -> Self {
        Self {
            phase,
            ..Self::new()
        }
    }

    /// It waits, holds, or still has to say that it has left.
    pub(crate) fn is_here(&self) -> bool {
        matches!(
            self.phase,
            Phase::Waiting | Phase::Granted | Phase::Held | Phase::Lost
        )
    }

    /// The lock is its own, or may become so.
    pub(crate) fn wants(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Granted | Phase::Held)
    }

    pub(crate) fn is_awake(&self) -> bool {
        self.still == Still::Nothing
    }

    pub(crate) fn process_runs(&self) -> bool {
        self.still != Still::Process
    }

    /// Which call is to be sent now, by the keeper.
    pub(crate) fn due(&self, c: &Config) -> Option<Call> {
        let due = self.timer == 0 && self.process_runs();
        match self.phase {
            Phase::Waiting if due && !self.asking => Some(Call::Ask),
            Phase::Held if due && !self.renewing && self.ran < c.times.body => Some(Call::Renew),
            Phase::Granted if due && !self.renewing && !c.rules.renews_only_begun => {
                Some(Call::Renew)
            }
            Phase::Releasing if due && !self.leaving => Some(Call::Release),
            Phase::Withdrawing if due && !self.leaving => Some(Call::Withdraw),
            Phase::Settling if due && !self.leaving && !self.asking => Some(Call::Withdraw),
            _ => None,
        }
    }

    /// Whether a grant may be begun: not on its last breath.
    pub(crate) fn begins_in_time(&self, times: &Times) -> bool {
        self.left > times.breath
    }

    /// The lock is ours, proved by a request sent `age` ticks ago, for `length` from then on.
    pub(crate) fn grant(&mut self, c: &Config, token: Number, length: u8, age: u8) {
        if c.rules.forgets_place {
            self.place = None;
        }
        self.phase = Phase::Granted;
        self.token = token;
        self.left = length.saturating_sub(age);
        self.lapses = length;
        self.timer = (length / 3).saturating_sub(age);
    }

    /// Whether something proved `age` ticks ago, for `length` from then on, is worth a start.
    fn fits(c: &Config, length: u8, age: u8) -> bool {
        length > age.saturating_add(c.times.breath)
    }

    /// Nobody has looked at the grant in time: it is taken back, and asked for anew once it has lapsed; an ask before would
    /// lengthen it. If the caller has looked, though too late, that is what is wanted.
    pub(crate) fn take_back(&mut self, c: &Config, looked: bool) {
        let lapses = c.rules.untaken_lapses && !looked;
        self.timer = if lapses { self.lapses } else { 0 };
        self.phase = Phase::Waiting;
        self.left = 0;
        self.token = 0;
        self.lapses = 0;
    }

    /// Granted, and too late to begin.
    pub(crate) fn is_overdue(&self, c: &Config) -> bool {
        self.phase == Phase::Granted && self.process_runs() && !self.begins_in_time(&c.times)
    }

    pub(crate) fn begin(&mut self) {
        self.phase = Phase::Held;
        self.ran = 0;
        self.lapses = 0;
    }

    pub(crate) fn held(&mut self, c: &Config, token: Number, age: u8) {
        let sent = if c.rules.deadline_from_send { age } else { 0 };
        match self.phase {
            Phase::Waiting if Self::fits(c, c.times.lease, sent) => {
                self.grant(c, token, c.times.lease, sent);
            }
            Phase::Waiting => self.timer = 0,
            Phase::Granted | Phase::Held
                if token == self.token || !c.rules.newer_token_ends_hold =>
            {
                self.left = self.left.max(c.times.lease.saturating_sub(sent));
                if self.phase == Phase::Granted {
                    self.lapses = c.times.lease;
                }
            }
            // the server had forgotten the first grant and gave a second one
            Phase::Granted if token > self.token => self.grant(c, token, c.times.lease, sent),
            Phase::Held if token > self.token => self.lose(),
            Phase::Releasing | Phase::Withdrawing | Phase::Settling => {
                self.crossed |= c.rules.settles_crossed;
            }
            _ => {}
        }
    }

    pub(crate) fn placed(&mut self, c: &Config, number: Number, rank: u8, left: u8, age: u8) {
        match self.phase {
            Phase::Waiting => {
                self.place = Some((number, age));
                let poll = c.times.poll.saturating_sub(age);
                // the first two look again as soon as the holder's lease may be over
                self.timer = if rank <= 1 || left == 0 {
                    poll.min(left.max(1))
                } else {
                    poll
                };
                if !c.rules.polls {
                    self.timer = u8::MAX;
                }
                if self.hinted {
                    self.timer = 0;
                }
            }
            // the server had forgotten its grant, and has queued the ticket anew
            Phase::Granted | Phase::Held if number > self.token => {
                self.crossed |= c.rules.settles_crossed;
            }
            Phase::Lost | Phase::Releasing | Phase::Withdrawing | Phase::Settling => {
                self.crossed |= c.rules.settles_crossed;
            }
            _ => {}
        }
    }

    pub(crate) fn busy(&mut self, c: &Config) {
        if self.phase == Phase::Waiting {
            self.settle(c);
        }
    }

    /// An ask sent `age` ticks ago has no answer.
    pub(crate) fn unanswered(&mut self, c: &Config, rejects: bool, valid: u8, age: u8) {
        self.asking = false;
        let ends = (valid + 1).saturating_sub(age);
        self.unsettled = self.unsettled.max(Some(ends));
        if self.phase == Phase::Waiting {
            self.timer = c.times.poll.saturating_sub(age);
            if rejects {
                self.give_up(c);
            }
        }
    }

    pub(crate) fn renewed(&mut self, c: &Config, age: u8) {
        self.renewing = false;
        if matches!(self.phase, Phase::Held | Phase::Granted) {
            let sent = if c.rules.deadline_from_send { age } else { 0 };
            self.left = self.left.max(c.times.lease.saturating_sub(sent));
            self.timer = (c.times.lease / 3).saturating_sub(sent);
        }
    }

    pub(crate) fn take(&mut self, c: &Config, push: Push) {
        if self.phase != Phase::Waiting {
            return;
        }
        let claim = c.times.claim();
        let place = match self.place {
            Some((number, age)) if c.rules.claim_from_ask => Some((number, age)),
            Some((number, _)) => Some((number, 0)),
            None => None,
        };
        match place {
            Some((number, age))
                if (number == push.number || !c.rules.push_compares_number)
                    && Self::fits(c, claim, age) =>
            {
                self.grant(c, push.token, claim, age);
            }
            _ => self.hint(),
        }
    }

    /// A release of this process, sent `age` ticks ago, gave the lock to this ticket for its whole lease.
    pub(crate) fn named(&mut self, c: &Config, push: Push, age: u8) {
        if self.phase != Phase::Waiting || !self.process_runs() {
            return;
        }
        if Self::fits(c, c.times.lease, age) {
            self.grant(c, push.token, c.times.lease, age);
        } else {
            self.hint();
        }
    }

    fn hint(&mut self) {
        self.timer = 0;
        self.hinted = self.asking;
    }

    /// The lock is lost, or its deadline came: the body is dropped as soon as its caller is polled.
    pub(crate) fn lose(&mut self) {
        self.left = 0;
        if self.is_awake() {
            self.leave(Phase::Releasing);
        } else {
            self.phase = Phase::Lost;
            self.renewing = false;
        }
    }

    /// The caller leaves what it waits for, or the keeper's waiting time is over.
    pub(crate) fn give_up(&mut self, c: &Config) {
        let asked = self.unsettled.is_some() || self.asking;
        if asked && !c.rules.abandons_unanswered {
            *self = Self::ended(Phase::Over);
        } else {
            self.leave(Phase::Withdrawing);
        }
    }

    pub(crate) fn leave(&mut self, phase: Phase) {
        self.phase = phase;
        self.timer = 0;
        self.left = 0;
        self.token = 0;
        self.lapses = 0;
        self.place = None;
        self.renewing = false;
        self.hinted = false;
        self.crossed |= self.asking;
    }

    /// A release or withdrawal was answered. `settles`: of a withdrawal, that it was executed after the last moment of each
    /// ask without an answer.
    pub(crate) fn gone(&mut self, c: &Config, _released: Released, settles: bool) {
        self.leaving = false;
        match self.phase {
            Phase::Releasing | Phase::Withdrawing => {
                self.settled(settles);
                self.settle(c);
            }
            Phase::Settling => {
                self.crossed = false;
                self.settled(settles || !c.rules.settles_by_server_time);
                match self.unsettled {
                    None => *self = Self::ended(Phase::Over),
                    Some(ends) => self.timer = ends,
                }
            }
            _ => {}
        }
    }

    fn settled(&mut self, settles: bool) {
        if settles {
            self.unsettled = None;
        }
    }

    fn settle(&mut self, c: &Config) {
        let owes = self.asking || self.crossed || self.unsettled.is_some();
        let still = self.still;
        if owes && c.rules.settles {
            self.leave(Phase::Settling);
            self.timer = self.unsettled.unwrap_or(0);
            self.still = still;
        } else {
            *self = Self::ended(Phase::Over);
        }
    }

    pub(crate) fn tick(&mut self, c: &Config, top: u8) {
        if let Some((_, age)) = &mut self.place {
            *age = (*age + 1).min(top);
        }
        if self.timer != u8::MAX {
            self.timer = self.timer.saturating_sub(1);
        }
        if let Some(ends) = &mut self.unsettled {
            *ends = ends.saturating_sub(1);
        }
        if matches!(self.phase, Phase::Granted | Phase::Held) {
            self.left = self.left.saturating_sub(1);
            self.lapses = self.lapses.saturating_sub(1);
        }
        if self.phase == Phase::Held {
            self.ran = (self.ran + u8::from(self.is_awake())).min(c.times.body);
            if self.left == 0 && c.rules.deadline_before_poll {
                self.lose();
            }
        }
    }
}
