//! The locks held by this call chain: a nested call of the same key goes on under the lock its caller has, instead of waiting
//! for it for ever.
//!
//! A chain is what a body awaits itself. A task that it spawns is outside, a rival like any other.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::clock;
use crate::error::{LockError, LossReason};
use crate::guard::{Hold, Part};
use crate::options::Sharing;
use crate::watchdog::Watchdog;

tokio::task_local! {
    static CHAIN: Arc<Link>;
}

/// One key of a running body, and the body that called it. A body of several keys has a link for each.
#[derive(Debug)]
pub(crate) struct Link {
    /// All that the body holds.
    hold: Hold,
    record: Arc<str>,
    /// This key's part of it.
    part: Part,
    watchdog: Watchdog,
    /// How this body has it: a reader inside of a writer is one.
    pub(crate) sharing: Sharing,
    /// Nested calls of this key inside of this body take turns: one body at a time, always, but for readers.
    turn: Arc<RwLock<()>>,
    outer: Option<Arc<Self>>,
}

/// The turn of one nested call; it passes on when dropped.
#[expect(dead_code, reason = "what it holds is its whole use")]
#[derive(Debug)]
pub(crate) enum Turn {
    Reads(OwnedRwLockReadGuard<()>),
    Alone(OwnedRwLockWriteGuard<()>),
}

impl Link {
    /// A body of one key that begins here, called by the one that runs here.
    pub(crate) fn new(
        hold: Hold,
        record: Arc<str>,
        watchdog: Watchdog,
        sharing: Sharing,
    ) -> Arc<Self> {
        let part = hold.first().clone();
        Self::with(hold, record, part, watchdog, sharing, innermost())
    }

    /// A body of several keys that begins here, with their records.
    pub(crate) fn of_several(
        hold: &Hold,
        parts: impl IntoIterator<Item = (Arc<str>, Part)>,
        watchdog: &Watchdog,
        sharing: Sharing,
    ) -> Option<Arc<Self>> {
        parts
            .into_iter()
            .fold(innermost(), |outer, (record, part)| {
                Some(Self::with(
                    hold.clone(),
                    record,
                    part,
                    watchdog.clone(),
                    sharing,
                    outer,
                ))
            })
    }

    fn with(
        hold: Hold,
        record: Arc<str>,
        part: Part,
        watchdog: Watchdog,
        sharing: Sharing,
        outer: Option<Arc<Self>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            hold,
            record,
            part,
            watchdog,
            sharing,
            turn: Arc::default(),
            outer,
        })
    }

    /// All that the body runs under.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.hold.parts()
    }

    /// Runs one poll of the body.
    pub(crate) fn run<T>(self: &Arc<Self>, poll: impl FnOnce() -> T) -> T {
        CHAIN.sync_scope(Arc::clone(self), poll)
    }

    /// Waits for the turn of a nested call, which may then go on under this link's lock.
    pub(crate) async fn enter(&self, sharing: Sharing) -> Result<(Turn, Part), LockError> {
        let turn = Arc::clone(&self.turn);
        let turn = if sharing == Sharing::Read {
            Turn::Reads(turn.read_owned().await)
        } else {
            Turn::Alone(turn.write_owned().await)
        };
        let life = &self.part.life;
        if !life.is_live(clock::now()) {
            let reason = life.run_out().unwrap_or(LossReason::GivenBack);
            return Err(self.part.ended(reason));
        }
        Ok((turn, self.part.borrowed()))
    }
}

fn innermost() -> Option<Arc<Link>> {
    CHAIN.try_with(Arc::clone).ok()
}

/// The lock of the running body, the innermost where bodies are nested.
pub(crate) fn current() -> Option<Hold> {
    CHAIN.try_with(|link| link.hold.clone()).ok()
}

/// The nearest body of this chain that has this lock of this manager. One that gave it back early, or runs on after a loss, has
/// it no longer.
pub(crate) fn held(watchdog: &Watchdog, record: &str) -> Option<Arc<Link>> {
    let mut link = innermost()?;
    while *link.record != *record || !link.watchdog.is(watchdog) {
        link = Arc::clone(link.outer.as_ref()?);
    }
    link.part.life.covers(clock::now()).then_some(link)
}

/// Waits until a nested body may run under the lock that `link` has: no request, the same fencing token, and it is the outer body
/// that gives the lock back. The nested one checks the deadline before each of its polls, too: it may have been moved out of the
/// outer body, and outlive it.
pub(crate) async fn reenter(
    link: Arc<Link>,
    sharing: Sharing,
) -> Result<(Arc<Link>, Turn), LockError> {
    let (turn, part) = link.enter(sharing).await?;
    let hold = Hold::new(part, link.watchdog.downgrade());
    let (record, watchdog) = (Arc::clone(&link.record), link.watchdog.clone());
    let nested = Link::new(hold, record, watchdog, sharing);
    Ok((nested, turn))
}
