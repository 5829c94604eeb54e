//! The life of one hold as its caller and the keeper both see it: asking, granted, held, and how it ended.
//!
//! The two meet nowhere else. Each step is taken under one short lock; the deadline stands beside it as an atomic, for the
//! check before each poll of a body.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a step fits one or two stages and is void in all others"
)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::clock::Moment;
use crate::error::{LockError, LossReason};
use crate::key::LockKey;
use crate::lease::Lease;
use crate::options::Mode;
use crate::token::{FencingToken, OwnerToken};

const MOST_WAKERS: usize = 32;

/// One acquisition, from the first ask until its release is confirmed or moot.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) key: LockKey,
    pub(crate) mode: Mode,
    pub(crate) ticket: OwnerToken,
    /// The deadline in nanoseconds of the boot-time clock; 0 while nothing is held.
    deadline: AtomicU64,
    state: Mutex<State>,
    /// The loss was told to whoever observes this process.
    reported: AtomicBool,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    wakers: Vec<Waker>,
}

#[derive(Debug)]
enum Stage {
    /// The keeper asks; nothing is granted.
    Asking,
    /// The lock is ours, the caller hasn't looked yet. `tell`: a renewal is due as soon as it has. `late`: it has looked, but
    /// on the last breath of the grant.
    Granted {
        lease: Lease,
        tell: bool,
        late: bool,
    },
    /// The caller goes on under the lock.
    Held { token: FencingToken },
    /// The lock was held and isn't any more.
    Lost {
        token: FencingToken,
        reason: LossReason,
    },
    /// The lock isn't to be had.
    Refused(LockError),
    /// The caller has left; the keeper gives the lock back.
    Leaving,
    /// The release was answered, or is waited for no longer.
    Gone(Ending),
}

/// How a release ended, as far as its caller waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The storage gave the lock on or freed it.
    Released,
    /// The lock was no longer ours.
    NotHeld,
    /// No answer in time; the keeper goes on.
    Unconfirmed,
}

/// What a caller finds when its wait ends.
#[derive(Debug)]
pub(crate) enum Turn {
    /// The lock is held from now on; `tell`: the keeper wants to know at once.
    Begun {
        tell: bool,
    },
    /// The lock is ours for so short a time that it has to be asked for once more first.
    Late,
    Refused(LockError),
}

impl Life {
    pub(crate) fn new(key: LockKey, mode: Mode) -> Self {
        Self {
            key,
            mode,
            ticket: OwnerToken::random(),
            deadline: AtomicU64::new(0),
            reported: AtomicBool::new(false),
            state: Mutex::new(State {
                stage: Stage::Asking,
                wakers: Vec::new(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // nothing panics while it is locked but a foreign waker, and every step leaves the stage whole
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the stage and wakes whoever looks at it.
    fn enter(&self, mut state: MutexGuard<'_, State>, stage: Stage) {
        state.stage = stage;
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whoever looks in vain is woken by the next step.
    fn register(mut state: MutexGuard<'_, State>, waker: &Waker) {
        if state.wakers.iter().any(|known| known.will_wake(waker)) {
            return;
        }
        // whoever is polled with ever new wakers gets a spurious wake-up instead of a list that grows
        let full = state.wakers.len() == MOST_WAKERS;
        let others = if full {
            std::mem::take(&mut state.wakers)
        } else {
            Vec::new()
        };
        state.wakers.push(waker.clone());
        // a foreign waker may look again at once: not under the lock
        drop(state);
        others.into_iter().for_each(Waker::wake);
    }

    // --- the caller's steps

    /// Looks whether the turn has come; if so, the hold begins.
    pub(crate) fn poll_turn(&self, now: Moment, waker: &Waker) -> Poll<Turn> {
        let mut state = self.state();
        if let Stage::Granted { lease, tell, late } = &mut state.stage {
            let (lease, tell) = (*lease, *tell);
            if now < lease.start_by() {
                self.deadline
                    .store(lease.deadline().as_nanos(), Ordering::Release);
                state.stage = Stage::Held { token: lease.token };
                return Poll::Ready(Turn::Begun { tell });
            }
            if !std::mem::replace(late, true) {
                Self::register(state, waker);
                return Poll::Ready(Turn::Late);
            }
        }
        if let Stage::Refused(_) = state.stage
            && let Stage::Refused(error) =
                std::mem::replace(&mut state.stage, Stage::Gone(Ending::NotHeld))
        {
            return Poll::Ready(Turn::Refused(error));
        }
        Self::register(state, waker);
        Poll::Pending
    }

    /// Whether the lock is held at `now`, judged by the local deadline alone.
    pub(crate) fn is_live(&self, now: Moment) -> bool {
        now.as_nanos() < self.deadline.load(Ordering::Acquire)
    }

    /// Until when the lock is held if nothing renews it.
    pub(crate) fn deadline(&self) -> Moment {
        Moment::from_nanos(self.deadline.load(Ordering::Acquire))
    }

    pub(crate) fn token(&self) -> Option<FencingToken> {
        match self.state().stage {
            Stage::Held { token } | Stage::Lost { token, .. } => Some(token),
            _ => None,
        }
    }

    /// Whether the caller has gone on under the lock, at some time.
    pub(crate) fn has_begun(&self) -> bool {
        !matches!(
            self.state().stage,
            Stage::Asking | Stage::Granted { .. } | Stage::Refused(_)
        )
    }

    /// How the lock was lost, if it was.
    pub(crate) fn lost(&self) -> Option<LossReason> {
        match self.state().stage {
            Stage::Lost { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Whether a loss is to be told, once: by whoever notices it first.
    pub(crate) fn report_loss(&self) -> bool {
        self.lost().is_some() && !self.reported.swap(true, Ordering::Relaxed)
    }

    /// Ready once the lock is lost. Looks at the clock too: after a pause it may know before the keeper does.
    pub(crate) fn poll_lost(&self, now: Moment, waker: &Waker) -> Poll<LossReason> {
        if self.is_live(now) {
            let state = self.state();
            if let Stage::Lost { reason, .. } = state.stage {
                return Poll::Ready(reason);
            }
            Self::register(state, waker);
            return Poll::Pending;
        }
        Poll::Ready(
            self.lose(LossReason::LeaseOver)
                .unwrap_or(LossReason::LeaseOver),
        )
    }

    /// The caller leaves: its body is over, or it stopped waiting. False when there is nothing to give back.
    pub(crate) fn leave(&self) -> bool {
        let mut state = self.state();
        self.deadline.store(0, Ordering::Release);
        let owed = !matches!(
            state.stage,
            Stage::Refused(_) | Stage::Leaving | Stage::Gone(_)
        );
        if owed {
            state.stage = Stage::Leaving;
        }
        owed
    }

    /// Ready once the release was answered or is waited for no longer.
    pub(crate) fn poll_gone(&self, waker: &Waker) -> Poll<Ending> {
        let state = self.state();
        if let Stage::Gone(ending) = state.stage {
            return Poll::Ready(ending);
        }
        Self::register(state, waker);
        Poll::Pending
    }

    // --- the keeper's steps

    /// The lock is ours. `tell`: the caller reports its start. False when the caller has left.
    pub(crate) fn grant(&self, lease: Lease, tell: bool) -> bool {
        let state = self.state();
        let waits = matches!(state.stage, Stage::Asking);
        if waits {
            self.enter(
                state,
                Stage::Granted {
                    lease,
                    tell,
                    late: false,
                },
            );
        }
        waits
    }

    /// Whether the caller has begun; if not, it will tell when it does.
    pub(crate) fn has_begun_or_tells(&self) -> bool {
        let mut state = self.state();
        match &mut state.stage {
            Stage::Granted { tell, .. } => {
                *tell = true;
                false
            }
            _ => true,
        }
    }

    /// Takes back a grant that nobody has looked at. False when the caller has begun or left.
    pub(crate) fn take_back(&self) -> bool {
        let mut state = self.state();
        let unused = matches!(state.stage, Stage::Granted { .. });
        if unused {
            state.stage = Stage::Asking;
        }
        unused
    }

    /// A confirmed lease: moves the deadline of a grant or a hold, never back.
    pub(crate) fn extend(&self, longer: Lease) {
        let mut state = self.state();
        match &mut state.stage {
            Stage::Granted { lease, .. } => *lease = longer,
            Stage::Held { .. } => {
                self.deadline
                    .fetch_max(longer.deadline().as_nanos(), Ordering::AcqRel);
            }
            _ => {}
        }
    }

    /// The lock is lost; the body is woken to be dropped. Answers the reason that stands, if there was a hold to lose.
    pub(crate) fn lose(&self, reason: LossReason) -> Option<LossReason> {
        let state = self.state();
        match state.stage {
            Stage::Held { token } => {
                self.deadline.store(0, Ordering::Release);
                self.enter(state, Stage::Lost { token, reason });
                Some(reason)
            }
            Stage::Lost { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// The lock isn't to be had. False when the caller has left or has it.
    pub(crate) fn refuse(&self, error: LockError) -> bool {
        let state = self.state();
        let waits = matches!(state.stage, Stage::Asking);
        if waits {
            self.enter(state, Stage::Refused(error));
        }
        waits
    }

    /// The release was answered, or is waited for no longer.
    pub(crate) fn gone(&self, ending: Ending) {
        let state = self.state();
        if matches!(state.stage, Stage::Leaving) {
            self.enter(state, Stage::Gone(ending));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn hold() -> Life {
        Life::new(LockKey::from_text("boleto:42", 512).unwrap(), Mode::Queue)
    }

    fn at(ms: u64) -> Moment {
        Moment::ZERO + Duration::from_millis(ms)
    }

    fn lease(from: u64) -> Lease {
        Lease {
            token: FencingToken::new(7),
            from: at(from),
            length: Duration::from_secs(1),
        }
    }

    fn begun(hold: &Life, now: Moment) -> bool {
        matches!(
            hold.poll_turn(now, Waker::noop()),
            Poll::Ready(Turn::Begun { .. })
        )
    }

    #[test]
    fn a_hold_lives_until_its_deadline_and_renewals_move_it() {
        let hold = hold();
        assert!(!begun(&hold, at(0)));
        assert!(hold.grant(lease(0), false));
        assert!(begun(&hold, at(10)));
        assert!(hold.is_live(at(987)) && !hold.is_live(at(988)));
        hold.extend(lease(500));
        assert!(hold.is_live(at(1_400)));
        hold.extend(lease(100));
        assert!(hold.is_live(at(1_400)), "a late answer must not shorten");
    }

    #[test]
    fn a_late_renewal_does_not_revive_a_lost_hold() {
        let hold = hold();
        hold.grant(lease(0), false);
        assert!(begun(&hold, at(10)));
        assert_eq!(
            hold.poll_lost(at(2_000), Waker::noop()),
            Poll::Ready(LossReason::LeaseOver)
        );
        hold.extend(lease(5_000));
        assert!(!hold.is_live(at(5_001)));
        assert_eq!(
            hold.lose(LossReason::Taken),
            Some(LossReason::LeaseOver),
            "the first reason stands"
        );
    }

    #[test]
    fn an_overdue_grant_is_not_begun() {
        let hold = hold();
        hold.grant(lease(0), false);
        assert!(!begun(&hold, at(990)));
        assert!(hold.take_back());
        assert!(hold.grant(lease(1_000), true));
        assert!(matches!(
            hold.poll_turn(at(1_001), Waker::noop()),
            Poll::Ready(Turn::Begun { tell: true })
        ));
        assert!(!hold.take_back(), "a hold that began can't be taken back");
    }

    #[test]
    fn nothing_is_granted_to_a_caller_that_left() {
        let hold = hold();
        assert!(hold.leave());
        assert!(!hold.grant(lease(0), false));
        assert!(!hold.leave(), "one release only");
        hold.gone(Ending::Released);
        assert_eq!(hold.poll_gone(Waker::noop()), Poll::Ready(Ending::Released));
    }

    #[test]
    fn a_refusal_is_given_once_and_leaves_nothing_to_release() {
        let hold = hold();
        assert!(hold.refuse(LockError::ShuttingDown {
            key: hold.key.clone(),
            mode: Mode::Queue
        }));
        assert!(matches!(
            hold.poll_turn(at(0), Waker::noop()),
            Poll::Ready(Turn::Refused(_))
        ));
        assert!(!hold.leave());
    }
}
