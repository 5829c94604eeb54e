//! Keeping leases alive, and giving back what callers left behind.
//!
//! One keeper per manager, on a thread of its own: it lives whatever runtime the callers use and however long they block.

mod attempt;
mod handover;
mod keeper;
mod schedule;
mod stuck;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::backend::{Backend, BackendError, BoxFuture};
use crate::clock::{self, Moment};
use crate::error::{LockError, LossReason};
use crate::hold::{Life, Turn};
use crate::telemetry::{Event, Observer};
use crate::token::OwnerToken;
pub(crate) use attempt::Order;
use attempt::keeper_ended;
use keeper::{Keeper, Message};

/// The way to the keeper. Cheap to clone; the keeper ends when the last one is gone and nothing is left to give back.
#[derive(Clone, Debug)]
pub(crate) struct Watchdog {
    inbox: mpsc::UnboundedSender<Message>,
}

impl Watchdog {
    /// Starts the keeper. `channel` is where this process's wake-ups arrive.
    pub(crate) fn start(
        backend: Arc<dyn Backend>,
        channel: Arc<str>,
        observer: Arc<Observer>,
    ) -> std::io::Result<Self> {
        let (inbox, messages) = mpsc::unbounded_channel();
        let keeper = Keeper::new(backend, channel, messages, inbox.downgrade(), observer);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new()
            .name("lockruntime".to_owned())
            .spawn(move || runtime.block_on(keeper.work()))?;
        Ok(Self { inbox })
    }

    /// Whether both are the way to the same keeper.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.inbox.same_channel(&other.inbox)
    }

    /// Asks for a lock. Dropping the future before it is ready gives back the ticket or the lock just won.
    pub(crate) fn acquire(&self, order: Box<Order>) -> Acquiring {
        let life = Arc::clone(&order.life);
        if self.inbox.send(Message::Start(order)).is_err() {
            life.refuse(LockError::from_backend(
                life.key.clone(),
                life.mode,
                keeper_ended(),
            ));
        }
        Acquiring {
            life,
            watchdog: self.clone(),
            since: clock::now(),
        }
    }

    /// The caller is through with its hold; once only. `waits`: it will look for the answer, of an earlier leave as well.
    pub(crate) fn leave(&self, life: &Life, waits: bool) {
        if (life.leave() || waits)
            && self
                .inbox
                .send(Message::Leave {
                    ticket: life.ticket,
                    waits,
                })
                .is_err()
        {
            life.gone(crate::hold::Ending::Unconfirmed);
        }
    }

    /// The work under the lock starts: its bounds count from now on.
    pub(crate) fn work_starts(&self, life: &Life) {
        life.start(clock::now());
        if life.bounds.max_hold.is_some() {
            self.begun(life.ticket);
        }
    }

    /// The way to the keeper for somebody who doesn't keep it alive.
    pub(crate) fn downgrade(&self) -> WeakWatchdog {
        WeakWatchdog {
            inbox: self.inbox.downgrade(),
        }
    }

    /// Lengthens a hold; [`Life::poll_extended`] tells when.
    pub(crate) fn extend(&self, life: &Life, length: Duration) {
        let ticket = life.ticket;
        if self.inbox.send(Message::Extend { ticket, length }).is_err() {
            life.lose(LossReason::KeeperEnded);
        }
    }

    fn begun(&self, ticket: OwnerToken) {
        // a keeper that has ended has no renewals to begin; the hold knows its deadline
        drop(self.inbox.send(Message::Begun(ticket)));
    }

    fn looked(&self, ticket: OwnerToken) {
        // whoever waits for a keeper that has ended was told so
        drop(self.inbox.send(Message::Looked(ticket)));
    }

    /// Calls the backend beside all holds and waits: a look at the storage, or an act of an operator.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Backend) -> BoxFuture<Result<T, BackendError>> + Send + 'static,
    ) -> Result<T, BackendError> {
        let (reply, answer) = oneshot::channel();
        let beside = Message::Call(Box::new(move |backend| {
            let called = call(backend);
            Box::pin(async move {
                // whoever asked may have gone
                drop(reply.send(called.await));
            })
        }));
        self.inbox.send(beside).map_err(|_closed| keeper_ended())?;
        answer.await.map_err(|_closed| keeper_ended())?
    }

    /// Refuses new work, ends waits, lets bodies run for most of `budget`, then stops them. Ready when nothing is left, or at
    /// the budget.
    pub(crate) async fn shutdown(&self, budget: Duration) {
        let (done, ended) = oneshot::channel();
        if self.inbox.send(Message::Shutdown { budget, done }).is_ok() {
            // an error means that the keeper has ended: nothing is left to wait for
            drop(ended.await);
        }
    }
}

/// The way to the keeper, as long as somebody else keeps it alive.
#[derive(Clone, Debug)]
pub(crate) struct WeakWatchdog {
    inbox: mpsc::WeakUnboundedSender<Message>,
}

impl WeakWatchdog {
    pub(crate) fn upgrade(&self) -> Option<Watchdog> {
        self.inbox.upgrade().map(|inbox| Watchdog { inbox })
    }
}

/// A lock that is being acquired.
#[derive(Debug)]
pub(crate) struct Acquiring {
    life: Arc<Life>,
    watchdog: Watchdog,
    since: Moment,
}

impl Future for Acquiring {
    type Output = Result<(Arc<Life>, Watchdog), LockError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let now = clock::now();
        match self.life.poll_turn(now, context.waker()) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Turn::Refused(error)) => {
                let lock = self.life.subject();
                self.life.tell(&Event::refused(lock, &error));
                Poll::Ready(Err(error))
            }
            Poll::Ready(Turn::Late) => {
                self.watchdog.looked(self.life.ticket);
                Poll::Pending
            }
            Poll::Ready(Turn::Begun { tell }) => {
                if tell {
                    self.watchdog.begun(self.life.ticket);
                }
                if let Some(token) = self.life.token() {
                    self.life.tell(&Event::Acquired {
                        lock: self.life.subject(),
                        token,
                        waited: now.since(self.since),
                    });
                }
                Poll::Ready(Ok((Arc::clone(&self.life), self.watchdog.clone())))
            }
        }
    }
}

impl Drop for Acquiring {
    fn drop(&mut self) {
        // a hold that began belongs to whoever took it out
        if !self.life.has_begun() {
            self.watchdog.leave(&self.life, false);
        }
    }
}
