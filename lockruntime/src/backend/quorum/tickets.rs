//! What this process knows of its own tickets: which bid holds for them, and where they stand in a queue.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::node::Bid;
use crate::clock::{self, Moment};
use crate::token::{FencingToken, OwnerToken};

/// A bid that won, or may own some nodes; then its token may be 0.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) bid: Arc<Bid>,
    pub(super) token: FencingToken,
    /// The longest lease that it may have on a node.
    pub(super) lease: Duration,
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

/// What could not be given back is forgotten so long after the last try: its leases have ended it.
const MEMORY: Duration = Duration::from_secs(120);

#[derive(Debug, Default)]
struct All {
    tickets: HashMap<OwnerToken, Ticket>,
    /// Those that leave, by when they are forgotten at the latest.
    leaving: VecDeque<(Moment, OwnerToken)>,
}

#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<All>);

impl All {
    fn sweep(&mut self) {
        let now = clock::now();
        while let Some((until, ticket)) = self.leaving.front().copied()
            && until <= now
        {
            self.leaving.pop_front();
            // a ticket that asks again is not leaving
            let forgets = |entry: &Ticket| entry.leaving && !entry.asking;
            if self.tickets.get(&ticket).is_some_and(forgets) {
                self.tickets.remove(&ticket);
            }
        }
    }
}

impl Tickets {
    /// A hold is to have a longer lease than it was taken with.
    pub(super) fn lengthen(&self, ticket: OwnerToken, lease: Duration) {
        if let Some(entry) = self.all().tickets.get_mut(&ticket)
            && let Some(hold) = &mut entry.hold
        {
            hold.lease = hold.lease.max(lease);
        }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        // nothing that is done under this lock panics half-way
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An ask begins. What the ticket held until now, and where it stands.
    pub(super) fn begin(&self, ticket: OwnerToken) -> (Option<Hold>, Option<usize>) {
        let mut all = self.all();
        all.sweep();
        let entry = all.tickets.entry(ticket).or_default();
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
        let Some(entry) = all.tickets.get_mut(&ticket) else {
            return false;
        };
        entry.asking = false;
        if entry.gone || (hold.is_none() && lined.is_none()) {
            let gone = entry.gone;
            all.tickets.remove(&ticket);
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
        let entry = all.tickets.get(&ticket).filter(|entry| !entry.leaving)?;
        entry.hold.clone()
    }

    /// Whether this very bid is what the ticket holds.
    pub(super) fn holds(&self, ticket: OwnerToken, bid: &Bid) -> bool {
        self.hold(ticket).is_some_and(|hold| hold.bid.id == bid.id)
    }

    /// The ticket leaves: what it held.
    pub(super) fn leave(&self, ticket: OwnerToken) -> Option<Hold> {
        let mut all = self.all();
        all.leaving.push_back((clock::now() + MEMORY, ticket));
        let entry = all.tickets.get_mut(&ticket)?;
        entry.leaving = true;
        entry.gone |= entry.asking;
        entry.hold.clone()
    }

    /// Nothing of the ticket is left.
    pub(super) fn forget(&self, ticket: OwnerToken) {
        let mut all = self.all();
        // an ask that is under way forgets it in its end
        if all.tickets.get(&ticket).is_some_and(|entry| !entry.asking) {
            all.tickets.remove(&ticket);
        }
    }
}
