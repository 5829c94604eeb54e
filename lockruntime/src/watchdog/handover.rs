//! Giving back: the release or withdrawal of a hold whose caller has left, tried until it is answered or moot.

use crate::clock::Moment;
use crate::hold::Ending;
use crate::options::Timing;
use crate::watchdog::schedule::Backoff;

/// What has to be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Debt {
    /// The lock was ours.
    Lock,
    /// The ticket may be in the queue, and may have been given the lock.
    Ticket,
}

/// One release or withdrawal.
#[derive(Debug)]
pub(crate) struct HandingBack {
    pub(crate) debt: Debt,
    timing: Timing,
    /// After this nothing of the hold can be left on the server.
    moot: Moment,
    /// Until when the caller waits for the answer.
    patience: Option<Moment>,
    due: Moment,
    backoff: Backoff,
    sent: u32,
    in_flight: bool,
    /// Its failure was told, or needn't be.
    told: bool,
}

impl HandingBack {
    pub(crate) fn new(debt: Debt, timing: Timing, now: Moment, patience: Option<Moment>) -> Self {
        let moot = now + timing.lease.max(timing.beat) + timing.request;
        Self {
            debt,
            timing,
            moot,
            patience,
            due: now,
            backoff: Backoff::default(),
            sent: 0,
            in_flight: false,
            told: debt == Debt::Ticket,
        }
    }

    /// When to look again; `None` while only the answer is waited for.
    pub(crate) fn due(&self) -> Option<Moment> {
        let next = (!self.in_flight).then(|| self.due.min(self.moot));
        [next, self.patience].into_iter().flatten().min()
    }

    pub(crate) fn is_moot(&self, now: Moment) -> bool {
        now >= self.moot && !self.in_flight
    }

    /// Whether the caller's patience has just ended.
    pub(crate) fn patience_ended(&mut self, now: Moment) -> bool {
        self.patience.take_if(|patience| now >= *patience).is_some()
    }

    /// Whether to send now.
    pub(crate) fn send(&mut self, now: Moment) -> bool {
        let sends = !self.in_flight && now >= self.due;
        if sends {
            self.in_flight = true;
            self.sent += 1;
        }
        sends
    }

    pub(crate) fn failed(&mut self, now: Moment) {
        self.in_flight = false;
        self.due = now + self.backoff.next(self.timing.lease);
    }

    /// Whether a failure is to be told: that of a lock, once.
    pub(crate) fn tells(&mut self) -> bool {
        !std::mem::replace(&mut self.told, true)
    }

    /// What a caller may be told. After a lost answer the lock is no longer ours because we gave it back.
    pub(crate) fn ending(&self, held: bool) -> Ending {
        if held || self.sent > 1 {
            Ending::Released
        } else {
            Ending::NotHeld
        }
    }

    pub(crate) fn hurry(&mut self, now: Moment) {
        self.due = self.due.min(now);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_release_is_tried_again_until_it_is_moot() {
        let timing = Timing::new(MS * 900, MS * 1_000, MS * 2_500);
        let mut back = HandingBack::new(
            Debt::Lock,
            timing,
            Moment::ZERO,
            Some(Moment::ZERO + MS * 100),
        );
        let mut now = Moment::ZERO;
        let mut ended = 0;
        while !back.is_moot(now) {
            if back.send(now) {
                now = now + MS;
                back.failed(now);
            }
            ended += u32::from(back.patience_ended(now));
            now = back.due().unwrap();
        }
        assert_eq!(ended, 1, "the caller waits once");
        assert!(back.sent > 3);
        assert!(now.since(Moment::ZERO) >= timing.lease);
        assert_eq!(
            back.ending(false),
            Ending::Released,
            "an answer was lost before"
        );
    }
}
