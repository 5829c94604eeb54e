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
use std::task::{Poll, Waker, ready};
use std::time::Duration;

use crate::clock::Moment;
use crate::error::{LockError, LossReason};
use crate::key::LockKey;
use crate::lease::Lease;
use crate::options::{Mode, OnLost};
use crate::token::{FencingToken, OwnerToken};

const MOST_WAKERS: usize = 32;

/// What bounds a hold besides its lease, and what happens when it ends by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The length of a whole lease; a grant by hand-over has less until its first renewal.
    pub(crate) lease: Duration,
    /// The lease is renewed; else its end is the cap.
    pub(crate) watchdog: bool,
    /// How long the hold may last at the most, from its start on.
    pub(crate) max_hold: Option<Duration>,
    pub(crate) on_lost: OnLost,
    /// The longest lease that the backend gives.
    pub(crate) longest: Duration,
}

impl Bounds {
    /// Whether the body runs on after a loss of this kind, until its cap or a shutdown ends it all the same.
    pub(crate) fn runs_on(&self, reason: LossReason) -> bool {
        match reason {
            LossReason::LeaseOver | LossReason::Taken | LossReason::KeeperEnded => {
                self.on_lost == OnLost::Continue
            }
            LossReason::CapReached | LossReason::ShutDown | LossReason::GivenBack => false,
        }
    }
}

/// One acquisition, from the first ask until its release is confirmed or moot.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) key: LockKey,
    pub(crate) mode: Mode,
    pub(crate) ticket: OwnerToken,
    pub(crate) bounds: Bounds,
    /// The deadline in nanoseconds of the boot-time clock, never later than the cap; 0 while nothing is held.
    deadline: AtomicU64,
    /// When the work under the lock started, likewise; 0 before.
    started: AtomicU64,
    state: Mutex<State>,
    /// The loss was told to whoever observes this process.
    reported: AtomicBool,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    wakers: Vec<Waker>,
    /// Those who wait for a renewal.
    extending: Vec<Waker>,
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
    Held {
        lease: Lease,
        /// When the newest confirmed request was sent.
        confirmed: Moment,
        /// A renewal was confirmed: the lease is what was asked for, and no claim.
        renewed: bool,
    },
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
    pub(crate) fn new(key: LockKey, mode: Mode, bounds: Bounds) -> Self {
        Self {
            key,
            mode,
            ticket: OwnerToken::random(),
            bounds,
            deadline: AtomicU64::new(0),
            started: AtomicU64::new(0),
            reported: AtomicBool::new(false),
            state: Mutex::new(State {
                stage: Stage::Asking,
                wakers: Vec::new(),
                extending: Vec::new(),
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
        let extending = std::mem::take(&mut state.extending);
        drop(state);
        wakers.into_iter().chain(extending).for_each(Waker::wake);
    }

    /// Whoever looks in vain is woken by the next step.
    fn register(mut state: MutexGuard<'_, State>, waker: &Waker) {
        let others = add(&mut state.wakers, waker);
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
                let confirmed = lease.from;
                state.stage = Stage::Held {
                    lease,
                    confirmed,
                    renewed: false,
                };
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

    /// The work under the lock starts: its bounds count from here. Once only, after the turn has come.
    pub(crate) fn start(&self, now: Moment) {
        let _state = self.state();
        self.started.store(now.as_nanos(), Ordering::Release);
        self.deadline
            .fetch_min(self.cap().as_nanos(), Ordering::AcqRel);
    }

    /// When the work under the lock started.
    pub(crate) fn started(&self) -> Option<Moment> {
        let nanos = self.started.load(Ordering::Acquire);
        (nanos > 0).then(|| Moment::from_nanos(nanos))
    }

    /// When the hold ends whatever is renewed; never, before it started.
    pub(crate) fn cap(&self) -> Moment {
        match (self.bounds.max_hold, self.started()) {
            (Some(most), Some(started)) => started + most,
            _ => Moment::END,
        }
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
            Stage::Held { lease, .. } => Some(lease.token),
            Stage::Lost { token, .. } => Some(token),
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
        Poll::Ready(self.run_out().unwrap_or(LossReason::GivenBack))
    }

    /// Ready once the body has to be dropped. One that gave its lock back early runs on without it, and so does one whose call
    /// wants that after a loss; but a cap and a shutdown are meant to end it.
    pub(crate) fn poll_stop(&self, now: Moment, waker: &Waker) -> Poll<LossReason> {
        let reason = ready!(self.poll_lost(now, waker));
        if reason == LossReason::GivenBack {
            return Poll::Pending;
        }
        if self.bounds.runs_on(reason) && now >= self.cap() {
            self.lose(LossReason::CapReached);
        }
        let state = self.state();
        match state.stage {
            // woken by what ends it all the same
            Stage::Lost { reason, .. } if self.bounds.runs_on(reason) => {
                Self::register(state, waker);
                Poll::Pending
            }
            Stage::Lost { reason, .. } => Poll::Ready(reason),
            _ => Poll::Pending,
        }
    }

    /// Whether a nested call may go on under this lock: it is held, or lost so that its body is about to be dropped. A lock that
    /// was given back, or lost under a body that runs on, is anybody's.
    pub(crate) fn covers(&self, now: Moment) -> bool {
        match self.state().stage {
            Stage::Held { .. } => self.is_live(now) || self.bounds.on_lost == OnLost::Cancel,
            Stage::Lost { .. } => self.bounds.on_lost == OnLost::Cancel,
            _ => false,
        }
    }

    /// Ready once a renewal that was sent at `asked` or later is confirmed, or never will be.
    pub(crate) fn poll_extended(
        &self,
        asked: Moment,
        now: Moment,
        waker: &Waker,
    ) -> Poll<Result<(), LossReason>> {
        if !self.is_live(now) {
            return Poll::Ready(Err(self.run_out().unwrap_or(LossReason::GivenBack)));
        }
        let mut state = self.state();
        match state.stage {
            Stage::Held { confirmed, .. } if confirmed >= asked => return Poll::Ready(Ok(())),
            Stage::Lost { reason, .. } => return Poll::Ready(Err(reason)),
            _ => {}
        }
        let others = add(&mut state.extending, waker);
        drop(state);
        others.into_iter().for_each(Waker::wake);
        Poll::Pending
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

    /// A lease confirmed by a renewal that was sent at `sent`, zero for an ask: moves the deadline of a grant or a hold, never
    /// back and never past the cap.
    pub(crate) fn extend(&self, longer: Lease, sent: Moment) {
        let mut state = self.state();
        let extending = match &mut state.stage {
            Stage::Granted { lease, .. } => {
                *lease = longer;
                return;
            }
            Stage::Held {
                lease,
                confirmed,
                renewed,
            } => {
                *lease = longer;
                *confirmed = sent.max(*confirmed);
                *renewed |= sent > Moment::ZERO;
                let deadline = longer.deadline().min(self.cap());
                self.deadline
                    .fetch_max(deadline.as_nanos(), Ordering::AcqRel);
                std::mem::take(&mut state.extending)
            }
            _ => return,
        };
        drop(state);
        extending.into_iter().for_each(Waker::wake);
    }

    /// The local deadline has passed: the hold is over, by its cap or because nothing was confirmed in time. Answers the reason
    /// that stands, if there was a hold.
    pub(crate) fn run_out(&self) -> Option<LossReason> {
        let reason = match self.state().stage {
            Stage::Held { lease, renewed, .. } => {
                let capped = lease.deadline() >= self.cap();
                // an extension may be shorter than the lease was
                let whole = renewed || lease.length >= self.bounds.lease;
                let unrenewed = !self.bounds.watchdog && whole;
                if capped || unrenewed {
                    LossReason::CapReached
                } else {
                    LossReason::LeaseOver
                }
            }
            _ => LossReason::LeaseOver,
        };
        self.lose(reason)
    }

    /// The lock is lost; the body is woken to be dropped. Answers the reason that stands, if there was a hold to lose: the first
    /// one, and after a loss under a body that runs on what ends that body.
    pub(crate) fn lose(&self, reason: LossReason) -> Option<LossReason> {
        let state = self.state();
        match state.stage {
            Stage::Held { lease, .. } => {
                let token = lease.token;
                self.deadline.store(0, Ordering::Release);
                self.enter(state, Stage::Lost { token, reason });
                Some(reason)
            }
            Stage::Lost {
                token,
                reason: first,
            } if self.bounds.runs_on(first) && !self.bounds.runs_on(reason) => {
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

/// Adds a waker; answers those that have to go for it. Whoever is polled with ever new wakers gets a spurious wake-up instead of
/// a list that grows.
fn add(wakers: &mut Vec<Waker>, waker: &Waker) -> Vec<Waker> {
    if wakers.iter().any(|known| known.will_wake(waker)) {
        return Vec::new();
    }
    let others = if wakers.len() == MOST_WAKERS {
        std::mem::take(wakers)
    } else {
        Vec::new()
    };
    wakers.push(waker.clone());
    others
}

#[cfg(test)]
impl Bounds {
    /// A second, renewed, and nothing else.
    pub(crate) fn plain() -> Self {
        Self {
            lease: Duration::from_secs(1),
            watchdog: true,
            max_hold: None,
            on_lost: OnLost::Cancel,
            longest: crate::options::LONGEST_LEASE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold() -> Life {
        bound(Bounds::plain())
    }

    fn bound(bounds: Bounds) -> Life {
        let key = LockKey::from_text("boleto:42", 512).unwrap();
        Life::new(key, Mode::Queue, bounds)
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
        hold.extend(lease(500), at(500));
        assert!(hold.is_live(at(1_400)));
        hold.extend(lease(100), at(100));
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
        hold.extend(lease(5_000), at(5_000));
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
    fn the_cap_ends_a_hold_whatever_is_renewed() {
        let max_hold = Some(Duration::from_millis(1_500));
        let hold = bound(Bounds {
            max_hold,
            ..Bounds::plain()
        });
        hold.grant(lease(0), false);
        assert!(begun(&hold, at(10)));
        assert_eq!(hold.cap(), Moment::END, "the work hasn't started");
        hold.start(at(20));
        hold.extend(lease(900), at(900));
        assert!(hold.is_live(at(1_519)) && !hold.is_live(at(1_520)));
        assert_eq!(
            hold.poll_stop(at(1_520), Waker::noop()),
            Poll::Ready(LossReason::CapReached)
        );
    }

    #[test]
    fn a_lease_that_ends_before_the_cap_is_a_loss() {
        let hold = bound(Bounds {
            max_hold: Some(Duration::from_millis(1_500)),
            ..Bounds::plain()
        });
        hold.grant(lease(0), false);
        assert!(begun(&hold, at(10)));
        hold.start(at(10));
        // looked at after both
        assert_eq!(
            hold.poll_stop(at(2_000), Waker::noop()),
            Poll::Ready(LossReason::LeaseOver)
        );
    }

    #[test]
    fn without_a_watchdog_the_end_of_a_whole_lease_is_the_cap_and_that_of_a_claim_a_loss() {
        for (length, reason) in [
            (1_000, LossReason::CapReached),
            (300, LossReason::LeaseOver),
        ] {
            let hold = bound(Bounds {
                watchdog: false,
                ..Bounds::plain()
            });
            let granted = Lease {
                length: Duration::from_millis(length),
                ..lease(0)
            };
            hold.grant(granted, false);
            assert!(begun(&hold, at(10)));
            hold.start(at(10));
            assert_eq!(
                hold.poll_lost(at(1_000), Waker::noop()),
                Poll::Ready(reason)
            );
        }
    }

    #[test]
    fn without_a_watchdog_the_end_of_an_extension_is_the_cap_however_short_it_is() {
        let hold = bound(Bounds {
            watchdog: false,
            ..Bounds::plain()
        });
        hold.grant(lease(0), false);
        assert!(begun(&hold, at(10)));
        hold.start(at(10));
        let length = Duration::from_millis(500);
        let shorter = Lease {
            length,
            ..lease(900)
        };
        hold.extend(shorter, at(900));
        assert_eq!(
            hold.poll_stop(at(1_500), Waker::noop()),
            Poll::Ready(LossReason::CapReached)
        );
    }

    #[test]
    fn without_a_watchdog_a_claim_that_an_ask_found_again_is_still_a_claim() {
        let hold = bound(Bounds {
            watchdog: false,
            ..Bounds::plain()
        });
        let claim = Lease {
            length: Duration::from_millis(300),
            ..lease(0)
        };
        hold.grant(claim, false);
        assert!(begun(&hold, at(10)));
        hold.extend(claim, Moment::ZERO);
        assert_eq!(
            hold.poll_lost(at(1_000), Waker::noop()),
            Poll::Ready(LossReason::LeaseOver)
        );
    }

    #[test]
    fn a_body_runs_on_after_a_loss_only_where_that_is_wanted() {
        for (on_lost, stops) in [(OnLost::Cancel, true), (OnLost::Continue, false)] {
            let reasons = [
                (LossReason::LeaseOver, stops),
                (LossReason::Taken, stops),
                (LossReason::KeeperEnded, stops),
                (LossReason::ShutDown, true),
                (LossReason::CapReached, true),
            ];
            for (reason, stops) in reasons {
                let hold = bound(Bounds {
                    on_lost,
                    ..Bounds::plain()
                });
                hold.grant(lease(0), false);
                assert!(begun(&hold, at(10)));
                hold.lose(reason);
                let stopped = hold.poll_stop(at(20), Waker::noop());
                assert_eq!(stopped.is_ready(), stops, "{on_lost:?} {reason:?}");
                assert_eq!(hold.covers(at(20)), on_lost == OnLost::Cancel);
            }
        }
    }

    #[test]
    fn a_body_that_runs_on_after_a_loss_is_stopped_at_its_cap() {
        let hold = bound(Bounds {
            on_lost: OnLost::Continue,
            max_hold: Some(Duration::from_millis(1_500)),
            ..Bounds::plain()
        });
        hold.grant(lease(0), false);
        assert!(begun(&hold, at(10)));
        hold.start(at(10));
        hold.lose(LossReason::Taken);
        assert!(hold.poll_stop(at(1_509), Waker::noop()).is_pending());
        // nobody but this look has noticed
        for now in [1_510, 1_600] {
            assert_eq!(
                hold.poll_stop(at(now), Waker::noop()),
                Poll::Ready(LossReason::CapReached)
            );
        }
        assert_eq!(hold.lost(), Some(LossReason::CapReached));
    }

    #[test]
    fn whoever_runs_on_after_a_loss_is_woken_by_what_ends_it_all_the_same() {
        use std::sync::atomic::AtomicUsize;

        struct Woken(AtomicUsize);
        impl std::task::Wake for Woken {
            fn wake(self: std::sync::Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        for end in [LossReason::CapReached, LossReason::ShutDown] {
            let hold = bound(Bounds {
                on_lost: OnLost::Continue,
                ..Bounds::plain()
            });
            hold.grant(lease(0), false);
            assert!(begun(&hold, at(10)));
            hold.lose(LossReason::Taken);
            let woken = std::sync::Arc::new(Woken(AtomicUsize::new(0)));
            let waker = Waker::from(std::sync::Arc::clone(&woken));
            assert!(hold.poll_stop(at(20), &waker).is_pending());
            assert_eq!(hold.lose(LossReason::LeaseOver), Some(LossReason::Taken));
            assert_eq!(woken.0.load(Ordering::Relaxed), 0);
            assert_eq!(hold.lose(end), Some(end));
            assert_eq!(woken.0.load(Ordering::Relaxed), 1);
            assert_eq!(hold.poll_stop(at(30), &waker), Poll::Ready(end));
            let other = [LossReason::CapReached, LossReason::ShutDown];
            for later in other {
                assert_eq!(hold.lose(later), Some(end), "the first end stands");
            }
        }
    }

    #[test]
    fn a_body_that_gave_its_lock_back_runs_on_and_its_lock_covers_nobody() {
        let hold = hold();
        hold.grant(lease(0), false);
        assert!(begun(&hold, at(10)));
        assert!(hold.covers(at(10)));
        assert!(hold.leave());
        assert!(hold.poll_stop(at(20), Waker::noop()).is_pending());
        assert!(!hold.covers(at(20)));
        assert_eq!(
            hold.poll_lost(at(20), Waker::noop()),
            Poll::Ready(LossReason::GivenBack)
        );
    }

    #[test]
    fn an_extension_counts_from_a_renewal_that_was_sent_after_it_was_asked_for() {
        let hold = hold();
        hold.grant(lease(0), false);
        assert!(begun(&hold, at(10)));
        let extended = |now| hold.poll_extended(at(100), at(now), Waker::noop());
        assert!(extended(100).is_pending());
        hold.extend(lease(90), at(90));
        assert!(extended(110).is_pending(), "that one was under way before");
        hold.extend(lease(110), at(110));
        assert_eq!(extended(120), Poll::Ready(Ok(())));
        let late = hold.poll_extended(at(900), at(5_000), Waker::noop());
        assert_eq!(late, Poll::Ready(Err(LossReason::LeaseOver)));
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
