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
    /// The length every renewal asks for.
    full: Duration,
    due: Moment,
    backoff: Backoff,
}

impl Renewals {
    pub(crate) fn new(lease: Lease, full: Duration) -> Self {
        Self {
            lease,
            full,
            due: lease.third(),
            backoff: Backoff::default(),
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

    /// The storage may have forgotten: verify now.
    pub(crate) fn hurry(&mut self, now: Moment) {
        self.due = self.due.min(now);
        self.backoff.reset();
    }

    /// A renewal was sent; until it is answered only the deadline matters.
    pub(crate) fn sent(&mut self) {
        self.due = self.lease.deadline();
    }

    pub(crate) fn confirmed(&mut self, sent: Moment) {
        self.lease.renewed(sent, self.full);
        self.due = self.lease.third();
        self.backoff.reset();
    }

    pub(crate) fn failed(&mut self, now: Moment) {
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
    fn a_failing_renewal_is_tried_again_and_again_within_the_lease() {
        let mut renewals = renewals(1_200, 1_200);
        let (mut now, mut tries) = (renewals.due(), 0);
        while !renewals.is_over(now) {
            renewals.sent();
            now = now + MS;
            renewals.failed(now);
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
}
