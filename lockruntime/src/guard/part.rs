//! One key of a hold.

use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::clock::{self, Moment};
use crate::error::{LockError, LossReason};
use crate::hold::Life;
use crate::token::FencingToken;

/// One key of a hold, and its grant.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) life: Arc<Life>,
    pub(crate) token: FencingToken,
    /// Held by an outer body of this call chain, which gives it back.
    pub(crate) borrowed: bool,
}

impl Part {
    /// For a life that has begun.
    pub(crate) fn new(life: Arc<Life>) -> Self {
        let token = life.token().expect("a hold that began has its token");
        Self {
            life,
            token,
            borrowed: false,
        }
    }

    /// The same for a nested body.
    pub(crate) fn borrowed(&self) -> Self {
        Self {
            borrowed: true,
            ..self.clone()
        }
    }

    /// Ready once the body has to be dropped: a nested one as soon as the lock is gone, for whatever reason. It may have outlived
    /// the outer one, and doesn't know what that one's terms allow.
    pub(crate) fn poll_stop(&self, now: Moment, waker: &Waker) -> Poll<LossReason> {
        if self.borrowed {
            self.life.poll_lost(now, waker)
        } else {
            self.life.poll_stop(now, waker)
        }
    }

    /// What a call says when its hold ended so.
    pub(crate) fn ended(&self, reason: LossReason) -> LockError {
        let life = &self.life;
        let (key, mode) = (life.key.clone(), life.mode);
        if reason != LossReason::CapReached {
            return LockError::Lost { key, mode, reason };
        }
        let bounds = life.bounds;
        let lease = (!bounds.watchdog).then_some(bounds.lease);
        let caps = [bounds.max_hold, lease].into_iter().flatten();
        let cap = caps.min().unwrap_or(bounds.lease);
        LockError::HoldCapReached { key, mode, cap }
    }

    /// The loss of the lock, if there was one by now; tells it, unless somebody has.
    pub(crate) fn noticed_loss(&self) -> Option<LossReason> {
        let life = &self.life;
        let now = clock::now();
        if life.is_live(now) {
            return None;
        }
        let reason = life.run_out();
        life.tell_loss(now);
        reason
    }
}
