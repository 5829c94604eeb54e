//! Acquire, run the body, release; and what happens when the lock is lost midway.
//!
//! What is generic here is compiled anew for every annotated function, so it is little: the body and its value. All the rest is
//! [`Locked`], which sees the body as something to poll.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::__private::Call;
use crate::error::{LockError, LossReason};
use crate::guard::{LockGuard, Part};
use crate::manager::{LockManager, Wanted, several};
use crate::reentry::{self, Link, Turn};
use crate::telemetry::CallSpan;
use crate::{clock, current};

/// What a body runs under.
pub(crate) struct Entered {
    /// `None` without a lock.
    pub(crate) link: Option<Arc<Link>>,
    /// What is given back; `None` inside of a body that does.
    pub(crate) guard: Option<LockGuard>,
    /// Of keys that the chain has already; they pass on when dropped, after the body.
    pub(crate) turns: Vec<Turn>,
}

type Entering = Pin<Box<dyn Future<Output = Result<Entered, LockError>> + Send>>;

/// Whatever a call does but for its body, inside of its span.
struct Locked {
    stage: Stage,
    span: CallSpan,
}

enum Stage {
    Entering(Entering),
    Under(Entered),
    Releasing(Pin<Box<dyn Future<Output = ()> + Send>>),
    Over,
}

/// What became of one poll of the body.
enum Step {
    Pending,
    /// It ran to its end.
    Ended,
    /// It was not polled, and never will be.
    Refused(LockError),
    /// It was not polled this time: its lock is gone. It has to be dropped before anything else happens.
    Stopped(Part, LossReason),
}

impl Locked {
    fn new(entering: Entering) -> Self {
        Self {
            stage: Stage::Entering(entering),
            span: CallSpan::new(),
        }
    }

    /// Polls `body` as soon as the lock is held, and as long as it is.
    fn poll_body(
        &mut self,
        context: &mut Context<'_>,
        body: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> Step {
        let Self { stage, span } = self;
        if let Stage::Entering(entering) = stage {
            match span.run(|| entering.as_mut().poll(context)) {
                Poll::Ready(Ok(entered)) => {
                    span.entered(entered.link.iter().flat_map(|link| link.parts()));
                    *stage = Stage::Under(entered);
                }
                Poll::Ready(Err(error)) => {
                    span.refused(&error);
                    return Step::Refused(error);
                }
                Poll::Pending => return Step::Pending,
            }
        }
        let Stage::Under(entered) = stage else {
            return Step::Pending;
        };
        if let Some(link) = &entered.link {
            // before each poll: after a pause the lease may be over, and somebody else may be inside
            let now = clock::now();
            for part in link.parts() {
                if let Poll::Ready(reason) = part.poll_stop(now, context.waker()) {
                    return Step::Stopped(part.clone(), reason);
                }
            }
        }
        let poll = span.run(|| match &entered.link {
            Some(link) => link.run(|| body(context)),
            None => body(context),
        });
        match poll {
            Poll::Ready(()) => Step::Ended,
            Poll::Pending => Step::Pending,
        }
    }

    /// Gives the lock back and waits for the answer. A release that fails never replaces the body's own value.
    fn poll_release(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Stage::Under(_) = self.stage {
            let released = self.leave().map(|guard| Box::pin(guard.finish()) as _);
            self.stage = released.map_or(Stage::Over, Stage::Releasing);
        }
        if let Stage::Releasing(releasing) = &mut self.stage {
            ready!(self.span.run(|| releasing.as_mut().poll(context)));
        }
        Poll::Ready(())
    }

    /// What is to be given back. Of a lock that is lost nothing is to be confirmed.
    fn leave(&mut self) -> Option<LockGuard> {
        let Stage::Under(Entered { link, guard, turns }) =
            std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return None;
        };
        drop((link, turns));
        guard.filter(LockGuard::is_held)
    }
}

impl Step {
    /// How the body ended, for whoever observes the call.
    fn outcome(&self) -> &'static str {
        match self {
            Self::Stopped(_, LossReason::CapReached) => "cap reached",
            Self::Stopped(..) => "lost",
            Self::Pending | Self::Ended | Self::Refused(_) => "released",
        }
    }

    /// The error of a call that ended so, once its body is dropped.
    fn error(self) -> Option<LockError> {
        match self {
            Self::Pending | Self::Ended => None,
            Self::Refused(error) => Some(error),
            Self::Stopped(part, reason) => {
                part.noticed_loss();
                Some(part.ended(reason))
            }
        }
    }
}

/// A body of some type, as the rest of its call sees it.
trait Body<T> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<T>;

    /// Drops it, and with it its locals.
    fn end(&mut self);
}

impl<F: Future> Body<F::Output> for Option<Pin<Box<F>>> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<F::Output> {
        match self {
            Some(body) => body.as_mut().poll(context),
            None => Poll::Pending,
        }
    }

    fn end(&mut self) {
        *self = None;
    }
}

/// A call that waits for its release. Fields are dropped in their order: on every way out the body's locals go first.
pub(crate) struct Run<F: Future, E> {
    body: Option<Pin<Box<F>>>,
    rest: Box<Rest<F::Output, E>>,
}

/// What of it doesn't know the body's type: compiled once for all functions of one output.
pub(crate) struct Rest<T, E> {
    value: Option<T>,
    locked: Locked,
    end: Option<E>,
}

impl<F: Future, E> Run<F, E> {
    pub(crate) fn new(rest: Box<Rest<F::Output, E>>, body: Pin<Box<F>>) -> Self {
        let body = Some(body);
        Self { body, rest }
    }
}

// nothing is pinned by this type: the body has its own box
impl<F: Future, E> Unpin for Run<F, E> {}

impl<F: Future, E, R> Future for Run<F, E>
where
    E: FnOnce(Result<F::Output, LockError>) -> R,
{
    type Output = R;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let Self { body, rest } = self.get_mut();
        rest.poll(context, body)
    }
}

impl<T, E> Rest<T, E> {
    /// For an annotated function.
    pub(crate) fn of_call(call: Call, end: E) -> Box<Self> {
        Self::new(enter_call(call), end)
    }

    fn new(entering: Entering, end: E) -> Box<Self> {
        Box::new(Self {
            value: None,
            locked: Locked::new(entering),
            end: Some(end),
        })
    }

    fn poll<R>(&mut self, context: &mut Context<'_>, body: &mut dyn Body<T>) -> Poll<R>
    where
        E: FnOnce(Result<T, LockError>) -> R,
    {
        let mut outcome = self.value.take().map(Ok);
        if outcome.is_none() {
            outcome = Some(ready!(self.locked.poll_to_end(context, body)));
        }
        // the value stays here only while something is awaited
        if let Some(Ok(value)) = outcome {
            if self.locked.poll_release(context).is_pending() {
                self.value = Some(value);
                return Poll::Pending;
            }
            outcome = Some(Ok(value));
        }
        let end = self.end.take();
        let (end, outcome) = end.zip(outcome).expect("polled after its end");
        Poll::Ready(end(outcome))
    }
}

/// A call that hands its release over: what its body returns is never kept, so it needs no `Send`.
pub(crate) struct RunInBackground<F, E> {
    body: Option<Pin<Box<F>>>,
    rest: Box<RestInBackground<E>>,
}

pub(crate) struct RestInBackground<E> {
    locked: Locked,
    end: Option<E>,
}

impl<E> RestInBackground<E> {
    /// For an annotated function.
    pub(crate) fn of_call(call: Call, end: E) -> Box<Self> {
        Self::new(enter_call(call), end)
    }

    fn new(entering: Entering, end: E) -> Box<Self> {
        Box::new(Self {
            locked: Locked::new(entering),
            end: Some(end),
        })
    }
}

impl<F, E> RunInBackground<F, E> {
    pub(crate) fn new(rest: Box<RestInBackground<E>>, body: Pin<Box<F>>) -> Self {
        let body = Some(body);
        Self { body, rest }
    }
}

impl<F, E> Unpin for RunInBackground<F, E> {}

impl<F: Future, E, R> Future for RunInBackground<F, E>
where
    E: FnOnce(Result<F::Output, LockError>) -> R,
{
    type Output = R;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let Self { body, rest } = self.get_mut();
        let outcome = ready!(rest.locked.poll_to_end(context, body));
        // the guard's drop hands the release over
        rest.locked.stage = Stage::Over;
        let end = rest.end.take().expect("polled after its end");
        Poll::Ready(end(outcome))
    }
}

impl Locked {
    /// Ready when the body has ended, and is dropped.
    fn poll_to_end<T>(
        &mut self,
        context: &mut Context<'_>,
        body: &mut dyn Body<T>,
    ) -> Poll<Result<T, LockError>> {
        let mut value = None;
        let step = self.poll_body(context, &mut |context| {
            body.poll(context).map(|ended| value = Some(ended))
        });
        if matches!(step, Step::Pending) {
            return Poll::Pending;
        }
        body.end();
        self.span.left(step.outcome());
        if let Some(error) = step.error() {
            self.stage = Stage::Over;
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(value.expect("a body that ended has a value")))
    }
}

/// Runs `body` under what is wanted, and waits for the release unless `in_background`.
pub(crate) async fn run_wanted<F: Future>(
    manager: LockManager,
    wanted: Wanted,
    body: Pin<Box<F>>,
    in_background: bool,
) -> Result<F::Output, LockError> {
    let entering: Entering = Box::pin(async move { enter(&manager, wanted).await });
    if in_background {
        let rest = RestInBackground::new(entering, std::convert::identity);
        RunInBackground::new(rest, body).await
    } else {
        Run::new(Rest::new(entering, std::convert::identity), body).await
    }
}

/// What an annotated call asks for; nothing is locked if it says so.
fn enter_call(mut call: Call) -> Entering {
    Box::pin(async move {
        if !call.0.locked {
            return Ok(Entered {
                link: None,
                guard: None,
                turns: Vec::new(),
            });
        }
        let Some(manager) = call.0.manager.take().or_else(current::manager) else {
            return Err(LockError::NotConfigured {
                template: call.0.key.template.to_owned(),
                mode: call.0.terms.mode,
            });
        };
        let wanted = manager.want_call(call)?;
        enter(&manager, wanted).await
    })
}

/// Takes what is wanted: locks that this call chain has already, else such that are acquired. Dropping the future gives back
/// what it has.
async fn enter(manager: &LockManager, wanted: Wanted) -> Result<Entered, LockError> {
    wanted.describe();
    let order = match wanted {
        Wanted::One(order) => order,
        // boxed, so that calls of one key don't carry its size
        Wanted::Several(several) => return Box::pin(several::enter(manager, several)).await,
    };
    if let Some(link) = manager.held(&order.record) {
        order.nests_in(link.sharing)?;
        let sharing = order.life.sharing;
        drop(order);
        let (link, turn) = reentry::reenter(link, sharing).await?;
        return Ok(Entered {
            link: Some(link),
            guard: None,
            turns: vec![turn],
        });
    }
    let (record, sharing) = (Arc::clone(&order.record), order.life.sharing);
    let guard = manager.acquire(order).await?;
    let link = Link::new(guard.hold(), record, guard.watchdog().clone(), sharing);
    Ok(Entered {
        link: Some(link),
        guard: Some(guard),
        turns: Vec::new(),
    })
}
