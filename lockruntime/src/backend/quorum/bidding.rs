//! An ask on a quorum: the courtesy queue, the two rounds of a bid, and what is cleaned up when it fails.

use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use rand::RngExt;

use super::Shared;
use super::node::{Bid, Committed, Granting, Keep, Lined, Place};
use super::round::Round;
use super::tally::{Tally, Verdict};
use super::tickets::Hold;
use super::votes::Votes;
use crate::backend::{Answer, Ask, BackendError, Renewed};
use crate::clock::{self, Moment};
use crate::options::Mode;
use crate::token::{FencingToken, OwnerToken};

/// After two contenders split the votes each waits a random part of this, so that one of them comes first; a part of less after
/// the first splits, since most come of a lock that is just being freed node by node.
const SPLIT_PAUSE: Duration = Duration::from_millis(25);
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// A node that has been without data for less than this may be one of a new quorum.
const JUST_BORN: Duration = Duration::from_secs(1);
/// How long a majority waits for the answer of the node with the queue.
const FRONT_PATIENCE: Duration = Duration::from_millis(20);
/// A node whose queue was out of reach so often in a row is passed over, until it answers a bid or so much time has passed.
const QUEUE_FAILURES: u32 = 2;
const QUEUE_PAUSE: Duration = Duration::from_secs(30);

/// How a bid ended.
enum Outcome {
    Won(Hold),
    /// Others hold it: when a majority may be free.
    Held {
        left: Duration,
    },
    /// Others wait.
    Queued,
    /// Nobody has a majority.
    Split,
    /// No node has any data: none is missing any.
    Newborn,
    /// Some nodes have no data, and somebody may just be finding out that none has.
    Young(BackendError),
    NoQuorum(BackendError),
}

impl Shared {
    pub(super) async fn ask(self: &Arc<Self>, ask: &Ask) -> Result<Answer, BackendError> {
        let (hold, mut lined) = self.tickets.begin(ask.ticket);
        let (answer, hold) = match self.hold_on(ask, hold).await {
            Some(hold) => (Ok(Answer::Held { token: hold.token }), Some(hold)),
            None => self.compete(ask, &mut lined).await,
        };
        if hold.is_some()
            && let Some(queue) = lined.take()
        {
            self.leave_queue(ask, queue);
        }
        if !self.tickets.end(ask.ticket, hold.as_ref(), lined) {
            // withdrawn meanwhile; the answer makes the keeper withdraw once more
            if let Some(hold) = hold {
                self.clean(&hold, self.every_node(), |_| false);
            }
            if let Some(queue) = lined {
                self.leave_queue(ask, queue);
            }
        }
        answer
    }

    /// A lock that the ticket has already: the answer came too late to begin with it.
    async fn hold_on(self: &Arc<Self>, ask: &Ask, hold: Option<Hold>) -> Option<Hold> {
        let hold = hold?;
        match self.keep(ask.ticket, &hold, ask.lease, ask.valid).await {
            Ok(Renewed::Renewed) => Some(hold),
            Ok(Renewed::Lost) | Err(_) => {
                self.clean(&hold, self.every_node(), |_| false);
                None
            }
        }
    }

    async fn compete(
        self: &Arc<Self>,
        ask: &Ask,
        lined: &mut Option<usize>,
    ) -> (Result<Answer, BackendError>, Option<Hold>) {
        let until = clock::now() + ask.valid;
        // only the head of the queue bids, and whoever comes first
        let mut place = None;
        if lined.is_some() {
            place = self.line_up(ask, lined, until).await;
            if let Some(Lined::At { number, rank }) = place
                && rank > 0
            {
                let left = ask.beat;
                return (Ok(Answer::Waiting { number, rank, left }), None);
            }
        }
        // whoever may not wait isn't refused for a split, and nobody but the head of the queue is to come next
        let insists = ask.mode == Mode::Reject || ask.max_waiters.is_some() || place.is_some();
        let mut longest = FIRST_PAUSE;
        let left = loop {
            let outcome = self.bid(ask, until).await;
            let pause = longest.mul_f64(rand::rng().random());
            longest = (longest * 2).min(SPLIT_PAUSE);
            // a bid that begins on the last breath is answered by nobody
            let has_time = clock::now() + pause + ask.valid / 4 < until;
            match outcome {
                Outcome::Won(hold) => {
                    return (Ok(Answer::Held { token: hold.token }), Some(hold));
                }
                Outcome::NoQuorum(error) => return (Err(error), None),
                Outcome::Newborn if has_time => self.establish(&ask.record, until).await,
                Outcome::Young(_) if has_time => clock::sleep(pause).await,
                Outcome::Young(error) => return (Err(error), None),
                Outcome::Split if has_time && insists => clock::sleep(pause).await,
                Outcome::Newborn | Outcome::Split => break pause,
                Outcome::Queued => break ask.beat,
                Outcome::Held { left } => break left,
            }
        };
        if ask.mode == Mode::Reject {
            let left = Some(left).filter(|left| !left.is_zero());
            let waiting = None;
            return (Ok(Answer::Busy { left, waiting }), None);
        }
        if place.is_none() {
            place = self.line_up(ask, lined, until).await;
        }
        let answer = match place {
            Some(Lined::At { number, rank }) => Answer::Waiting { number, rank, left },
            Some(Lined::Full { waiting }) => {
                *lined = None;
                let left = Some(left).filter(|left| !left.is_zero());
                let waiting = Some(waiting);
                Answer::Busy { left, waiting }
            }
            // without any queue everybody tries again, each after another while; no hand-over has this number
            None => Answer::Waiting {
                number: u64::MAX,
                rank: 0,
                left,
            },
        };
        (Ok(answer), None)
    }

    /// Takes or keeps a place on the first node that answers; each has half of the time that is left. A ticket stands in one
    /// queue only: in another, nobody would pass it until it dies.
    async fn line_up(
        self: &Arc<Self>,
        ask: &Ask,
        lined: &mut Option<usize>,
        until: Moment,
    ) -> Option<Lined> {
        let mut place = Place {
            record: Arc::clone(&ask.record),
            member: ask.member(),
            beat: ask.beat,
            channel: Arc::clone(&ask.channel),
            valid: Duration::ZERO,
            most: ask.max_waiters,
        };
        for (index, node) in self.nodes.iter().enumerate() {
            if self.is_passed_over(index) {
                continue;
            }
            place.valid = until.since(clock::now()) / 2;
            match node.line_up(&place).await {
                Ok(found) => {
                    self.queue_answers(index);
                    if let Some(before) = lined.replace(index)
                        && before != index
                    {
                        self.leave_queue(ask, before);
                    }
                    return Some(found);
                }
                Err(error) => {
                    self.queue_fails(index);
                    if error.was_sent() && *lined != Some(index) {
                        self.leave_queue(ask, index);
                    }
                }
            }
        }
        if let Some(before) = lined.take() {
            self.leave_queue(ask, before);
        }
        None
    }

    /// The node whose queue counts.
    fn front(&self) -> Option<usize> {
        (0..self.nodes.len()).find(|index| !self.is_passed_over(*index))
    }

    fn queue_failures(&self) -> MutexGuard<'_, Vec<(u32, Moment)>> {
        self.queue_failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn is_passed_over(&self, index: usize) -> bool {
        self.queue_failures()
            .get(index)
            .is_some_and(|(times, at)| *times >= QUEUE_FAILURES && *at + QUEUE_PAUSE > clock::now())
    }

    fn queue_fails(&self, index: usize) {
        if let Some((times, at)) = self.queue_failures().get_mut(index) {
            *times = times.saturating_add(1);
            *at = clock::now();
        }
    }

    fn queue_answers(&self, index: usize) {
        if let Some((times, _)) = self.queue_failures().get_mut(index) {
            *times = 0;
        }
    }

    /// A token of at least `least`.
    fn next_token(&self, least: u64) -> FencingToken {
        let mut greatest = self.greatest.lock().unwrap_or_else(PoisonError::into_inner);
        *greatest = least.max(*greatest + 1);
        FencingToken::new(*greatest)
    }

    /// Gives up a place in the background. A node that isn't reached lets it die.
    fn leave_queue(self: &Arc<Self>, ask: &Ask, queue: usize) {
        if let Some(node) = self.nodes.get(queue) {
            let leave = node.leave(&ask.record, &ask.member(), ask.valid);
            self.background.add(async move { drop(leave.await) });
        }
    }

    async fn establish(&self, record: &Arc<str>, until: Moment) {
        let mut round =
            self.all(|node| node.establish(record, JUST_BORN, until.since(clock::now())));
        while round.next(until).await.is_some() {}
    }

    /// Both rounds of one bid.
    async fn bid(self: &Arc<Self>, ask: &Ask, until: Moment) -> Outcome {
        let lease = ask.lease;
        let bid = Arc::new(Bid {
            record: Arc::clone(&ask.record),
            id: OwnerToken::random(),
            ticket: ask.ticket,
            member: ask.member(),
            lease: ask.lease,
            holder: Arc::clone(&ask.holder),
            valid: until.since(clock::now()),
            quarantine: self.quarantine,
        });
        let mut round = self.all(|node| node.grant(&bid));
        let votes = self.count_votes(&mut round, until).await;
        if votes.tally.verdict() != Verdict::Won || votes.queued {
            let outcome = self.lost_bid(ask, &votes);
            let token = FencingToken::new(0);
            self.clean(&Hold { bid, token, lease }, votes.to_clean(), |node| {
                votes.may_answer_late(node)
            });
            return outcome;
        }
        let keep = Keep {
            token: self.next_token(votes.greatest),
            lease: ask.lease,
            timeout: until.since(clock::now()),
        };
        let readers: BTreeSet<usize> = votes.tally.ayes().iter().copied().collect();
        if let Err(error) = self.write_back(&bid, &readers, keep, until).await {
            let token = keep.token;
            let hold = Hold { bid, token, lease };
            self.clean(&hold, self.every_node(), |node| votes.may_answer_late(node));
            return error;
        }
        self.take_late_grants(ask.ticket, Arc::clone(&bid), round, keep);
        Outcome::Won(Hold {
            bid,
            token: keep.token,
            lease,
        })
    }

    /// The first round, as far as it has to be waited for.
    async fn count_votes(&self, round: &mut Round<Granting>, until: Moment) -> Votes {
        let front = self.front();
        let mut votes = Votes::new(self.nodes.len(), front, self.quarantine);
        let mut patience = None;
        loop {
            let limit = match votes.tally.verdict() {
                Verdict::Open => until,
                Verdict::Failed => break,
                // the queue's node has a say, if it hurries
                Verdict::Won if front.is_some_and(|front| votes.may_answer_late(front)) => {
                    until.min(*patience.get_or_insert_with(|| clock::now() + FRONT_PATIENCE))
                }
                Verdict::Won => break,
            };
            let Some((node, answer)) = round.next(limit).await else {
                if let (Some(front), Some(_)) = (front, patience) {
                    self.queue_fails(front);
                }
                break;
            };
            if answer.is_ok() {
                self.queue_answers(node);
            }
            if matches!(answer, Ok(Granting::Granted { .. })) {
                self.wrote(node);
            }
            votes.count(node, answer);
        }
        // those that are still to answer may be newborn too
        while votes.newborn > 0
            && (votes.tally.verdict() != Verdict::Won || votes.queued)
            && let Some((node, answer @ Ok(Granting::Newborn { .. }))) = round.next(until).await
        {
            votes.count(node, answer);
        }
        votes
    }

    /// What a first round amounts to that wasn't won.
    fn lost_bid(&self, ask: &Ask, votes: &Votes) -> Outcome {
        if votes.queued {
            return Outcome::Queued;
        }
        if votes.all_new(JUST_BORN) {
            return Outcome::Newborn;
        }
        if !votes.tally.is_quorate() {
            let error = self.no_quorum(&votes.tally);
            return if votes.some_new(JUST_BORN) {
                Outcome::Young(error)
            } else {
                Outcome::NoQuorum(error)
            };
        }
        // the node with the queue is free: the others are being freed at this moment
        let frees = ask.mode == Mode::Queue && votes.front_is_free();
        match votes.tally.free_in() {
            Some(left) if !left.is_zero() && !frees => Outcome::Held { left },
            _ => Outcome::Split,
        }
    }

    /// The second round, to the nodes whose tokens were read: others don't count.
    async fn write_back(
        self: &Arc<Self>,
        bid: &Arc<Bid>,
        readers: &BTreeSet<usize>,
        keep: Keep,
        until: Moment,
    ) -> Result<(), Outcome> {
        let mut round = self.some(readers.iter().copied(), |node| node.commit(bid, keep));
        let mut tally = Tally::among(self.nodes.len(), readers.len());
        while tally.verdict() == Verdict::Open
            && let Some((node, answer)) = round.next(until).await
        {
            match answer {
                Ok(Committed::Done) => tally.yes(node),
                Ok(Committed::Refused) => tally.no(Duration::ZERO),
                Err(error) => tally.failed(node, error),
            }
        }
        match tally.verdict() {
            Verdict::Won => {
                self.background
                    .add(async move { while round.rest().await.is_some() {} });
                Ok(())
            }
            Verdict::Failed | Verdict::Open if tally.refusals() > 0 => Err(Outcome::Split),
            Verdict::Failed | Verdict::Open => Err(Outcome::NoQuorum(self.no_quorum(&tally))),
        }
    }

    /// Grants that come after the majority's: the more nodes, the more of them may fail later.
    fn take_late_grants(
        self: &Arc<Self>,
        ticket: OwnerToken,
        bid: Arc<Bid>,
        mut round: Round<Granting>,
        keep: Keep,
    ) {
        let (shared, lease) = (Arc::clone(self), keep.lease);
        self.background.add(async move {
            while let Some((index, answer)) = round.rest().await {
                let Some(node) = shared.nodes.get(index) else {
                    continue;
                };
                match answer {
                    Ok(Granting::Granted { .. }) => {
                        let committed = node.commit(&bid, keep).await;
                        if !matches!(committed, Ok(Committed::Done))
                            || !shared.tickets.holds(ticket, &bid)
                        {
                            let (bid, token) = (Arc::clone(&bid), keep.token);
                            shared.clean(&Hold { bid, token, lease }, [index], |_| false);
                        }
                    }
                    Err(error) if !error.was_sent() => {}
                    // it may be executed yet; a renewal takes it along, or it is given back
                    Err(_) => {
                        let (shared, bid) = (Arc::clone(&shared), Arc::clone(&bid));
                        shared.clone().background.add(async move {
                            clock::sleep(bid.valid).await;
                            if !shared.tickets.holds(ticket, &bid) {
                                let token = keep.token;
                                shared.clean(&Hold { bid, token, lease }, [index], |_| false);
                            }
                        });
                    }
                    Ok(
                        Granting::Held { .. } | Granting::Queued { .. } | Granting::Newborn { .. },
                    ) => {}
                }
            }
        });
    }

    pub(super) fn every_node(&self) -> BTreeSet<usize> {
        (0..self.nodes.len()).collect()
    }
}
