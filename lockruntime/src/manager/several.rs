//! Several keys by one call: all or none, one after the other in an order that is the same in all processes.
//!
//! Whoever waits for a key holds only such as come before it in that order, so no two calls wait for each other. A call that
//! fails half-way gives back what it has; a body never runs with less than all.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::clock;
use crate::error::LockError;
use crate::guard::{Hold, LockGuard, Part};
use crate::key::LockKey;
use crate::manager::LockManager;
use crate::manager::run::Entered;
use crate::options::{Mode, Sharing};
use crate::reentry::{Link, Turn};
use crate::watchdog::Order;

/// Of a wait that is as good as over.
const ONE_TRY: Duration = Duration::from_millis(20);

/// What one call of several keys wants.
#[derive(Debug)]
pub(crate) struct Several {
    /// Of different records, in the order in which they are taken.
    orders: Vec<Order>,
    /// The keys in the order in which they were given.
    given: Vec<LockKey>,
    /// Who may hold them beside it, of all alike.
    sharing: Sharing,
}

impl Several {
    /// One key at least. A key that is given twice is locked once.
    pub(crate) fn new(mut orders: Vec<Order>, sharing: Sharing) -> Self {
        let mut given: Vec<LockKey> = Vec::with_capacity(orders.len());
        for order in &orders {
            if !given.contains(&order.life.key) {
                given.push(order.life.key.clone());
            }
        }
        orders.sort_by(|a, b| a.record.cmp(&b.record));
        orders.dedup_by(|a, b| a.record == b.record);
        Self {
            orders,
            given,
            sharing,
        }
    }

    /// The one that is taken first, and how many follow.
    pub(crate) fn first(&self) -> (Option<&Order>, usize) {
        (self.orders.first(), self.orders.len().saturating_sub(1))
    }
}

/// All keys of one call: its own, and such as its chain has already.
struct Taken {
    own: Option<LockGuard>,
    /// Of the keys that the chain has.
    turns: Vec<Turn>,
    parts: Vec<(Arc<str>, Part)>,
}

/// Takes all keys for a body.
pub(crate) async fn enter(manager: &LockManager, several: Several) -> Result<Entered, LockError> {
    let given = several.given.clone();
    let sharing = several.sharing;
    let Taken { own, turns, parts } = take(manager, several, true).await?;
    let hold = hold_of(&given, &parts, manager);
    let link = Link::of_several(&hold, parts, manager.watchdog(), sharing)
        .expect("a call of several keys has one at least");
    Ok(Entered {
        link: Some(link),
        guard: own,
        turns,
    })
}

/// Takes all keys for a guard, which has no body to go on in.
pub(crate) async fn acquire(
    manager: &LockManager,
    several: Several,
) -> Result<LockGuard, LockError> {
    let given = several.given.clone();
    let Taken { own, parts, .. } = take(manager, several, false).await?;
    let hold = hold_of(&given, &parts, manager);
    let guard = own.expect("all keys were acquired, and there is one at least");
    Ok(guard.arranged(hold))
}

/// Takes the keys one after the other. Dropping the future gives back what it has.
async fn take(manager: &LockManager, several: Several, has_body: bool) -> Result<Taken, LockError> {
    let begin = clock::now();
    let mut taken = Taken {
        own: None,
        turns: Vec::new(),
        parts: Vec::with_capacity(several.orders.len()),
    };
    for mut order in several.orders {
        let record = Arc::clone(&order.record);
        // a guard that doesn't wait asks the storage, and is told that the key is busy
        let link = manager
            .held(&record)
            .filter(|_| has_body || order.life.mode == Mode::Queue);
        if let Some(link) = link {
            let nests = if has_body {
                order.nests_in(link.sharing)
            } else {
                Err(order.self_deadlock(link.sharing))
            };
            if let Err(error) = nests {
                return Err(give_up(taken, error).await);
            }
            match link.enter(order.life.sharing).await {
                Ok((turn, part)) => {
                    taken.turns.push(turn);
                    taken.parts.push((record, part));
                }
                Err(error) => return Err(give_up(taken, error).await),
            }
            continue;
        }
        // one budget for all: what is left of it
        order.wait = order.wait.map(|wait| {
            let left = (begin + wait).since(clock::now());
            // at the end of it one try, which has the time of any request: else an answer under way would count as none
            if left < ONE_TRY { Duration::ZERO } else { left }
        });
        match next(manager, order, taken.own.as_ref()).await {
            Ok(life) => {
                taken.parts.push((record, Part::new(Arc::clone(&life))));
                match &mut taken.own {
                    Some(guard) => guard.add(life),
                    none => *none = Some(LockGuard::new(life, manager.watchdog().clone())),
                }
            }
            Err(mut error) => {
                if let LockError::WaitTimedOut { waited, .. } = &mut error {
                    *waited = clock::now().since(begin);
                }
                return Err(give_up(taken, error).await);
            }
        }
    }
    if let Some(guard) = &taken.own {
        guard.start();
    }
    Ok(taken)
}

/// Acquires one more key, as long as those that are held stay so.
async fn next(
    manager: &LockManager,
    order: Order,
    held: Option<&LockGuard>,
) -> Result<Arc<crate::hold::Life>, LockError> {
    let mut acquiring = pin!(manager.watchdog().acquire(Box::new(order)));
    poll_fn(|context| {
        if let Some(guard) = held
            && let Poll::Ready((part, reason)) = guard.poll_lost(context)
        {
            return Poll::Ready(Err(part.ended(reason)));
        }
        acquiring
            .as_mut()
            .poll(context)
            .map_ok(|(life, _watchdog)| life)
    })
    .await
}

/// None of them: gives back what was taken, and where the storage answers, waits until it is.
async fn give_up(taken: Taken, error: LockError) -> LockError {
    if let Some(guard) = taken.own
        && error.is_busy()
    {
        guard.finish().await;
    }
    error
}

/// The hold of all parts, in the order in which the keys were given.
fn hold_of(given: &[LockKey], parts: &[(Arc<str>, Part)], manager: &LockManager) -> Hold {
    let of = |key: &LockKey| parts.iter().find(|(_, part)| part.life.key == *key);
    let parts = given.iter().filter_map(of).map(|(_, part)| part.clone());
    Hold::of_parts(parts.collect(), manager.watchdog().downgrade())
}
