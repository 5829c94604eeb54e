//! One wait, from the first ask to the grant or to giving up. Pure: `now` comes in, what to do comes out.

use std::time::Duration;

use crate::backend::{BackendError, BackendErrorKind, HandOver};
use crate::clock::Moment;
use crate::lease::Lease;
use crate::options::Timing;

/// The shortest pause between two asks of one waiter: nobody spins.
const FLOOR: Duration = Duration::from_millis(5);

/// What one caller knows while it waits.
#[derive(Debug)]
pub(crate) struct Waiter {
    timing: Timing,
    since: Moment,
    wait: Option<Duration>,
    /// The number of the ticket and when the newest ask that was answered so had been sent.
    place: Option<(u64, Moment)>,
    rank: Option<u64>,
    answered: bool,
    failing: Option<(Moment, BackendError)>,
}

/// Why a waiter stops waiting.
#[derive(Debug)]
pub(crate) enum GaveUp {
    TimedOut { waited: Duration, rank: Option<u64> },
    Failed(BackendError),
}

impl Waiter {
    pub(crate) fn new(timing: Timing, now: Moment, wait: Option<Duration>) -> Self {
        Self {
            timing,
            since: now,
            wait,
            place: None,
            rank: None,
            answered: false,
            failing: None,
        }
    }

    /// When the wait is over, if it is bounded.
    pub(crate) fn limit(&self) -> Option<Moment> {
        self.wait.map(|wait| self.since + wait)
    }

    /// An ask sent at `sent` was answered with a place in the queue; answers when to ask again.
    ///
    /// `spread` is a random number below 1: waiters must not ask in step.
    pub(crate) fn placed(
        &mut self,
        sent: Moment,
        now: Moment,
        number: u64,
        rank: u64,
        left: Duration,
        spread: f64,
    ) -> Moment {
        self.answered = true;
        self.failing = None;
        // callers that came together don't go on asking together: the first pause is any part of a whole one
        let poll = match self.place.replace((number, sent)) {
            None => sent + self.timing.poll.mul_f64(1.0 - spread.clamp(0.0, 1.0)),
            Some(_) => self.poll(sent, spread),
        };
        self.rank = Some(rank);
        // the first two look again as soon as the holder's lease may be over, so that a crashed one is replaced at once; all do
        // if nobody holds the lock, since then there were more dead before them than one ask drops
        let soon = if rank <= 1 || left.is_zero() {
            now + (left + Duration::from_millis(1)).max(FLOOR)
        } else {
            poll
        };
        poll.min(soon).max(now + FLOOR)
    }

    /// An ask sent at `sent` failed; answers when to ask again, or that this waiter should not.
    ///
    /// `known` tells whether this backend has ever answered: what never did is more likely a wrong address than an outage.
    pub(crate) fn failed(
        &mut self,
        sent: Moment,
        now: Moment,
        error: BackendError,
        known: bool,
        spread: f64,
    ) -> Result<Moment, BackendError> {
        let since = self.failing.as_ref().map_or(sent, |(since, _)| *since);
        let unbounded = self.wait.is_none();
        let hopeless = error.kind() == BackendErrorKind::Unreachable && !known && unbounded;
        let too_long = unbounded && now.since(since) >= self.timing.lease;
        if !error.kind().is_outage() || hopeless || too_long {
            return Err(error);
        }
        self.failing = Some((since, error));
        Ok(self.poll(sent, spread).max(now + FLOOR))
    }

    /// Whether the wait is over at `now`.
    pub(crate) fn gives_up(&mut self, now: Moment) -> Option<GaveUp> {
        if self.limit().is_none_or(|limit| now < limit) {
            return None;
        }
        if let Some((_, error)) = self.failing.take() {
            return Some(GaveUp::Failed(error));
        }
        if !self.answered && self.wait.is_some_and(|wait| !wait.is_zero()) {
            let error = BackendError::new(
                BackendErrorKind::Timeout,
                "the storage gave no answer within the wait",
            );
            return Some(GaveUp::Failed(error));
        }
        Some(GaveUp::TimedOut {
            waited: now.since(self.since),
            rank: self.rank,
        })
    }

    /// A hand-over to this waiter was announced: a lease to start with at once, unless it doesn't fit what is known.
    ///
    /// The lock was given after the newest answered ask had been executed, since that ask saw the ticket in the queue under
    /// this number; so the storage's expiry is later than that ask's send plus the claim.
    pub(crate) fn handed_over(&self, hand_over: HandOver, now: Moment) -> Option<Lease> {
        let (number, sent) = self.place?;
        if hand_over.token.get() == 0 {
            // a sign that somebody may try, not a grant
            return None;
        }
        let lease = Lease {
            token: hand_over.token,
            from: sent,
            length: self.timing.claim,
        };
        (number == hand_over.number && now < lease.start_by()).then_some(lease)
    }

    pub(crate) fn waited(&self, now: Moment) -> Duration {
        now.since(self.since)
    }

    /// The ticket has left the queue: old announcements mean nothing any more.
    pub(crate) fn forget_place(&mut self) {
        self.place = None;
        self.rank = None;
    }

    fn poll(&self, sent: Moment, spread: f64) -> Moment {
        sent + self.timing.poll.mul_f64(1.0 - spread.clamp(0.0, 1.0) / 8.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{FencingToken, OwnerToken};

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u32) -> Moment {
        Moment::ZERO + MS * ms
    }

    fn waiter(wait: Option<Duration>) -> Waiter {
        Waiter::new(
            Timing::new(MS * 30_000, MS * 1_000, MS * 2_500),
            at(0),
            wait,
        )
    }

    fn hand_over(number: u64) -> HandOver {
        HandOver::new(OwnerToken::random(), number, FencingToken::new(9))
    }

    fn outage() -> BackendError {
        BackendError::new(BackendErrorKind::Unreachable, "refused")
    }

    #[test]
    fn only_the_first_two_follow_the_holders_expiry() {
        let mut waiter = waiter(None);
        assert_eq!(waiter.placed(at(0), at(1), 5, 0, MS * 200, 0.0), at(202));
        assert_eq!(waiter.placed(at(0), at(1), 5, 2, MS * 200, 0.0), at(1_000));
        assert_eq!(
            waiter.placed(at(0), at(1), 5, 0, MS * 29_000, 0.0),
            at(1_000)
        );
        assert_eq!(
            waiter.placed(at(0), at(1), 5, 0, Duration::ZERO, 0.0),
            at(6),
            "nobody spins"
        );
    }

    #[test]
    fn callers_that_came_together_spread_their_asks() {
        for (spread, first, later) in [(0.0, 1_000, 2_000), (0.5, 500, 1_938), (0.99, 10, 1_877)] {
            let mut waiter = waiter(None);
            let left = MS * 29_000;
            let due = waiter.placed(at(0), at(1), 5, 7, left, spread);
            assert_eq!(due.since(at(first)), Duration::ZERO);
            assert!(due.since(at(first - 1)) > Duration::ZERO);
            let due = waiter.placed(at(1_000), at(1_001), 5, 7, left, spread);
            assert!(due > at(later - 1) && due <= at(later));
        }
    }

    #[test]
    fn a_push_counts_from_the_send_of_the_newest_ask_and_needs_its_number() {
        let mut waiter = waiter(None);
        assert_eq!(
            waiter.handed_over(hand_over(5), at(10)),
            None,
            "no place yet"
        );
        waiter.placed(at(10), at(11), 5, 0, MS * 200, 0.0);
        assert_eq!(
            waiter.handed_over(hand_over(4), at(20)),
            None,
            "an old number"
        );
        let lease = waiter.handed_over(hand_over(5), at(20)).unwrap();
        assert_eq!((lease.from, lease.length), (at(10), MS * 2_500));
        assert_eq!(
            waiter.handed_over(hand_over(5), at(2_490)),
            None,
            "too late"
        );
        waiter.forget_place();
        assert_eq!(waiter.handed_over(hand_over(5), at(20)), None);
    }

    /// On a quorum a freed lock is only a reason to try: were it a grant, its body would run without a lock.
    #[test]
    fn a_sign_is_no_grant_whatever_its_number() {
        let mut waiter = waiter(None);
        for number in [0, 5, u64::MAX] {
            waiter.placed(at(10), at(11), number, 0, MS * 200, 0.0);
            let sign = HandOver::new(OwnerToken::random(), number, FencingToken::new(0));
            assert_eq!(waiter.handed_over(sign, at(20)), None);
        }
    }

    #[test]
    fn the_limit_tells_an_outage_from_a_long_queue() {
        let mut queued = waiter(Some(MS * 500));
        queued.placed(at(0), at(1), 5, 3, MS * 200, 0.0);
        assert!(queued.gives_up(at(499)).is_none());
        assert!(matches!(
            queued.gives_up(at(500)),
            Some(GaveUp::TimedOut { rank: Some(3), .. })
        ));

        let mut cut_off = waiter(Some(MS * 500));
        cut_off.placed(at(0), at(1), 5, 3, MS * 200, 0.0);
        assert!(
            cut_off
                .failed(at(100), at(200), outage(), true, 0.0)
                .is_ok()
        );
        assert!(matches!(cut_off.gives_up(at(500)), Some(GaveUp::Failed(_))));

        let mut silent = waiter(Some(MS * 500));
        assert!(matches!(silent.gives_up(at(500)), Some(GaveUp::Failed(_))));
    }

    #[test]
    fn an_unbounded_wait_outlives_an_outage_of_less_than_a_lease() {
        let mut waiter = waiter(None);
        assert_eq!(
            waiter.failed(at(0), at(10), outage(), true, 0.0).unwrap(),
            at(1_000)
        );
        assert!(
            waiter
                .failed(at(29_000), at(29_500), outage(), true, 0.0)
                .is_ok()
        );
        assert!(
            waiter
                .failed(at(30_000), at(30_500), outage(), true, 0.0)
                .is_err()
        );
    }

    #[test]
    fn a_backend_that_never_answered_is_not_waited_for() {
        assert!(
            waiter(None)
                .failed(at(0), at(10), outage(), false, 0.0)
                .is_err()
        );
        assert!(
            waiter(Some(MS * 500))
                .failed(at(0), at(10), outage(), false, 0.0)
                .is_ok()
        );
        let denied = BackendError::new(BackendErrorKind::Permission, "no");
        assert!(
            waiter(Some(MS * 500))
                .failed(at(0), at(10), denied, true, 0.0)
                .is_err()
        );
    }
}
