//! What goes on after a verb has returned: the nodes that weren't waited for.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{mpsc, watch};

use crate::backend::BoxFuture;

/// Hands work to [`work`]. What is left when the manager ends is ended by leases.
#[derive(Clone, Debug)]
pub(super) struct Background {
    sender: mpsc::UnboundedSender<BoxFuture<()>>,
    /// How much is not done yet.
    count: Arc<watch::Sender<usize>>,
}

/// The work that was handed over.
pub(super) type Handed = mpsc::UnboundedReceiver<BoxFuture<()>>;

impl Background {
    pub(super) fn new() -> (Self, Handed) {
        let (sender, handed) = mpsc::unbounded_channel();
        let count = Arc::new(watch::Sender::new(0));
        (Self { sender, count }, handed)
    }

    pub(super) fn add(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.count.send_modify(|count| *count += 1);
        let done = Done(Arc::clone(&self.count));
        // after the manager's end nobody works any more
        drop(self.sender.send(Box::pin(async move {
            let _done = done;
            work.await;
        })));
    }

    /// Ready when everything is done.
    pub(super) fn idle(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut count = self.count.subscribe();
        async move {
            // an error means that nobody can add anything
            drop(count.wait_for(|count| *count == 0).await);
        }
    }
}

/// Counts down, also when the work is dropped.
struct Done(Arc<watch::Sender<usize>>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Does what is handed over, all at the same time, until the last sender is gone.
pub(super) async fn work(mut handed: Handed) {
    let mut running = FuturesUnordered::new();
    poll_fn(|context| {
        let closed = loop {
            match handed.poll_recv(context) {
                Poll::Ready(Some(work)) => running.push(work),
                Poll::Ready(None) => break true,
                Poll::Pending => break false,
            }
        };
        while let Poll::Ready(Some(())) = running.poll_next_unpin(context) {}
        if closed && running.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}
