//! Acquire, run the body, release; and what happens when the lock is lost midway.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::__private::Call;
use crate::error::{LockError, LossReason};
use crate::guard::LockGuard;
use crate::manager::LockManager;
use crate::reentry::{self, Link};
use crate::watchdog::Order;
use crate::{clock, current};

/// Runs the body of an annotated function under its lock.
pub(crate) async fn run_call<F: Future>(
    call: Call,
    body: Pin<Box<F>>,
) -> Result<F::Output, LockError> {
    let Some(manager) = current::manager() else {
        return Err(LockError::NotConfigured {
            template: call.template.to_owned(),
            mode: call.mode,
        });
    };
    let order = manager.order_call(call)?;
    run_ordered(&manager, order, body).await
}

/// Runs `body` under the lock of `order`: the one this call chain has already, else one that is acquired.
pub(crate) async fn run_ordered<F: Future>(
    manager: &LockManager,
    order: Box<Order>,
    body: Pin<Box<F>>,
) -> Result<F::Output, LockError> {
    if let Some(link) = manager.held(&order) {
        drop(order);
        return reentry::reenter(link, body).await;
    }
    let record = Arc::clone(&order.record);
    let guard = manager.acquire(order).await?;
    run_under(guard, record, body).await
}

/// Runs `body` while `guard` holds; a body that loses its lock is dropped before anything else happens.
async fn run_under<F: Future>(
    guard: LockGuard,
    record: Arc<str>,
    body: Pin<Box<F>>,
) -> Result<F::Output, LockError> {
    let mut running = Running {
        body: Some(body),
        link: Link::new(guard.hold(), record, guard.watchdog().clone()),
        guard,
    };
    match (&mut running).await {
        Ok(value) => {
            // a release that fails never replaces the body's own value
            running.guard.finish().await;
            Ok(value)
        }
        Err(reason) => {
            running.guard.noticed_loss();
            Err(running.guard.hold().lost_error(reason))
        }
    }
}

/// A body under its lock. The body goes before the guard: on every way out its locals are dropped before the release.
struct Running<F> {
    body: Option<Pin<Box<F>>>,
    link: Arc<Link>,
    guard: LockGuard,
}

impl<F: Future> Future for &mut Running<F> {
    type Output = Result<F::Output, LossReason>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let running = self.get_mut();
        let Some(body) = &mut running.body else {
            return Poll::Pending;
        };
        // before each poll: after a pause the lease may be over, and somebody else may be inside
        if let Poll::Ready(reason) = running
            .guard
            .life()
            .poll_lost(clock::now(), context.waker())
        {
            running.body = None;
            return Poll::Ready(Err(reason));
        }
        let poll = running.link.run(|| body.as_mut().poll(context));
        poll.map(|value| {
            running.body = None;
            Ok(value)
        })
    }
}
