//! What asks of a ticket may still do on the server after it was given back. Pure.

use std::time::Duration;

use crate::clock::Moment;

/// Asks without an answer, or whose answer may be older than the giving back.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    /// The server's time until which an unanswered ask may be executed; 0 without one.
    last: u64,
    /// The same by our clock, as far as we know.
    until: Option<Moment>,
    /// An ask was on its way when the lock or ticket was given back.
    crossed: bool,
}

impl Unsettled {
    /// An ask was not answered; it may be executed until `last` of the server's clock, about `until` of ours.
    pub(super) fn unanswered(&mut self, last: u64, until: Moment) {
        if last > 0 {
            self.last = self.last.max(last);
            self.until = Some(until);
        }
    }

    /// An ask and the giving back may have been executed in either order.
    pub(super) fn crossed(&mut self) {
        self.crossed = true;
    }

    pub(super) fn is_settled(&self) -> bool {
        self.last == 0 && !self.crossed
    }

    /// When a withdrawal settles, as far as we know.
    pub(super) fn due(&self) -> Option<Moment> {
        self.until
    }

    /// A withdrawal was executed at this time of the server: no unanswered ask of before can do anything after it, or we know
    /// how long to wait for that. Answered ones that crossed the giving back are undone if it was `sent_after` their answers.
    pub(super) fn withdrawn(&mut self, server: u64, now: Moment, sent_after: bool) {
        self.crossed &= !sent_after;
        if server > self.last {
            self.last = 0;
            self.until = None;
        } else {
            self.until = Some(now + Duration::from_millis(self.last - server + 1));
        }
    }
}
