//! The life of one hold as its caller and the keeper both see it: asking, granted, held, and how it ended.
//!
//! The two meet nowhere else. Each step is taken under one short lock; the deadline stands beside it as an atomic, for the
//! check before each poll of a body.
//!
//! It is one long room on purpose: each stage answers every step, and is read against the others.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a step fits one or two stages and is void in all others"
)]

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker, ready};
use std::time::Duration;

use crate::clock::Moment;
use crate::error::{LockError, LossReason};
use crate::key::LockKey;
use crate::lease::Lease;
use crate::options::{Mode, OnLost, Sharing};
use crate::telemetry::{Event, NO_TEMPLATE, Observer, Subject};
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
    /// Who may hold the lock beside it.
    pub(crate) sharing: Sharing,
    pub(crate) bounds: Bounds,
    /// The deadline in nanoseconds of the boot-time clock, never later than the cap; 0 while nothing is held.
    deadline: AtomicU64,
    /// When the work under the lock started, likewise; 0 before.
    started: AtomicU64,
    state: Mutex<State>,
    /// The loss was told to whoever observes this process.
    reported: AtomicBool,
    /// When the turn came, likewise.
    begun: AtomicU64,
    template: &'static str,
    observer: Arc<Observer>,
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
            sharing: Sharing::Alone,
            bounds,
            deadline: AtomicU64::new(0),
            started: AtomicU64::new(0),
            reported: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            template: NO_TEMPLATE,
            observer: Arc::default(),
            state: Mutex::new(State {
                stage: Stage::Asking,
                wakers: Vec::new(),
                extending: Vec::new(),
            }),
        }
    }

    /// The same, of a manager that is observed.
    pub(crate) fn observed(self, template: &'static str, observer: Arc<Observer>) -> Self {
        Self {
            template,
            observer,
            ..self
        }
    }

    pub(crate) fn template(&self) -> &'static str {
        self.template
    }

    /// What its events are about.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            key: &self.key,
            template: self.template,
            mode: self.mode,
            owner: self.ticket,
        }
    }

    /// Tells what happened to it. Never under its own lock: whoever is told may look at the hold.
    pub(crate) fn tell(&self, event: &Event<'_>) {
        self.observer.emit(event);
    }

    pub(crate) fn observer(&self) -> &Observer {
        &self.observer
    }

    /// Tells a loss, or the end by the cap, once.
    pub(crate) fn tell_loss(&self, now: Moment) {
        if self.lost().is_some() && !self.reported.swap(true, Ordering::Relaxed) {
            self.tell(&Event::ended(self, self.held_for(now)));
        }
    }

    /// How long it has been held.
    pub(crate) fn held_for(&self, now: Moment) -> Duration {
        self.begun()
            .map_or(Duration::ZERO, |begun| now.since(begun))
    }

    /// When the turn came, if it has.
    pub(crate) fn begun(&self) -> Option<Moment> {
        let nanos = self.begun.load(Ordering::Acquire);
        (nanos > 0).then(|| Moment::from_nanos(nanos))
    }

    /// The same, held as `sharing` says.
    pub(crate) fn shared(mut self, sharing: Sharing) -> Self {
        self.sharing = sharing;
        self
    }

    /// What is said where others share the lock otherwise.
    pub(crate) fn differs(&self, present: Sharing) -> LockError {
        LockError::PermitsDiffer {
            key: self.key.clone(),
            mode: self.mode,
            asked: self.sharing,
            present,
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
                self.begun.store(now.as_nanos(), Ordering::Release);
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
