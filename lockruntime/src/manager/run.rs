//! Acquire, run the body, release; and what happens when the lock is lost midway.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::__private::Call;
use crate::error::LockError;
use crate::guard::LockGuard;
use crate::manager::{LockManager, Wanted, several};
use crate::reentry::{self, Link};
use crate::{clock, current};

/// What a body returned, and what is still to be given back.
pub(crate) type Ran<T> = (T, Option<LockGuard>);

/// Runs the body of an annotated function under its lock, or without one if its call says so.
pub(crate) async fn run_call<F: Future>(
    call: Call,
    body: Pin<Box<F>>,
) -> Result<F::Output, LockError> {
    let (value, guard) = run_unreleased(call, body).await?;
    finish(guard, false).await;
    Ok(value)
}

/// The same without waiting for the release: nothing is awaited after the body, so that what it returned crosses no await.
pub(crate) async fn run_call_in_background<F: Future>(
    call: Call,
    body: Pin<Box<F>>,
) -> Result<F::Output, LockError> {
    run_unreleased(call, body)
        .await
        .map(|(value, _guard)| value)
}

async fn run_unreleased<F: Future>(
    mut call: Call,
    body: Pin<Box<F>>,
) -> Result<Ran<F::Output>, LockError> {
    if !call.0.locked {
        return Ok((body.await, None));
    }
    let Some(manager) = call.0.manager.take().or_else(current::manager) else {
        return Err(LockError::NotConfigured {
            template: call.0.key.template.to_owned(),
            mode: call.0.terms.mode,
        });
    };
    let wanted = manager.want_call(call)?;
    run_wanted(&manager, wanted, body).await
}

/// A release that fails, or isn't waited for, never replaces the body's own value.
pub(crate) async fn finish(guard: Option<LockGuard>, in_background: bool) {
    if let Some(guard) = guard
        && !in_background
        // of a lock that is lost nothing is to be confirmed
        && guard.is_held()
    {
        guard.finish().await;
    }
}

/// Runs `body` under what is wanted: locks that this call chain has already, else such that are acquired.
pub(crate) async fn run_wanted<F: Future>(
    manager: &LockManager,
    wanted: Wanted,
    body: Pin<Box<F>>,
) -> Result<Ran<F::Output>, LockError> {
    let order = match wanted {
        Wanted::One(order) => order,
        // boxed, so that calls of one key don't carry its size
        Wanted::Several(several) => return Box::pin(several::run(manager, several, body)).await,
    };
    if let Some(link) = manager.held(&order.record) {
        if !order.reentrant {
            return Err(order.self_deadlock());
        }
        drop(order);
        return reentry::reenter(link, body)
            .await
            .map(|value| (value, None));
    }
    let record = Arc::clone(&order.record);
    let guard = manager.acquire(order).await?;
    let link = Link::new(guard.hold(), record, guard.watchdog().clone());
    run_under(guard, link, body).await
}

/// Runs `body` while `guard` holds; a body that loses its lock is dropped before anything else happens.
pub(crate) async fn run_under<F: Future>(
    guard: LockGuard,
    link: Arc<Link>,
    body: Pin<Box<F>>,
) -> Result<Ran<F::Output>, LockError> {
    let mut running = Running {
        body: Some(body),
        link,
        guard,
    };
    let outcome = (&mut running).await;
    outcome.map(|value| (value, Some(running.guard)))
}

/// A body under its lock. The body goes before the guard: on every way out its locals are dropped before the release.
struct Running<F> {
    body: Option<Pin<Box<F>>>,
    link: Arc<Link>,
    guard: LockGuard,
}

impl<F: Future> Future for &mut Running<F> {
    type Output = Result<F::Output, LockError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let running = self.get_mut();
        let Some(body) = &mut running.body else {
            return Poll::Pending;
        };
        // before each poll: after a pause the lease may be over, and somebody else may be inside
        let now = clock::now();
        for part in running.guard.parts() {
            if let Poll::Ready(reason) = part.life.poll_stop(now, context.waker()) {
                running.body = None;
                part.noticed_loss();
                return Poll::Ready(Err(part.ended(reason)));
            }
        }
        let poll = running.link.run(|| body.as_mut().poll(context));
        poll.map(|value| {
            running.body = None;
            Ok(value)
        })
    }
}
