//! Giving back: the release or withdrawal of a hold whose caller has left, tried until it is answered or moot.

use std::time::Duration;

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
    /// Until when the lock shall stay taken, where the hold was shorter than its minimum. The server is told once and ends it by
    /// itself, so nothing that happens here stretches it; our release at that moment makes the hand-over exact.
    keep_until: Option<Moment>,
    /// The server was told.
    kept: bool,
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
    pub(crate) fn new(
        debt: Debt,
        timing: Timing,
        now: Moment,
        patience: Option<Moment>,
        keep_until: Option<Moment>,
    ) -> Self {
        let keep_until = keep_until.filter(|until| *until > now);
        let ends = (now + timing.lease.max(timing.beat)).max(keep_until.unwrap_or(now));
        Self {
            debt,
            timing,
            moot: ends + timing.request,
            keep_until,
            kept: false,
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

    /// Somebody waits for the answer, until then at the latest.
    pub(crate) fn wait(&mut self, until: Moment) {
        self.patience.get_or_insert(until);
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

    /// How long the lock is to be kept before it is released; `None` when it isn't.
    pub(crate) fn keeps(&self, now: Moment) -> Option<Duration> {
        let left = self.keep_until?.since(now);
        // the server counts in milliseconds
        (!self.kept && left >= Duration::from_millis(1)).then_some(left)
    }

    /// The server keeps the lock to the end of its minimum; released then.
    pub(crate) fn kept(&mut self) {
        self.kept = true;
        self.in_flight = false;
        // by then the server may have ended it by itself: nothing to tell
        self.told = true;
        self.patience = None;
        self.due = self.keep_until.unwrap_or(self.due);
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.kept
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
        if !self.kept {
            self.due = self.due.min(now);
        }
    }
}

#[cfg(test)]
mod tests {
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
            None,
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

    #[test]
    fn a_short_hold_is_kept_to_its_minimum_and_released_then() {
        let timing = Timing::new(MS * 900, MS * 1_000, MS * 2_500);
        let start = Moment::ZERO + MS * 5_000;
        let until = start + MS * 2_000;
        let mut back = HandingBack::new(Debt::Lock, timing, start, None, Some(until));
        assert!(back.send(start));
        assert_eq!(back.keeps(start), Some(MS * 2_000));
        back.failed(start + MS * 100);
        let again = back.due().unwrap();
        assert!(back.send(again));
        // told late, but not for longer
        assert_eq!(back.keeps(again), Some(until.since(again)));
        back.kept();
        assert_eq!(back.due(), Some(until));
        back.hurry(start + MS * 500);
        assert!(!back.send(until - MS));
        assert!(back.send(until));
        assert_eq!(back.keeps(until), None);
        assert!(!back.is_moot(until));
    }

    #[test]
    fn a_hold_longer_than_its_minimum_is_released_at_once() {
        let timing = Timing::new(MS * 900, MS * 1_000, MS * 2_500);
        let now = Moment::ZERO + MS * 5_000;
        let back = HandingBack::new(Debt::Lock, timing, now, None, Some(now - MS));
        assert_eq!(back.keeps(now), None);
    }
}
