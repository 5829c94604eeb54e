//! Server, attempts, network and faults together: which steps are possible, and what each does.
//!
//! A call is normally sent, executed and answered within one step. A fault makes its request or its answer slow (which includes
//! lost: the step that brings it in need never happen), or executes the request a second time, later. A slow call may fail at
//! its caller at any moment, as when a connection breaks, and does when its time is over; the request lives on.

use crate::attempt::{Attempt, Call, Phase, Still};
use crate::rules::{Bound, Budget, Config};
use crate::server::{Ask, Asked, Number, Push, Released, Server, Ticket};

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    Asked(Asked),
    Renewed(bool),
    /// `settles`: executed after the last moment of each unanswered ask.
    Gone {
        released: Released,
        settles: bool,
    },
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Message {
    pub(crate) ticket: Ticket,
    pub(crate) call: Call,
    /// The token of a renewal; 0 in the others.
    pub(crate) token: Number,
    pub(crate) age: u8,
    /// Somebody waits for the answer.
    pub(crate) awaited: bool,
    pub(crate) answer: Option<Answer>,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum How {
    Now,
    SlowRequest,
    SlowAnswer,
    Twice,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Start(Ticket, How),
    Send(Ticket, Call, How),
    Push(Ticket, usize),
    Begin(Ticket),
    /// The caller looks at its grant too late, before the keeper takes it back.
    Look(Ticket),
    /// The keeper takes an overdue grant back.
    TakeBack(Ticket),
    End(Ticket),
    Leave(Ticket),
    Execute(usize),
    Deliver(usize),
    Fail(usize),
    Pause(Ticket),
    Block(Ticket),
    Resume(Ticket),
    Crash(Ticket),
    Flush,
    Tick,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) net: Vec<Message>,
    pub(crate) budget: Budget,
    pub(crate) seen: Seen,
}

/// For the checks only.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) passed_a_live_waiter: bool,
    pub(crate) lost_its_place: bool,
    pub(crate) token_fell: bool,
    pub(crate) confirmed_by_another_token: bool,
    pub(crate) newest: Number,
    /// Ticks of what the run's bound is about.
    pub(crate) ticks: u8,
}

impl World {
    pub(crate) fn new(c: &Config) -> Self {
        Self {
            server: Server::default(),
            attempts: vec![Attempt::new(); usize::from(c.tickets)],
            net: Vec::new(),
            budget: c.budget,
            seen: Seen::default(),
        }
    }

    pub(crate) fn of(&self, ticket: Ticket) -> &Attempt {
        &self.attempts[usize::from(ticket)]
    }

    fn of_mut(&mut self, ticket: Ticket) -> &mut Attempt {
        &mut self.attempts[usize::from(ticket)]
    }

    fn tickets(&self) -> impl Iterator<Item = (Ticket, &Attempt)> {
        (0..).zip(&self.attempts)
    }

    // --- what is possible

    pub(crate) fn steps(&self, c: &Config, steps: &mut Vec<Step>) {
        let mut urgent = false;
        let mut hows = vec![How::Now];
        if self.budget.network > 0 {
            hows.extend([How::SlowRequest, How::SlowAnswer]);
        }
        if self.budget.repeats > 0 {
            hows.push(How::Twice);
        }
        for (ticket, attempt) in self.tickets() {
            if matches!(attempt.phase, Phase::Over | Phase::Dead) {
                continue;
            }
            if attempt.phase == Phase::New {
                if self.may_start(c, ticket) {
                    steps.extend(hows.iter().map(|how| Step::Start(ticket, *how)));
                }
                continue;
            }
            self.faults(ticket, attempt, steps);
            if let Some(call) = attempt.due(c) {
                urgent = true;
                steps.extend(hows.iter().map(|how| Step::Send(ticket, call, *how)));
            }
            match attempt.phase {
                Phase::Waiting if attempt.process_runs() => {
                    let pushes = self.server.pushes.iter().enumerate();
                    let mine = pushes.filter(|(_, push)| push.ticket == ticket);
                    steps.extend(mine.map(|(place, _)| Step::Push(ticket, place)));
                }
                // a grant that is looked at too late is taken back by the keeper
                Phase::Granted
                    if attempt.is_awake()
                        && (attempt.begins_in_time(&c.times) || !c.rules.begins_in_time) =>
                {
                    urgent = true;
                    steps.push(Step::Begin(ticket));
                }
                Phase::Granted if attempt.is_overdue(c) && c.rules.takes_back_untaken => {
                    urgent = true;
                    steps.push(Step::TakeBack(ticket));
                    if attempt.is_awake() {
                        steps.push(Step::Look(ticket));
                    }
                }
                Phase::Held if attempt.is_awake() => {
                    steps.push(Step::End(ticket));
                    urgent |= attempt.ran >= c.times.body;
                }
                _ => {}
            }
        }
        for (place, message) in self.net.iter().enumerate() {
            let attempt = self.of(message.ticket);
            let heard = message.awaited && attempt.process_runs();
            match message.answer {
                None => steps.push(Step::Execute(place)),
                Some(_) if heard => steps.push(Step::Deliver(place)),
                Some(_) => {}
            }
            if heard {
                steps.push(Step::Fail(place));
                urgent |= message.age >= self.limit(c, message);
            }
        }
        if self.budget.flushes > 0 {
            steps.push(Step::Flush);
        }
        if !urgent {
            steps.push(Step::Tick);
        }
    }

    /// Tickets are alike, so they start in order.
    fn may_start(&self, c: &Config, ticket: Ticket) -> bool {
        let here = self.attempts.iter().filter(|attempt| attempt.is_here());
        self.of(ticket).is_awake()
            && (ticket == 0 || self.of(ticket - 1).phase != Phase::New)
            && here.count() < usize::from(c.seats)
    }

    fn faults(&self, ticket: Ticket, attempt: &Attempt, steps: &mut Vec<Step>) {
        if self.budget.crashes > 0 {
            steps.push(Step::Crash(ticket));
        }
        match attempt.still {
            Still::Nothing => {
                if self.budget.pauses > 0 && attempt.wants() {
                    steps.push(Step::Pause(ticket));
                }
                if self.budget.blocks > 0 && attempt.wants() {
                    steps.push(Step::Block(ticket));
                }
            }
            Still::Caller | Still::Process => steps.push(Step::Resume(ticket)),
        }
        // the keeper ends a wait for a caller that is blocked; a body and a grant are the caller's to leave
        let leaves = match attempt.phase {
            Phase::Waiting => attempt.process_runs(),
            Phase::Granted | Phase::Held => attempt.is_awake(),
            _ => false,
        };
        if self.budget.leaves > 0 && leaves {
            steps.push(Step::Leave(ticket));
        }
    }

    fn limit(&self, c: &Config, message: &Message) -> u8 {
        match message.call {
            Call::Ask => c.ask_valid(message.ticket),
            Call::Renew | Call::Release | Call::Withdraw => c.times.answer,
        }
    }

    // --- what each step does

    pub(crate) fn step(&mut self, c: &Config, step: Step) {
        let fault = self.pay(&step);
        if fault && matches!(c.bound, Bound::Wait(_) | Bound::Left(_)) {
            self.seen.ticks = 0;
        }
        match step {
            Step::Start(ticket, how) => {
                self.of_mut(ticket).phase = Phase::Waiting;
                self.send(c, ticket, Call::Ask, how);
            }
            Step::Send(ticket, call, how) => self.send(c, ticket, call, how),
            Step::Push(ticket, place) => {
                let push = self.server.pushes[place];
                if let Bound::Untaken(_) = c.bound {
                    // each repetition is a hint to ask, which lengthens an untaken grant: a server sends one
                    self.server.pushes.remove(place);
                }
                self.of_mut(ticket).take(c, push);
            }
            Step::Begin(ticket) => self.begin(c, ticket),
            Step::Look(ticket) => self.of_mut(ticket).take_back(c, true),
            Step::TakeBack(ticket) => self.of_mut(ticket).take_back(c, false),
            Step::End(ticket) => self.of_mut(ticket).leave(Phase::Releasing),
            Step::Leave(ticket) => match self.of(ticket).phase {
                Phase::Waiting => self.of_mut(ticket).give_up(c),
                _ => self.of_mut(ticket).leave(Phase::Releasing),
            },
            Step::Execute(place) => {
                let mut message = self.net.remove(place);
                let answer = self.execute(c, &message);
                if message.awaited {
                    message.answer = Some(answer);
                    self.net.push(message);
                }
            }
            Step::Deliver(place) => {
                let message = self.net.remove(place);
                if let Some(answer) = message.answer {
                    self.answered(c, &message, answer);
                }
            }
            Step::Fail(place) => {
                let mut message = self.net.remove(place);
                self.failed(c, &message);
                if message.answer.is_none() {
                    message.awaited = false;
                    self.net.push(message);
                }
            }
            Step::Pause(ticket) => self.each_of_process(c, ticket, |attempt| {
                attempt.still = Still::Process;
                attempt.excused = true;
            }),
            Step::Block(ticket) => {
                self.of_mut(ticket).still = Still::Caller;
                self.of_mut(ticket).excused = true;
            }
            Step::Resume(ticket) => {
                let still = self.of(ticket).still;
                let resume = |attempt: &mut Attempt| {
                    attempt.still = Still::Nothing;
                    if attempt.phase == Phase::Lost {
                        attempt.leave(Phase::Releasing);
                    }
                };
                if still == Still::Process {
                    self.each_of_process(c, ticket, resume);
                } else {
                    resume(self.of_mut(ticket));
                }
            }
            Step::Crash(ticket) => {
                self.each_of_process(c, ticket, |attempt| *attempt = Attempt::ended(Phase::Dead));
            }
            Step::Flush => {
                self.server.flush(&c.rules);
                self.attempts.iter_mut().for_each(|a| a.excused = true);
            }
            Step::Tick => self.tick(c),
        }
        self.tidy(c);
    }

    /// Takes a fault off the budget. True for everything that may delay somebody.
    fn pay(&mut self, step: &Step) -> bool {
        let budget = &mut self.budget;
        match step {
            Step::Start(_, How::Twice) | Step::Send(_, _, How::Twice) => budget.repeats -= 1,
            Step::Start(_, how) | Step::Send(_, _, how) if *how != How::Now => budget.network -= 1,
            Step::Pause(_) => budget.pauses -= 1,
            Step::Block(_) => budget.blocks -= 1,
            Step::Crash(_) => budget.crashes -= 1,
            Step::Leave(_) => budget.leaves -= 1,
            Step::Flush => budget.flushes -= 1,
            Step::Execute(_) | Step::Deliver(_) | Step::Fail(_) | Step::Resume(_) => {}
            _ => return false,
        }
        true
    }

    fn each_of_process(&mut self, c: &Config, ticket: Ticket, step: impl Fn(&mut Attempt)) {
        let process = c.channels[usize::from(ticket)];
        for (attempt, channel) in self.attempts.iter_mut().zip(&c.channels) {
            if *channel == process && !matches!(attempt.phase, Phase::Over | Phase::Dead) {
                step(attempt);
            }
        }
    }

    fn send(&mut self, c: &Config, ticket: Ticket, call: Call, how: How) {
        let attempt = self.of_mut(ticket);
        match call {
            Call::Ask => {
                attempt.asking = true;
                attempt.hinted = false;
                attempt.timer = c.times.poll;
                attempt.excused |= how != How::Now;
            }
            Call::Renew => attempt.renewing = true,
            Call::Release | Call::Withdraw => attempt.leaving = true,
        }
        let message = Message {
            ticket,
            call,
            token: if call == Call::Renew {
                attempt.token
            } else {
                0
            },
            age: 0,
            awaited: true,
            answer: None,
        };
        match how {
            How::Now => {
                let answer = self.execute(c, &message);
                self.answered(c, &message, answer);
            }
            How::SlowRequest => self.net.push(message),
            How::SlowAnswer => {
                let answer = Some(self.execute(c, &message));
                self.net.push(Message { answer, ..message });
            }
            How::Twice => {
                let answer = self.execute(c, &message);
                self.answered(c, &message, answer);
                let awaited = false;
                self.net.push(Message { awaited, ..message });
            }
        }
    }

    /// Runs one script and checks what it did.
    fn execute(&mut self, c: &Config, message: &Message) -> Answer {
        let ticket = message.ticket;
        let before = self.server.queue.clone();
        let had = self.server.owner;
        let (times, rules, channels) = (&c.times, &c.rules, &c.channels);
        let server = &mut self.server;
        let answer = match message.call {
            Call::Ask => {
                let ask = Ask {
                    ticket,
                    age: message.age,
                    valid: c.ask_valid(ticket),
                    queues: !c.is_rejecting(ticket),
                    most: None,
                };
                Answer::Asked(server.ask(times, rules, ask, channels))
            }
            Call::Renew => Answer::Renewed(server.renew(times, rules, ticket, message.token)),
            Call::Release => Answer::Gone {
                released: server.release(times, rules, ticket, channels),
                settles: false,
            },
            Call::Withdraw => Answer::Gone {
                released: server.withdraw(times, rules, ticket, channels),
                settles: matches!(self.attempts[usize::from(ticket)].unsettled, None | Some(0)),
            },
        };
        if let Some(owner) = self.server.owner {
            let was = had.map(|had| (had.ticket, had.token));
            if was != Some((owner.ticket, owner.token)) {
                let ahead = before.iter().take_while(|w| w.ticket != owner.ticket);
                self.seen.passed_a_live_waiter |=
                    ahead.into_iter().any(|w| self.waits_unhurt(w.ticket));
                self.seen.token_fell |= owner.token <= self.seen.newest;
                self.seen.newest = owner.token;
            }
            self.seen.confirmed_by_another_token |= answer == Answer::Renewed(true)
                && (owner.ticket, owner.token) != (ticket, message.token);
        }
        if let Answer::Asked(Asked::Held { .. }) = answer
            && let Bound::Idle(_) = c.bound
            && let Some(owner) = &mut self.server.owner
        {
            // whoever asked for it has it: if it dies now, it dies as a holder
            owner.begun = true;
        }
        if let Answer::Asked(Asked::Waiting { .. }) = answer
            && !before.iter().any(|waiter| waiter.ticket == ticket)
        {
            self.seen.lost_its_place |= self.waits_unhurt(ticket) && self.of(ticket).queued;
            self.of_mut(ticket).queued |= self.of(ticket).wants();
        }
        answer
    }

    fn waits_unhurt(&self, ticket: Ticket) -> bool {
        let attempt = self.of(ticket);
        attempt.phase == Phase::Waiting && attempt.process_runs() && !attempt.excused
    }

    fn answered(&mut self, c: &Config, message: &Message, answer: Answer) {
        let age = message.age;
        let attempt = self.of_mut(message.ticket);
        match answer {
            Answer::Asked(asked) => {
                attempt.asking = false;
                let token = attempt.token;
                match asked {
                    Asked::Held { token } => attempt.held(c, token, age),
                    Asked::Waiting { number, rank, left } => {
                        attempt.placed(c, number, rank, left, age);
                    }
                    Asked::Busy { .. } => attempt.busy(c),
                    // corrected and sent again; here clocks are right, and it only comes after the time-out
                    Asked::Stale => {}
                }
                self.seen.confirmed_by_another_token |= self.of(message.ticket).phase
                    == Phase::Held
                    && matches!(asked, Asked::Held { token: new } if new > token);
            }
            Answer::Renewed(true) => attempt.renewed(c, age),
            Answer::Renewed(false) => {
                attempt.renewing = false;
                if attempt.phase == Phase::Held {
                    attempt.lose();
                }
            }
            Answer::Gone { released, settles } => {
                attempt.gone(c, released, settles);
                if let Released::Next(push) = released {
                    self.of_mut(push.ticket).named(c, push, age);
                }
            }
        }
    }

    fn failed(&mut self, c: &Config, message: &Message) {
        let ticket = message.ticket;
        let attempt = self.of_mut(ticket);
        match message.call {
            Call::Ask => {
                attempt.unanswered(c, c.is_rejecting(ticket), c.ask_valid(ticket), message.age);
                // what was executed before this ask's last moment doesn't settle it
                for other in self.net.iter_mut().filter(|other| other.ticket == ticket) {
                    if let Some(Answer::Gone { settles, .. }) = &mut other.answer {
                        *settles = false;
                    }
                }
            }
            Call::Renew => {
                attempt.renewing = false;
                if matches!(attempt.phase, Phase::Held | Phase::Granted) {
                    attempt.timer = 0;
                }
            }
            Call::Release | Call::Withdraw => {
                attempt.leaving = false;
                attempt.timer = u8::from(attempt.phase == Phase::Settling);
            }
        }
    }

    fn begin(&mut self, c: &Config, ticket: Ticket) {
        let attempt = self.of_mut(ticket);
        attempt.begin();
        let token = attempt.token;
        if let Some(owner) = &mut self.server.owner
            && owner.token == token
        {
            owner.begun = true;
        }
        if let Bound::Idle(_) | Bound::Untaken(_) = c.bound {
            self.seen.ticks = 0;
        }
    }

    fn tick(&mut self, c: &Config) {
        let waits = self
            .attempts
            .iter()
            .any(|a| matches!(a.phase, Phase::Waiting | Phase::Granted) && a.is_awake());
        let blocked = self
            .attempts
            .iter()
            .any(|a| a.still == Still::Caller && a.wants());
        let owner = self.server.owner;
        let counts = match c.bound {
            Bound::None | Bound::Left(_) => false,
            Bound::Wait(_) => waits && !blocked,
            Bound::Idle(_) | Bound::Untaken(_) => waits && owner.is_none_or(|owner| !owner.begun),
            Bound::Ghost(_) => owner.is_some_and(|owner| {
                matches!(self.of(owner.ticket).phase, Phase::Settling | Phase::Over)
                    && self.of(owner.ticket).process_runs()
            }),
        };
        self.server.tick(&c.rules);
        let times = &c.times;
        let top = times.lease.max(times.beat).max(times.answer_reject) + 1;
        for attempt in &mut self.attempts {
            attempt.tick(c, top);
        }
        for message in &mut self.net {
            message.age = (message.age + 1).min(top);
        }
        let counts = match c.bound {
            Bound::Left(_) => {
                let gone = |a: &Attempt| matches!(a.phase, Phase::Over | Phase::Dead);
                let left = self.server.owner.is_some() || !self.server.queue.is_empty();
                self.attempts.iter().all(gone) && left
            }
            _ => counts,
        };
        self.seen.ticks = if counts { self.seen.ticks + 1 } else { 0 };
    }

    /// Forgets what can no longer matter, so that equal situations are equal states.
    fn tidy(&mut self, c: &Config) {
        let attempts = &self.attempts;
        let of = |ticket: Ticket| &attempts[usize::from(ticket)];
        let server = &mut self.server;
        server.pushes.retain(|push| of(push.ticket).wants());
        server.pushes.sort_unstable();
        server.pushes.dedup();
        let rules = &c.rules;
        let compared = rules.release_compares_owner
            && rules.renew_compares_owner
            && rules.renew_compares_token
            && rules.renew_never_creates;
        let asks: Vec<Ticket> = self
            .net
            .iter()
            .filter(|message| message.call == Call::Ask)
            .map(|message| message.ticket)
            .collect();
        let known = |ticket: Ticket| {
            server.owner.is_some_and(|owner| owner.ticket == ticket)
                || server.queue.iter().any(|waiter| waiter.ticket == ticket)
                || asks.contains(&ticket)
                || of(ticket).wants()
        };
        self.net.retain(|message| {
            let over = matches!(of(message.ticket).phase, Phase::Over | Phase::Dead);
            match (message.answer, message.call) {
                (
                    Some(Answer::Gone {
                        released: Released::Next(push),
                        ..
                    }),
                    _,
                ) => {
                    // its process reads it whatever became of the ticket
                    of(message.ticket).phase != Phase::Dead && of(push.ticket).wants() || !over
                }
                (Some(_), _) => !over,
                (None, Call::Ask) => !rules.asks_end || message.age <= c.ask_valid(message.ticket),
                (None, _) => message.awaited && !over || !compared || known(message.ticket),
            }
        });
        for message in &mut self.net {
            if matches!(of(message.ticket).phase, Phase::Over | Phase::Dead)
                && message.answer.is_none()
            {
                message.awaited = false;
            }
        }
        if rules.clock_floor && rules.unique_numbers {
            self.renumber();
        }
        self.net.sort_unstable();
        // a second copy of what is nobody's adds nothing
        self.net.dedup_by(|a, b| a == b && !a.awaited);
    }

    /// Numbers matter by their order alone: counts them anew from 1, so that runs in circles come back to the same state.
    fn renumber(&mut self) {
        let mut known: Vec<Number> = Vec::new();
        self.each_number(&mut |number| known.push(*number));
        known.push(0);
        known.sort_unstable();
        known.dedup();
        self.each_number(&mut |number| {
            let place = known.partition_point(|known| known < number);
            *number = Number::try_from(place).unwrap_or(Number::MAX);
        });
    }

    fn each_number(&mut self, visit: &mut impl FnMut(&mut Number)) {
        let server = &mut self.server;
        visit(&mut server.last);
        visit(&mut self.seen.newest);
        server
            .owner
            .iter_mut()
            .for_each(|owner| visit(&mut owner.token));
        server
            .queue
            .iter_mut()
            .for_each(|waiter| visit(&mut waiter.number));
        let push = |push: &mut Push, visit: &mut dyn FnMut(&mut Number)| {
            visit(&mut push.number);
            visit(&mut push.token);
        };
        server.pushes.iter_mut().for_each(|p| push(p, visit));
        for attempt in &mut self.attempts {
            visit(&mut attempt.token);
            attempt
                .place
                .iter_mut()
                .for_each(|place| visit(&mut place.0));
        }
        for message in &mut self.net {
            visit(&mut message.token);
            match &mut message.answer {
                Some(Answer::Asked(Asked::Held { token })) => visit(token),
                Some(Answer::Asked(Asked::Waiting { number, .. })) => visit(number),
                Some(Answer::Gone {
                    released: Released::Next(p),
                    ..
                }) => push(p, visit),
                _ => {}
            }
        }
    }
}
