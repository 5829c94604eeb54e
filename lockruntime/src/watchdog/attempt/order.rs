//! What goes into an attempt and what comes out.

use std::sync::Arc;
use std::time::Duration;

use crate::backend::Holder;
use crate::hold::Life;
use crate::options::Timing;

/// What a caller asks the keeper for.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) life: Arc<Life>,
    pub(crate) record: Arc<str>,
    pub(crate) holder: Arc<Holder>,
    pub(crate) timing: Timing,
    pub(crate) wait: Option<Duration>,
    pub(crate) release_timeout: Duration,
}

/// Requests to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Ask,
    Renew,
    Release,
    Withdraw,
}

/// The requests that a step wants sent, in this order.
pub(crate) type Calls = Vec<Call>;
