//! When to renew, when to try again, when to give up. Pure.

use std::time::Duration;

use crate::clock::Moment;
use crate::lease::Lease;

const FIRST_RETRY: Duration = Duration::from_millis(20);
const LAST_RETRY: Duration = Duration::from_millis(500);

/// Waiting times between tries: doubling from 20 ms, at most half a second, a sixth of the lease where that is less.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    tries: u32,
}

impl Backoff {
    pub(crate) fn next(&mut self, lease: Duration) -> Duration {
        let pause = FIRST_RETRY * 2_u32.pow(self.tries.min(5));
        self.tries += 1;
        pause.min(LAST_RETRY).min((lease / 6).max(FIRST_RETRY))
    }

    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }
}

/// How long one renewal may take: short enough for several tries within a lease.
pub(crate) fn renewal_timeout(lease: Duration) -> Duration {
    (lease / 6).min(Duration::from_secs(1))
}

/// The renewals of one hold.
#[derive(Debug)]
pub(crate) struct Renewals {
    pub(crate) lease: Lease,
    /// The length that renewals ask for.
    full: Duration,
    /// The length that the renewal under way asked for.
    asked: Duration,
    /// The latest renewal that wasn't answered in time, and the length that it asked for.
    unanswered: Option<(Moment, Duration)>,
    /// A whole lease is renewed; else only what has less is lengthened to one.
    watchdog: bool,
    /// A renewal is wanted whatever is due: an extension, from inside of the body.
    wanted: bool,
    due: Moment,
    backoff: Backoff,
}

impl Renewals {
    pub(crate) fn new(lease: Lease, full: Duration, watchdog: bool) -> Self {
        let mut renewals = Self {
            lease,
            full,
            asked: full,
            unanswered: None,
            watchdog,
            wanted: false,
            due: Moment::END,
            backoff: Backoff::default(),
        };
        renewals.plan();
        renewals
    }

    /// When the next renewal is due, with nothing under way.
    fn plan(&mut self) {
        self.due = if self.wanted {
            Moment::ZERO
        } else if self.renews() {
            self.lease.third()
        } else {
            Moment::END
        };
    }

    /// Whether the present lease is renewed by itself.
    fn renews(&self) -> bool {
        self.watchdog || self.lease.length < self.full
    }

    /// The length to ask for.
    pub(crate) fn length(&self) -> Duration {
        self.asked
    }

    /// The hold shall have `length` from now on at least, and with a watchdog after each later renewal as well. `free`: none is
    /// under way.
    pub(crate) fn extend(&mut self, length: Duration, free: bool) {
        self.full = if self.renews() {
            self.full.max(length)
        } else {
            length
        };
        self.wanted = true;
        if free {
            self.plan();
        }
    }

    /// When to look again: the next renewal, or the end.
    pub(crate) fn due(&self) -> Moment {
        self.due.min(self.lease.deadline())
    }

    pub(crate) fn wants_renewal(&self, now: Moment) -> bool {
        now >= self.due
    }

    pub(crate) fn is_over(&self, now: Moment) -> bool {
        now >= self.lease.deadline()
    }

    /// The storage may have forgotten: verify now. A hold that nothing renews would be lengthened by it, and isn't verified.
    pub(crate) fn hurry(&mut self, now: Moment) {
        if self.renews() {
            self.due = self.due.min(now);
        }
        self.backoff.reset();
    }

    /// A renewal was sent; until it is answered only the deadline matters.
    pub(crate) fn sent(&mut self) {
        self.asked = self.full;
        self.wanted = false;
        self.due = Moment::END;
    }

    pub(crate) fn confirmed(&mut self, sent: Moment) {
        self.lease.renewed(sent, self.asked);
        self.plan();
        self.backoff.reset();
    }

    /// A renewal that wasn't answered in time is answered now. Whether that lengthens the lease.
    pub(crate) fn confirmed_late(&mut self, sent: Moment) -> bool {
        let Some((_, asked)) = self.unanswered.take_if(|(of, _)| *of == sent) else {
            return false;
        };
        let deadline = self.lease.deadline();
        self.lease.renewed(sent, asked);
        // one that is under way plans when it comes back
        if self.due != Moment::END {
            self.plan();
        }
        self.lease.deadline() > deadline
    }

    pub(crate) fn failed(&mut self, sent: Moment, now: Moment) {
        self.unanswered = Some((sent, self.asked));
        // what was asked for is still wanted, by itself or by an extension
        self.due = now + self.backoff.next(self.full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::FencingToken;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u32) -> Moment {
        Moment::ZERO + MS * ms
    }

    fn renewals(length: u32, full: u32) -> Renewals {
        Renewals::new(
            Lease {
                token: FencingToken::new(1),
                from: at(0),
                length: MS * length,
            },
            MS * full,
            true,
        )
    }

    #[test]
    fn ten_leases_take_thirty_renewals() {
        let mut renewals = renewals(3_000, 3_000);
        let mut count = 0;
        while renewals.due() < at(30_000) {
            let now = renewals.due();
            assert!(!renewals.is_over(now));
            renewals.sent();
            renewals.confirmed(now);
            count += 1;
        }
        assert_eq!(count, 29);
    }

    #[test]
    fn a_claim_is_renewed_to_the_full_lease() {
        let mut renewals = renewals(900, 3_000);
        assert_eq!(renewals.due(), at(300));
        renewals.confirmed(at(300));
        assert_eq!(renewals.lease.deadline(), at(300 + 3_000 - 32));
        assert_eq!(renewals.due(), at(1_300));
    }

    #[test]
    fn without_a_watchdog_only_a_claim_is_renewed() {
        let lease = |length| Lease {
            token: FencingToken::new(1),
            from: at(0),
            length: MS * length,
        };
        let mut whole = Renewals::new(lease(3_000), MS * 3_000, false);
        assert_eq!(whole.due(), at(3_000 - 32), "its end");
        whole.hurry(at(100));
        assert!(!whole.wants_renewal(at(2_900)));

        let mut claim = Renewals::new(lease(900), MS * 3_000, false);
        assert_eq!(claim.due(), at(300));
        claim.sent();
        claim.confirmed(at(300));
        assert_eq!(claim.due(), claim.lease.deadline());
        assert!(!claim.wants_renewal(at(3_000)));
        claim.extend(MS * 5_000, true);
        assert!(claim.wants_renewal(at(3_000)));
        claim.sent();
        claim.confirmed(at(3_000));
        assert_eq!(claim.lease.deadline(), at(8_000 - 52));
        assert!(!claim.wants_renewal(at(7_000)));
    }

    #[test]
    fn an_extension_lengthens_this_and_the_later_renewals() {
        let mut renewals = renewals(3_000, 3_000);
        renewals.extend(MS * 9_000, true);
        assert!(renewals.wants_renewal(at(10)));
        renewals.sent();
        assert_eq!(renewals.length(), MS * 9_000);
        renewals.confirmed(at(10));
        assert_eq!(renewals.lease.deadline(), at(10 + 9_000 - 92));
        assert_eq!(renewals.due(), at(3_010));
        renewals.extend(MS * 100, true);
        renewals.sent();
        assert_eq!(renewals.length(), MS * 9_000, "never shortened");
    }

    #[test]
    fn a_renewal_under_way_confirms_only_what_it_asked_for() {
        let mut renewals = renewals(3_000, 3_000);
        renewals.sent();
        renewals.extend(MS * 9_000, false);
        assert!(!renewals.wants_renewal(at(1_100)), "one at a time");
        renewals.confirmed(at(1_000));
        assert_eq!(renewals.lease.deadline(), at(1_000 + 3_000 - 32));
        assert!(renewals.wants_renewal(at(1_100)), "the extension follows");
    }

    #[test]
    fn a_failing_renewal_is_tried_again_and_again_within_the_lease() {
        let mut renewals = renewals(1_200, 1_200);
        let (mut now, mut tries) = (renewals.due(), 0);
        while !renewals.is_over(now) {
            let sent = now;
            renewals.sent();
            now = now + MS;
            renewals.failed(sent, now);
            assert!(
                renewals.due() >= (now + MS * 20).min(renewals.lease.deadline()),
                "no storm"
            );
            now = renewals.due();
            tries += 1;
        }
        assert!(tries >= 5, "{tries}");
        assert_eq!(now, renewals.lease.deadline());
    }

    #[test]
    fn an_answer_that_comes_late_counts_from_its_send() {
        let mut renewals = renewals(1_200, 1_200);
        let first = at(400);
        assert!(renewals.wants_renewal(first));
        renewals.sent();
        renewals.failed(first, at(600));
        let again = renewals.due();
        assert!(again < at(700), "tried again soon");
        renewals.sent();
        // while the second one is under way the first one is answered after all
        assert!(renewals.confirmed_late(first));
        assert_eq!(renewals.lease.deadline(), at(400 + 1_200 - 14));
        assert!(!renewals.wants_renewal(at(1_000)), "one at a time");
        assert!(!renewals.confirmed_late(first), "once");
        renewals.failed(again, at(900));
        assert!(!renewals.confirmed_late(first), "only the latest");
        assert!(renewals.confirmed_late(again));
        assert_eq!(renewals.due(), renewals.lease.third());
    }
}
