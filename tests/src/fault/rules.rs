//! What the network does at this moment.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Request;

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// In order: the other side reads an end.
    Fin,
    /// With a reset: the other side reads an error.
    Reset,
}

/// What happens to bytes of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// They go on.
    Pass,
    /// They wait until the direction passes again.
    Hold,
    /// They are gone; the connection is reset when the direction passes again.
    Swallow,
}

/// The present rules; connections follow every change at once.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) listening: bool,
    pub(crate) to_server: Flow,
    pub(crate) to_client: Flow,
    pub(crate) delay: Duration,
    pub(crate) drop_messages: bool,
    /// In what the server says about addresses: what is looked for, and what stands there instead.
    pub(crate) words: Arc<Vec<(Vec<u8>, Vec<u8>)>>,
    /// Counts the cuts; a connection that was made before the last one ends.
    pub(crate) cuts: u64,
    pub(crate) close: Close,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            listening: true,
            to_server: Flow::Pass,
            to_client: Flow::Pass,
            delay: Duration::ZERO,
            drop_messages: false,
            words: Arc::default(),
            cuts: 0,
            close: Close::Fin,
        }
    }
}

/// What a sprung trap takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Request,
    Reply,
}

/// Waits for one request.
pub(crate) struct Armed {
    pub(crate) matches: Box<dyn FnMut(&Request) -> bool + Send>,
    pub(crate) takes: Takes,
    pub(crate) then: Option<Close>,
    /// Stays after it has sprung.
    pub(crate) stays: bool,
    pub(crate) sprung: watch::Sender<bool>,
}

/// A trap that waits for one request; see [`Proxy::swallow_reply`](super::Proxy::swallow_reply).
#[derive(Debug)]
pub struct Trap(pub(crate) watch::Receiver<bool>);

impl Trap {
    /// Returns once the trap has taken its message.
    pub async fn sprung(&mut self) {
        self.0
            .wait_for(|sprung| *sprung)
            .await
            .expect("the proxy outlives its traps");
    }

    /// Whether it has taken its message.
    #[must_use]
    pub fn is_sprung(&self) -> bool {
        *self.0.borrow()
    }
}
