//! A right to hold for a time: when it counts from, when it ends for us, when it wants renewal.

use std::time::Duration;

use crate::clock::Moment;
use crate::options::Timing;
use crate::token::FencingToken;

/// A grant as its holder may count on it.
///
/// It counts from the moment the request that proved it was **sent**: the server's own count began later, so the holder stops
/// before the server lets anybody else in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) token: FencingToken,
    pub(crate) from: Moment,
    pub(crate) length: Duration,
}

impl Lease {
    /// When the body must have stopped.
    pub(crate) fn deadline(&self) -> Moment {
        self.from + Timing::usable(self.length)
    }

    /// Until when a body may begin: what begins later is over before its first renewal comes back. It is asked for once more
    /// instead, which lengthens it.
    pub(crate) fn start_by(&self) -> Moment {
        self.deadline() - (self.length / 4).min(Duration::from_millis(500))
    }

    /// When a third of it is over.
    pub(crate) fn third(&self) -> Moment {
        self.from + self.length / 3
    }

    /// A renewal sent at `sent` was confirmed. Never shortens.
    pub(crate) fn renewed(&mut self, sent: Moment, length: Duration) {
        let longer = Self {
            from: sent,
            length,
            ..*self
        };
        if longer.deadline() > self.deadline() {
            *self = longer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn lease(from: u64, length: u64) -> Lease {
        Lease {
            token: FencingToken::new(1),
            from: Moment::ZERO + SECOND * u32::try_from(from).unwrap(),
            length: Duration::from_secs(length),
        }
    }

    #[test]
    fn the_deadline_is_earlier_than_the_servers() {
        let lease = lease(10, 30);
        assert_eq!(
            lease.deadline(),
            Moment::ZERO + SECOND * 40 - Duration::from_millis(302)
        );
        assert_eq!(lease.third(), Moment::ZERO + SECOND * 20);
    }

    #[test]
    fn renewals_never_shorten() {
        let mut held = lease(10, 30);
        held.renewed(Moment::ZERO + SECOND * 5, SECOND * 30);
        assert_eq!(held, lease(10, 30));
        held.renewed(Moment::ZERO + SECOND * 20, SECOND * 30);
        assert_eq!(held, lease(20, 30));
    }
}
