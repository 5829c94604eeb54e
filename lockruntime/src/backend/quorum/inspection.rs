//! What an operator asks of a quorum: answers of the nodes, put together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Bid, Hold, Shared, Tally, majority};
use crate::backend::snapshot::nobody;
use crate::backend::{BackendError, Eviction, Held, Listed, Listing, Released, Standing, Survey};
use crate::clock;
use crate::token::OwnerToken;

/// How long a look at all locks of all nodes may take.
const LIST: Duration = Duration::from_secs(10);

impl Shared {
    /// The locks that a majority says are held, and those that are waited for. What only a few nodes say is a bid under way, or
    /// what is left of one: it is nobody's.
    pub(super) async fn list(&self, listing: &Listing) -> Result<Vec<Listed>, BackendError> {
        let until = clock::now() + LIST;
        let mut round = self.all(|node| node.list(listing));
        let mut tally = Tally::new(self.nodes.len());
        let mut locks: BTreeMap<String, Vec<Listed>> = BTreeMap::new();
        while let Some((node, answer)) = round.next(until).await {
            match answer {
                Ok(listed) => {
                    tally.yes(node);
                    for lock in listed {
                        locks.entry(lock.key.clone()).or_default().push(lock);
                    }
                }
                Err(error) => tally.failed(node, error),
            }
        }
        if !tally.is_quorate() {
            return Err(self.no_quorum(&tally));
        }
        let needed = majority(self.nodes.len());
        Ok(locks
            .into_values()
            .filter_map(|seen| together(seen, needed))
            .collect())
    }

    /// Each node for itself, those that give no answer as well.
    pub(super) async fn survey(&self, listing: &Listing) -> Vec<Survey> {
        let until = clock::now() + LIST;
        let mut round = self.all(|node| node.survey(listing));
        let mut surveys = BTreeMap::new();
        while let Some((node, answer)) = round.next(until).await {
            surveys.insert(node, answer);
        }
        let nodes = self.nodes.iter().enumerate();
        let survey = |(index, node): (usize, &Arc<dyn super::Node>)| match surveys.remove(&index) {
            Some(Ok(survey)) => survey,
            failed => {
                let said = failed.and_then(Result::err).map(|error| error.to_string());
                let says = said.unwrap_or_else(|| "no answer in time".to_owned());
                Survey::silent(node.name(), says)
            }
        };
        nodes.map(survey).collect()
    }

    /// Frees what the owner has on any node. Whether it was his is what a majority says.
    pub(super) async fn evict(
        self: &Arc<Self>,
        eviction: Eviction,
    ) -> Result<Released, BackendError> {
        let Eviction {
            record,
            owner,
            token,
            timeout,
        } = eviction;
        let bid = Bid {
            record: Arc::clone(&record),
            // nobody's: what counts is the owner with his token
            id: OwnerToken::random(),
            ticket: owner,
            member: String::new(),
            lease: timeout,
            holder: Arc::new(nobody()),
            valid: timeout,
            quarantine: self.quarantine,
        };
        let hold = Hold {
            bid: Arc::new(bid),
            token,
            lease: timeout,
        };
        self.give_back(&record, Some(hold), None, None, timeout)
            .await
    }
}

/// What the nodes say of one lock.
fn together(seen: Vec<Listed>, needed: usize) -> Option<Listed> {
    let grant = |lock: &Listed| match &lock.standing {
        Standing::Held(Held { owner, token, .. }) => Some((*owner, *token)),
        Standing::Free | Standing::Broken { .. } => None,
    };
    let decided = seen.iter().find(|lock| {
        let broken = matches!(lock.standing, Standing::Broken { .. });
        let same = seen.iter().filter(|other| grant(other) == grant(lock));
        broken || grant(lock).is_some() && same.count() >= needed
    });
    let standing = decided.map_or(Standing::Free, |lock| lock.standing.clone());
    // the queue stands on one node, or on two after an outage
    let queue = seen.into_iter().max_by_key(|lock| lock.waiting)?;
    (standing != Standing::Free || queue.waiting > 0).then_some(Listed { standing, ..queue })
}
