//! Who is told, and what is worth a warning: one per manager.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{Event, metrics, trace};
use crate::clock::{self, Moment};

/// Of long queues a manager warns at most so often.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(60);

/// What the application wants to be told by.
pub(crate) type Hook = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

/// What one manager tells, to whom.
#[derive(Default)]
pub(crate) struct Observer {
    pub(crate) hook: Option<Hook>,
    /// Holds and waits longer than this are stuck.
    pub(crate) warn_after: Option<Duration>,
    /// Queues longer than this are.
    pub(crate) warn_queue: Option<u64>,
    /// When it warned of a long queue for the last time.
    warned: Mutex<Option<Moment>>,
}

impl Observer {
    pub(crate) fn new(hook: Option<Hook>, warn_after: Duration, warn_queue: Option<u64>) -> Self {
        Self {
            hook,
            warn_after: Some(warn_after),
            warn_queue,
            warned: Mutex::default(),
        }
    }

    /// Tells every sink. Whatever panics there is not the lock's affair: the panic's own report is all that comes of it.
    pub(crate) fn emit(&self, event: &Event<'_>) {
        let told = catch_unwind(AssertUnwindSafe(|| {
            trace::event(event);
            metrics::event(event);
        }));
        let hooked = catch_unwind(AssertUnwindSafe(|| {
            if let Some(hook) = &self.hook {
                hook(event);
            }
        }));
        // a payload whose own drop panics is left alone
        for payload in [told, hooked].into_iter().filter_map(Result::err) {
            std::mem::forget(payload);
        }
    }

    /// Whether a queue in which so many stand before a new one is to be warned of now.
    pub(crate) fn warns_of_queue(&self, rank: u64) -> bool {
        if self.warn_queue.is_none_or(|most| rank < most) {
            return false;
        }
        let now = clock::now();
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let again = warned.is_none_or(|last| now.since(last) >= BETWEEN_WARNINGS);
        if again {
            *warned = Some(now);
        }
        again
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer")
            .field("warn_after", &self.warn_after)
            .field("warn_queue", &self.warn_queue)
            .finish_non_exhaustive()
    }
}
