//! A bank where each charge waits for the test to finish it, and tells when it ended.

use std::time::Instant;

use examples::{Bank, Charge};
use tests::timing;
use tokio::sync::{mpsc, oneshot};

/// The charges that handlers began, in the order in which they began.
pub(crate) struct Visits(mpsc::UnboundedReceiver<Visit>);

/// One charge: the handler's body runs as long as it does.
pub(crate) struct Visit {
    pub(crate) what: String,
    pub(crate) began: Instant,
    finish: oneshot::Sender<u64>,
    ended: oneshot::Receiver<Instant>,
}

/// Tells when the charge is over, finished or dropped.
struct End(Option<oneshot::Sender<Instant>>);

impl Drop for End {
    fn drop(&mut self) {
        // the test may not want to know
        self.0.take().map(|ended| ended.send(Instant::now()).ok());
    }
}

pub(crate) fn open() -> (Bank, Visits) {
    let (began, visits) = mpsc::unbounded_channel();
    let charge = move |what| -> Charge {
        let (finish, finished) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let visit = Visit {
            what,
            began: Instant::now(),
            finish,
            ended,
        };
        let end = End(Some(end));
        // a test that is over wants no more visits
        began.send(visit).ok();
        Box::pin(async move {
            let _end = end;
            finished
                .await
                .map_err(|closed| format!("the bank is closed: {closed}"))
        })
    };
    (Bank::new(charge), Visits(visits))
}

impl Visits {
    pub(crate) async fn next(&mut self, what: &str) -> Visit {
        let visit = timing::soon(what, self.0.recv())
            .await
            .expect("the application runs");
        assert_eq!(visit.what, what);
        visit
    }

    /// Whether nobody began since the last call of `next`.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Visit {
    /// Lets the charge succeed with this receipt; returns when it ended.
    pub(crate) async fn finish(self, receipt: u64) -> Instant {
        self.finish.send(receipt).expect("the handler still runs");
        timing::soon("the charge ends", self.ended)
            .await
            .expect("told on drop")
    }

    /// Waits until the handler was dropped; returns when.
    pub(crate) async fn dropped(self) -> Instant {
        // `finish` stays: what ends now is not finished
        timing::soon("the handler is dropped", self.ended)
            .await
            .expect("told on drop")
    }
}
