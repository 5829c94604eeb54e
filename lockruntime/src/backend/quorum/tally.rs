//! Counts the answers of one round. Pure.

use std::time::Duration;

use crate::backend::{BackendError, BackendErrorKind};

/// The answers of one round so far.
#[derive(Debug)]
pub(super) struct Tally {
    nodes: usize,
    /// How many of the nodes are asked.
    voters: usize,
    yes: Vec<usize>,
    /// Nodes that said no, and when they may say yes.
    no: Vec<Duration>,
    failed: Vec<(usize, BackendError)>,
}

/// What the answers so far amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A majority said yes.
    Won,
    /// A majority can't say yes any more, and it is known whether a majority answers at all.
    Failed,
    /// More answers are needed.
    Open,
}

/// How many of so many are a majority.
pub(super) fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}

impl Tally {
    pub(super) fn new(nodes: usize) -> Self {
        Self::among(nodes, nodes)
    }

    /// Only `voters` of the nodes are asked; a majority is one of all.
    pub(super) fn among(nodes: usize, voters: usize) -> Self {
        Self {
            nodes,
            voters,
            yes: Vec::new(),
            no: Vec::new(),
            failed: Vec::new(),
        }
    }

    pub(super) fn yes(&mut self, node: usize) {
        self.yes.push(node);
    }

    pub(super) fn no(&mut self, left: Duration) {
        self.no.push(left);
    }

    pub(super) fn failed(&mut self, node: usize, error: BackendError) {
        self.failed.push((node, error));
    }

    pub(super) fn verdict(&self) -> Verdict {
        let most = self.voters - self.failed.len();
        if self.yes.len() >= majority(self.nodes) {
            Verdict::Won
        } else if most - self.no.len() >= majority(self.nodes) {
            Verdict::Open
        } else if !self.is_quorate() && most >= majority(self.nodes) {
            // refused, or not to be decided: the rest tells
            Verdict::Open
        } else {
            Verdict::Failed
        }
    }

    /// How many have not answered yet.
    fn outstanding(&self) -> usize {
        self.voters - self.yes.len() - self.no.len() - self.failed.len()
    }

    /// How many said no.
    pub(super) fn refusals(&self) -> usize {
        self.no.len()
    }

    /// The nodes that failed.
    pub(super) fn failures(&self) -> impl Iterator<Item = usize> + '_ {
        self.failed.iter().map(|(node, _)| *node)
    }

    /// The nodes that said yes.
    pub(super) fn ayes(&self) -> &[usize] {
        &self.yes
    }

    /// Whether so many answered that those alone could be a majority: the others are not what stands in the way.
    pub(super) fn is_quorate(&self) -> bool {
        self.yes.len() + self.no.len() >= majority(self.nodes)
    }

    /// When a majority may say yes, if nothing else happens.
    pub(super) fn free_in(&self) -> Option<Duration> {
        let mut left: Vec<_> = self.yes.iter().map(|_| Duration::ZERO).collect();
        left.extend(&self.no);
        left.sort_unstable();
        left.get(majority(self.nodes) - 1).copied()
    }

    /// Too few answered: who didn't, and why.
    pub(super) fn no_quorum<'a>(&self, name: impl Fn(usize) -> &'a str) -> BackendError {
        // one that is missing has not answered yet
        let mut why: Vec<_> = (self.failed.iter())
            .map(|(node, error)| format!("{}: {error}", name(*node)))
            .collect();
        if self.outstanding() > 0 {
            why.push(format!("{} had not answered by then", self.outstanding()));
        }
        // one reason for all that answered, that doesn't pass by itself, is the reason; and so is a wrong address
        let lasts =
            |kind: BackendErrorKind| !kind.is_transient() || kind == BackendErrorKind::Unreachable;
        let kind = match &self.failed[..] {
            [(_, first), rest @ ..]
                if self.yes.is_empty()
                    && self.no.is_empty()
                    && self.failed.len() >= majority(self.nodes)
                    && lasts(first.kind())
                    && rest.iter().all(|(_, error)| error.kind() == first.kind()) =>
            {
                first.kind()
            }
            _ => BackendErrorKind::NoQuorum,
        };
        BackendError::new(
            kind,
            format!(
                "{} of {} nodes answered, {} are needed ({})",
                self.yes.len() + self.no.len(),
                self.nodes,
                majority(self.nodes),
                why.join("; ")
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn silent() -> BackendError {
        BackendError::new(BackendErrorKind::Timeout, "no answer")
    }

    #[test]
    fn a_majority_decides_without_the_rest() {
        let mut tally = Tally::new(5);
        tally.yes(0);
        tally.yes(3);
        tally.failed(1, silent());
        assert_eq!(tally.verdict(), Verdict::Open);
        tally.yes(4);
        assert_eq!(
            (tally.verdict(), tally.ayes()),
            (Verdict::Won, &[0, 3, 4][..])
        );
    }

    #[test]
    fn it_fails_as_soon_as_no_majority_is_left() {
        let mut tally = Tally::new(5);
        tally.no(MS * 30);
        tally.no(MS * 10);
        tally.yes(0);
        assert_eq!(tally.verdict(), Verdict::Open);
        tally.no(MS * 20);
        assert_eq!(tally.verdict(), Verdict::Failed);
        assert!(tally.is_quorate());
        assert_eq!(
            tally.free_in(),
            Some(MS * 20),
            "0, 10 and 20 ms are three of five"
        );
    }

    #[test]
    fn two_contenders_that_split_four_of_five_leave_one_that_decides() {
        let mut tally = Tally::new(5);
        tally.yes(0);
        tally.yes(1);
        tally.no(MS);
        tally.no(MS);
        assert_eq!(tally.verdict(), Verdict::Open);
        tally.no(MS);
        assert_eq!(tally.verdict(), Verdict::Failed);
    }

    /// Two refusals and a dead node decide nothing: with one more answer it is refused, without any it can't be decided.
    #[test]
    fn a_refusal_takes_a_majority_of_answers() {
        let mut tally = Tally::new(5);
        tally.no(MS);
        tally.failed(4, silent());
        tally.no(MS);
        assert_eq!(tally.verdict(), Verdict::Open);
        tally.yes(1);
        assert_eq!(tally.verdict(), Verdict::Failed);
        assert!(tally.is_quorate());
        let mut tally = Tally::new(5);
        tally.no(MS);
        tally.failed(2, silent());
        tally.failed(3, silent());
        assert_eq!(tally.verdict(), Verdict::Open);
        tally.failed(4, silent());
        assert_eq!(tally.verdict(), Verdict::Failed);
        assert!(!tally.is_quorate());
    }

    #[test]
    fn too_few_answers_name_who_is_missing_and_why() {
        let mut tally = Tally::new(3);
        tally.yes(0);
        tally.failed(1, silent());
        let error = tally.no_quorum(|node| ["a:1", "b:2", "c:3"][node]);
        assert_eq!(error.kind(), BackendErrorKind::NoQuorum);
        assert!(!tally.is_quorate());
        assert_eq!(
            error.to_string(),
            "1 of 3 nodes answered, 2 are needed (b:2: no answer; 1 had not answered by then)"
        );
    }
}
