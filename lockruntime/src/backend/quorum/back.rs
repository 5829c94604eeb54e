//! Tells a quorum that is back from one node that is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::tally::majority;
use crate::backend::{Notice, Wakeups};
use crate::clock::{self, Moment};

/// Nodes that come back within this time may have been away together.
const TOGETHER: Duration = Duration::from_secs(2);

/// When each node came back.
#[derive(Debug)]
pub(super) struct Back(Mutex<Vec<Moment>>);

impl Back {
    pub(super) fn new(nodes: usize) -> Self {
        Self(Mutex::new(vec![Moment::ZERO; nodes]))
    }

    /// What a node has to tell, but that it is back: while a majority was there all the time, nobody need hurry.
    pub(super) fn wakeups_of(self: &Arc<Self>, node: usize, wakeups: Wakeups) -> Wakeups {
        let back = Arc::clone(self);
        Wakeups::new(move |notice| match notice {
            Notice::HandedOver(hand_over) => wakeups.handed_over(hand_over),
            Notice::Reconnected => {
                if back.is_back(node, clock::now()) {
                    wakeups.reconnected();
                }
            }
        })
    }

    fn is_back(&self, node: usize, now: Moment) -> bool {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = nodes.get_mut(node) {
            *at = now;
        }
        let recent = |at: &&Moment| **at > Moment::ZERO && **at + TOGETHER > now;
        let is_back = nodes.iter().filter(recent).count() >= majority(nodes.len());
        if is_back {
            nodes.fill(Moment::ZERO);
        }
        is_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_that_comes_and_goes_hurries_nobody() {
        let back = Back::new(5);
        let at = |ms: u32| Moment::ZERO + Duration::from_millis(1) * ms;
        for round in 1..10 {
            assert!(!back.is_back(0, at(round * 300)));
        }
        assert!(!back.is_back(1, at(10_000)));
        assert!(!back.is_back(2, at(10_100)));
        assert!(back.is_back(3, at(10_200)), "a majority was away");
        assert!(!back.is_back(4, at(10_300)), "told once");
    }
}
