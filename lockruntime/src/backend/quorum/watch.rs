//! Which nodes fail, told once per change.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::backend::BackendError;
use crate::telemetry::{self, Event};

/// The state of one node, as its latest answers have it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    fails: AtomicBool,
}

impl Watch {
    /// It did not do what it was asked.
    pub(super) fn failed(&self, address: &str, error: &BackendError) {
        if !self.fails.swap(true, Ordering::Relaxed) {
            let failure = Some(error);
            telemetry::emit(&Event::Node { address, failure });
        }
    }

    /// It has written something: one that only reads is no help.
    pub(super) fn wrote(&self, address: &str) {
        if self.fails.swap(false, Ordering::Relaxed) {
            let failure = None;
            telemetry::emit(&Event::Node { address, failure });
        }
    }
}
