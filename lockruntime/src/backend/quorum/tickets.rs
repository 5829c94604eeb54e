//! What this process knows of its own tickets: which bid holds for them, and where they stand in a queue.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::node::Bid;
use crate::token::{FencingToken, OwnerToken};

/// A bid that won, or may own some nodes; then its token may be 0.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) bid: Arc<Bid>,
    pub(super) token: FencingToken,
}

#[derive(Debug, Default)]
struct Ticket {
    hold: Option<Hold>,
    /// The hold is being given back: no answer that comes late counts for it any more.
    leaving: bool,
    /// The node in whose queue it stands.
    lined: Option<usize>,
    /// An ask is under way, which may yet win.
    asking: bool,
    /// It was withdrawn meanwhile.
    gone: bool,
}

#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<HashMap<OwnerToken, Ticket>>);

impl Tickets {
    fn all(&self) -> MutexGuard<'_, HashMap<OwnerToken, Ticket>> {
        // nothing that is done under this lock panics half-way
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An ask begins. What the ticket held until now, and where it stands.
    pub(super) fn begin(&self, ticket: OwnerToken) -> (Option<Hold>, Option<usize>) {
        let mut all = self.all();
        let entry = all.entry(ticket).or_default();
        entry.asking = true;
        (entry.hold.take().filter(|_| !entry.leaving), entry.lined)
    }

    /// An ask ends with this. False when the ticket was withdrawn meanwhile: nothing is kept.
    pub(super) fn end(
        &self,
        ticket: OwnerToken,
        hold: Option<&Hold>,
        lined: Option<usize>,
    ) -> bool {
        let mut all = self.all();
        let Some(entry) = all.get_mut(&ticket) else {
            return false;
        };
        entry.asking = false;
        if entry.gone || (hold.is_none() && lined.is_none()) {
            let gone = entry.gone;
            all.remove(&ticket);
            return !gone;
        }
        entry.hold = hold.cloned();
        entry.lined = lined;
        entry.leaving = false;
        true
    }

    /// What the ticket holds, unless it is being given back.
    pub(super) fn hold(&self, ticket: OwnerToken) -> Option<Hold> {
        let all = self.all();
        let entry = all.get(&ticket).filter(|entry| !entry.leaving)?;
        entry.hold.clone()
    }

    /// Whether this very bid is what the ticket holds.
    pub(super) fn holds(&self, ticket: OwnerToken, bid: &Bid) -> bool {
        self.hold(ticket).is_some_and(|hold| hold.bid.id == bid.id)
    }

    /// The ticket leaves: what it held.
    pub(super) fn leave(&self, ticket: OwnerToken) -> Option<Hold> {
        let mut all = self.all();
        let entry = all.get_mut(&ticket)?;
        entry.leaving = true;
        entry.gone |= entry.asking;
        entry.hold.clone()
    }

    /// Nothing of the ticket is left.
    pub(super) fn forget(&self, ticket: OwnerToken) {
        let mut all = self.all();
        // an ask that is under way forgets it in its end
        if all.get(&ticket).is_some_and(|entry| !entry.asking) {
            all.remove(&ticket);
        }
    }
}
