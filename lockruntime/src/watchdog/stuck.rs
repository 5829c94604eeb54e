//! The look for holds and waits that take too long. It costs the calls nothing: now and then all that are left are looked at.

use std::time::Duration;

use crate::clock::Moment;

/// How much later than `warn_after` a stuck lock may be told, as a share of it.
const SHARE: u32 = 8;
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(5);

/// When to look next.
#[derive(Debug)]
pub(crate) struct Looks {
    every: Option<Duration>,
    next: Moment,
}

impl Looks {
    /// For holds and waits of this length; never without one.
    pub(crate) fn new(warn_after: Option<Duration>) -> Self {
        Self {
            every: warn_after.map(|after| (after / SHARE).clamp(SHORTEST, LONGEST)),
            next: Moment::ZERO,
        }
    }

    /// When to look, where there is something to look at.
    pub(crate) fn due(&self) -> Option<Moment> {
        self.every.map(|_| self.next)
    }

    /// Whether it is time.
    pub(crate) fn is_due(&mut self, now: Moment) -> bool {
        let Some(every) = self.every.filter(|_| now >= self.next) else {
            return false;
        };
        self.next = now + every;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_an_eighth_late_at_the_most() {
        let mut looks = Looks::new(Some(Duration::from_secs(8)));
        let start = Moment::from_nanos(1);
        assert!(looks.is_due(start));
        assert!(!looks.is_due(start + Duration::from_millis(999)));
        assert!(looks.is_due(start + Duration::from_secs(1)));
        assert_eq!(Looks::new(None).due(), None);
    }
}
