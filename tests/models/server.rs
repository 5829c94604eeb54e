//! The server's side: one function per script, each atomic, step by step as in `lockruntime/src/backend/redis/scripts`.
//!
//! Time is relative: a tick lowers what is left, 0 left means gone or dead. The scripts themselves are compared with these
//! functions on a real server, in `scripts`.

use crate::rules::{Rules, Times};

/// One attempt of one caller to take the lock.
pub(crate) type Ticket = u8;
/// Arrival numbers and tokens come from one counter.
pub(crate) type Number = u16;

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Waiter {
    pub(crate) number: Number,
    pub(crate) ticket: Ticket,
    /// Ticks until its deadline; 0 is dead.
    pub(crate) alive: u8,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    pub(crate) ticket: Ticket,
    pub(crate) token: Number,
    pub(crate) left: u8,
    /// For the checks only: a body of this grant has begun.
    pub(crate) begun: bool,
}

/// The message about a hand-over.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Push {
    pub(crate) ticket: Ticket,
    pub(crate) number: Number,
    pub(crate) token: Number,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    Stale,
    Held { token: Number },
    Waiting { number: Number, rank: u8, left: u8 },
    Busy { left: u8 },
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Released {
    Free,
    Passed,
    /// Handed, for its whole lease, to a waiter on the releaser's own channel.
    Next(Push),
    /// Not given back yet: the lock has what it was to be kept for.
    Kept,
    Absent,
    Other,
}

/// Channels by number; tickets with the same one live in the same process.
pub(crate) type Channel = u8;

/// What an ask carries besides its ticket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) ticket: Ticket,
    /// Ticks since it was sent.
    pub(crate) age: u8,
    /// Until which age it may be executed.
    pub(crate) valid: u8,
    pub(crate) queues: bool,
    /// The longest queue that is joined.
    pub(crate) most: Option<usize>,
}

#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct Server {
    /// Key L.
    pub(crate) owner: Option<Owner>,
    /// Keys Q and W.
    pub(crate) queue: Vec<Waiter>,
    /// What those two keys have left.
    pub(crate) queue_left: u8,
    /// Key N. On the real server max(last + 1, clock), so it survives its own loss.
    pub(crate) last: Number,
    /// Every push ever sent. None is ever taken out: delivered late, twice or never are all possible.
    pub(crate) pushes: Vec<Push>,
    /// For the checks only: a hand-over went to a ticket past its deadline.
    pub(crate) gave_to_dead: bool,
}

impl Server {
    pub(crate) fn tick(&mut self, rules: &Rules) {
        if let Some(owner) = &mut self.owner {
            owner.left -= 1;
            if owner.left == 0 {
                self.owner = None;
            }
        }
        if rules.waiter_deadline {
            for waiter in &mut self.queue {
                waiter.alive = waiter.alive.saturating_sub(1);
            }
            self.queue_left = self.queue_left.saturating_sub(1);
        }
        if self.queue_left == 0 {
            self.queue.clear();
        }
        if self.queue.is_empty() {
            self.queue_left = 0;
        }
    }

    /// All data is lost.
    pub(crate) fn flush(&mut self, rules: &Rules) {
        self.owner = None;
        self.queue.clear();
        self.queue_left = 0;
        if !rules.clock_floor {
            self.last = 0;
        }
    }

    pub(crate) fn ask(
        &mut self,
        times: &Times,
        rules: &Rules,
        ask: Ask,
        channels: &[Channel],
    ) -> Asked {
        let me = ask.ticket;
        if rules.asks_end && ask.age > ask.valid {
            return Asked::Stale;
        }
        if self.owner.is_none() && self.queue.is_empty() {
            return self.take(me, times);
        }
        if let Some(owner) = &mut self.owner
            && owner.ticket == me
        {
            owner.left = owner.left.max(times.lease);
            return Asked::Held { token: owner.token };
        }
        let more = self.drop_dead(times, rules);
        // with dead ones left the lock may be free, but nobody knows who is next
        if self.owner.is_none() && !more {
            match self.queue.first() {
                Some(head) if head.ticket != me && rules.head_first => {
                    if rules.help {
                        self.give(times, rules, None, channels);
                    }
                }
                _ => return self.take(me, times),
            }
        }
        let left = self.owner.map_or(0, |owner| owner.left);
        if !ask.queues {
            return Asked::Busy { left };
        }
        let mine = self.queue.iter().any(|waiter| waiter.ticket == me);
        if !mine && ask.most.is_some_and(|most| self.full(most)) {
            return Asked::Busy { left };
        }
        if let Some(waiter) = self.queue.iter_mut().find(|waiter| waiter.ticket == me) {
            waiter.alive = times.beat;
        } else {
            let number = if rules.unique_numbers {
                self.number()
            } else {
                self.queue.last().map_or(0, |waiter| waiter.number) + 1
            };
            self.queue.push(Waiter {
                number,
                ticket: me,
                alive: times.beat,
            });
        }
        if self.queue_left < times.beat {
            self.queue_left = 2 * times.beat;
        }
        let rank = self.queue.iter().take_while(|w| w.ticket != me).count();
        let number = self.queue.get(rank).map_or(0, |waiter| waiter.number);
        let rank = u8::try_from(rank).unwrap_or(u8::MAX);
        Asked::Waiting { number, rank, left }
    }

    /// True: renewed; false: lost.
    pub(crate) fn renew(
        &mut self,
        times: &Times,
        rules: &Rules,
        me: Ticket,
        token: Number,
    ) -> bool {
        match &mut self.owner {
            Some(owner)
                if (owner.ticket == me || !rules.renew_compares_owner)
                    && (owner.token == token || !rules.renew_compares_token) =>
            {
                owner.left = owner.left.max(times.lease);
                true
            }
            None if !rules.renew_never_creates => {
                self.owner = Some(Owner {
                    ticket: me,
                    token,
                    left: times.lease,
                    begun: true,
                });
                true
            }
            _ => false,
        }
    }

    pub(crate) fn release(
        &mut self,
        times: &Times,
        rules: &Rules,
        me: Ticket,
        channels: &[Channel],
    ) -> Released {
        match self.owner {
            None if rules.release_compares_owner => return Released::Absent,
            Some(owner) if owner.ticket != me && rules.release_compares_owner => {
                return Released::Other;
            }
            _ => {}
        }
        self.owner = None;
        let more = self.drop_dead(times, rules);
        if more || self.queue.is_empty() {
            return Released::Free;
        }
        self.give(times, rules, Some(me), channels)
            .map_or(Released::Passed, Released::Next)
    }

    /// A release that doesn't give back yet: what is left becomes `keep`, whatever it was.
    pub(crate) fn keep(&mut self, me: Ticket, keep: u8) -> Released {
        match &mut self.owner {
            None => Released::Absent,
            Some(owner) if owner.ticket != me => Released::Other,
            Some(owner) => {
                owner.left = keep;
                Released::Kept
            }
        }
    }

    pub(crate) fn withdraw(
        &mut self,
        times: &Times,
        rules: &Rules,
        me: Ticket,
        channels: &[Channel],
    ) -> Released {
        self.leave_queue(me);
        if rules.withdraw_hands_on {
            self.release(times, rules, me, channels)
        } else {
            Released::Absent
        }
    }

    /// Whether so many wait that one more is too many. Where it looks so, the dead don't count and are dropped. The script looks at
    /// a part of a long queue only; here none is longer than that part.
    fn full(&mut self, most: usize) -> bool {
        if self.queue.len() >= most {
            self.queue.retain(|waiter| waiter.alive > 0);
            if self.queue.is_empty() {
                self.queue_left = 0;
            }
        }
        self.queue.len() >= most
    }

    fn take(&mut self, me: Ticket, times: &Times) -> Asked {
        self.leave_queue(me);
        let token = self.put(me, times.lease);
        Asked::Held { token }
    }

    /// Gives the free lock to the head: for its whole lease if it waits in the releaser's own process, else for its claim.
    fn give(
        &mut self,
        times: &Times,
        rules: &Rules,
        by: Option<Ticket>,
        channels: &[Channel],
    ) -> Option<Push> {
        let head = *self.queue.first()?;
        self.leave_queue(head.ticket);
        self.gave_to_dead |= head.alive == 0;
        let channel = |ticket: Ticket| channels.get(usize::from(ticket));
        let same_process = by.is_some_and(|by| channel(by) == channel(head.ticket));
        let left = if same_process || !rules.short_claim {
            times.lease
        } else {
            times.claim()
        };
        let push = Push {
            ticket: head.ticket,
            number: head.number,
            token: self.put(head.ticket, left),
        };
        if same_process {
            return Some(push);
        }
        self.pushes.push(push);
        None
    }

    fn leave_queue(&mut self, me: Ticket) {
        self.queue.retain(|waiter| waiter.ticket != me);
        if self.queue.is_empty() {
            self.queue_left = 0;
        }
    }

    fn put(&mut self, ticket: Ticket, left: u8) -> Number {
        let token = self.number();
        self.owner = Some(Owner {
            ticket,
            token,
            left,
            begun: false,
        });
        token
    }

    fn number(&mut self) -> Number {
        self.last += 1;
        self.last
    }

    /// Drops dead heads, at most so many; true: the bound was reached and nothing is known yet.
    ///
    /// The script's bound counts what it looks at, so with exactly so many dead and nobody after them it answers "more" too.
    fn drop_dead(&mut self, times: &Times, rules: &Rules) -> bool {
        if !rules.drop_dead {
            return false;
        }
        let dead = self
            .queue
            .iter()
            .take(times.drops)
            .take_while(|w| w.alive == 0);
        let dead = dead.count();
        self.queue.drain(..dead);
        if self.queue.is_empty() {
            self.queue_left = 0;
        }
        dead == times.drops
    }
}
