//! The answers to the first round of a bid, and what follows from them. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use super::node::Granting;
use super::tally::Tally;
use crate::backend::{BackendError, BackendErrorKind};

/// The answers so far.
#[derive(Debug)]
pub(super) struct Votes {
    pub(super) tally: Tally,
    nodes: usize,
    /// The node whose queue counts.
    front: Option<usize>,
    /// Others wait in that queue.
    pub(super) queued: bool,
    /// The least that the next token may be.
    pub(super) greatest: u64,
    /// How many nodes have no data, and how long the youngest and the oldest of them are still out of the count.
    pub(super) newborn: usize,
    youngest: Duration,
    oldest: Duration,
    quarantine: Duration,
    /// Nodes that surely hold nothing of this bid.
    clean: BTreeSet<usize>,
    /// Nodes on which it may yet be executed.
    silent: BTreeSet<usize>,
}

impl Votes {
    pub(super) fn new(nodes: usize, front: Option<usize>, quarantine: Duration) -> Self {
        Self {
            tally: Tally::new(nodes),
            nodes,
            front,
            queued: false,
            greatest: 0,
            newborn: 0,
            youngest: Duration::ZERO,
            oldest: quarantine,
            quarantine,
            clean: BTreeSet::new(),
            silent: (0..nodes).collect(),
        }
    }

    pub(super) fn count(&mut self, node: usize, answer: Result<Granting, BackendError>) {
        self.silent.remove(&node);
        if !matches!(answer, Ok(Granting::Granted { .. }) | Err(_)) {
            self.clean.insert(node);
        }
        match answer {
            Ok(Granting::Granted { last, micros }) => {
                self.greatest = self.greatest.max(last + 1).max(micros);
                self.tally.yes(node);
            }
            Ok(Granting::Held { left }) => self.tally.no(left),
            Ok(Granting::Queued { left }) => {
                self.queued |= self.front == Some(node);
                self.tally.no(left);
            }
            Ok(Granting::Newborn { left }) => {
                self.newborn += 1;
                self.youngest = self.youngest.max(left);
                self.oldest = self.oldest.min(left);
                self.tally.failed(node, out_of_count(left));
            }
            Err(error) => {
                if error.was_sent() {
                    self.silent.insert(node);
                } else {
                    self.clean.insert(node);
                }
                self.tally.failed(node, error);
            }
        }
    }

    /// Nodes that may hold something of this bid.
    pub(super) fn to_clean(&self) -> Vec<usize> {
        (0..self.nodes)
            .filter(|node| !self.clean.contains(node))
            .collect()
    }

    /// Whether it may yet be executed there.
    pub(super) fn may_answer_late(&self, node: usize) -> bool {
        self.silent.contains(&node)
    }

    /// Whether the node whose queue counts said yes.
    pub(super) fn front_is_free(&self) -> bool {
        self.front
            .is_some_and(|front| self.tally.ayes().contains(&front))
    }

    /// No node has any data, and none had any longer ago than `young`: nothing is missing. One that has been without data for
    /// longer has forgotten them.
    pub(super) fn all_new(&self, young: Duration) -> bool {
        self.newborn == self.nodes && self.oldest + young > self.quarantine
    }

    /// Some node has been without data for less than `young`.
    pub(super) fn some_new(&self, young: Duration) -> bool {
        self.newborn > 0 && self.youngest + young > self.quarantine
    }
}

/// Why a node that lost its data doesn't count.
fn out_of_count(left: Duration) -> BackendError {
    BackendError::new(
        BackendErrorKind::NotReady,
        format!(
            "it started without its data and may have forgotten a lock; it counts again in {} s",
            left.as_secs() + 1
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const MINUTE: Duration = Duration::from_secs(60);

    fn votes() -> Votes {
        Votes::new(3, Some(0), MINUTE)
    }

    fn newborn(left: Duration) -> Result<Granting, BackendError> {
        Ok(Granting::Newborn { left })
    }

    #[test]
    fn whoever_granted_or_may_have_is_cleaned() {
        let mut votes = votes();
        votes.count(0, Ok(Granting::Granted { last: 7, micros: 5 }));
        votes.count(1, Ok(Granting::Held { left: MS }));
        assert_eq!(votes.to_clean(), [0, 2]);
        assert!(votes.may_answer_late(2) && !votes.may_answer_late(0));
        let timeout = || BackendError::new(BackendErrorKind::Timeout, "no answer");
        votes.count(2, Err(timeout()));
        assert!(votes.may_answer_late(2), "it was sent");
        let mut votes = self::votes();
        votes.count(2, Err(timeout().unsent()));
        assert_eq!(votes.to_clean(), [0, 1]);
        assert!(!votes.may_answer_late(2));
    }

    #[test]
    fn the_next_token_is_greater_than_all_that_were_read() {
        let mut votes = votes();
        votes.count(0, Ok(Granting::Granted { last: 7, micros: 5 }));
        votes.count(1, Ok(Granting::Granted { last: 3, micros: 6 }));
        assert_eq!(votes.greatest, 8);
    }

    #[test]
    fn only_the_queue_of_the_front_has_a_say() {
        let mut votes = votes();
        votes.count(1, Ok(Granting::Queued { left: MS }));
        assert!(!votes.queued && !votes.front_is_free());
        votes.count(0, Ok(Granting::Queued { left: MS }));
        assert!(votes.queued);
    }

    #[test]
    fn a_quorum_is_new_when_all_of_it_is() {
        let mut votes = votes();
        votes.count(0, newborn(MINUTE));
        votes.count(1, newborn(MINUTE - MS));
        assert!(!votes.all_new(MS * 1_000) && votes.some_new(MS * 1_000));
        votes.count(2, newborn(MINUTE - MS * 2));
        assert!(votes.all_new(MS * 1_000));
        let mut votes = self::votes();
        votes.count(0, newborn(MINUTE));
        votes.count(1, newborn(MINUTE));
        votes.count(2, newborn(MINUTE - MS * 1_500));
        assert!(!votes.all_new(MS * 1_000), "one lost them earlier");
    }
}
