//! Single sequences that have a rule of their own; `simulation` runs the rest.

use std::sync::Arc;
use std::task::{Poll, Waker};

use super::*;
use crate::backend::Holder;
use crate::hold::{Bounds, Ending, Life, Turn};
use crate::key::LockKey;
use crate::token::OwnerToken;

const SPREAD: f64 = 0.0;

pub(super) fn at(ms: u64) -> Moment {
    Moment::ZERO + Duration::from_millis(1_000 + ms)
}

pub(super) fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

pub(super) struct Bench {
    pub(super) attempt: Attempt,
    pub(super) life: Arc<Life>,
    pub(super) calls: Calls,
}

impl Bench {
    pub(super) fn new(mode: Mode, wait: Option<Duration>) -> Self {
        Self::with(mode, wait, Bounds::plain(), Duration::ZERO)
    }

    pub(super) fn with(
        mode: Mode,
        wait: Option<Duration>,
        bounds: Bounds,
        min_hold: Duration,
    ) -> Self {
        let bounds = Bounds {
            lease: ms(30_000),
            ..bounds
        };
        let key = LockKey::from_text("k", 512).unwrap();
        let life = Arc::new(Life::new(key, mode, bounds));
        let holder = Holder {
            thread_id: 0,
            host_name: String::new(),
            process_name: String::new(),
            process_id: 0,
            name_of: String::new(),
            created: String::new(),
        };
        let order = Order {
            life: Arc::clone(&life),
            record: "lib_lock:app:prod:k".into(),
            holder: Arc::new(holder),
            timing: Timing::new(ms(30_000), ms(1_000), ms(2_500)),
            wait,
            max_waiters: None,
            min_hold,
            release_timeout: ms(1_000),
            reentrant: true,
        };
        let mut calls = Calls::new();
        let attempt = Attempt::new(order, at(0), &mut calls);
        assert_eq!(std::mem::take(&mut calls), [Call::Ask]);
        Self {
            attempt,
            life,
            calls,
        }
    }

    pub(super) fn sent(&mut self) -> Calls {
        std::mem::take(&mut self.calls)
    }

    pub(super) fn answer(&mut self, answer: Answer, sent: u64, now: u64) -> Calls {
        let asked = Asked::new(Ok(answer), 0);
        self.attempt
            .asked(asked, at(sent), at(now), true, SPREAD, &mut self.calls);
        self.sent()
    }

    pub(super) fn no_answer(&mut self, sent: u64, now: u64) -> Calls {
        let error = BackendError::new(BackendErrorKind::Timeout, "none");
        self.attempt.asked(
            Asked::new(Err(error), 7_000 + sent),
            at(sent),
            at(now),
            true,
            SPREAD,
            &mut self.calls,
        );
        self.sent()
    }

    pub(super) fn tick(&mut self, now: u64) -> Calls {
        self.attempt.tick(at(now), &mut self.calls);
        self.sent()
    }

    pub(super) fn leave(&mut self, now: u64) -> Calls {
        assert!(self.life.leave());
        self.attempt.leave(at(now), true, &mut self.calls);
        self.sent()
    }

    pub(super) fn withdrawn(&mut self, server: u64, now: u64) -> Calls {
        let result = Ok(Withdrawn::new(Released::NotHeld, server));
        self.attempt.withdrawn(&result, at(now), &mut self.calls);
        self.sent()
    }

    pub(super) fn begins(&self, now: u64) -> Option<bool> {
        match self.life.poll_turn(at(now), Waker::noop()) {
            Poll::Ready(Turn::Begun { tell }) => Some(tell),
            Poll::Ready(Turn::Refused(_) | Turn::Late) | Poll::Pending => None,
        }
    }

    pub(super) fn queued(number: u64) -> Answer {
        Answer::Waiting {
            number,
            rank: 3,
            left: ms(10_000),
        }
    }

    pub(super) fn held(token: u64) -> Answer {
        Answer::Held {
            token: FencingToken::new(token),
        }
    }

    pub(super) fn hand_over(&self, number: u64, token: u64) -> HandOver {
        HandOver::new(self.life.ticket, number, FencingToken::new(token))
    }
}

#[test]
fn a_clean_cycle_is_one_ask_and_one_release() {
    let mut bench = Bench::new(Mode::Queue, None);
    assert_eq!(bench.answer(Bench::held(9), 0, 1), []);
    assert_eq!(bench.begins(2), Some(false));
    assert_eq!(bench.leave(5), [Call::Release]);
    bench
        .attempt
        .released(&Ok(Released::Free), at(6), &mut bench.calls);
    assert_eq!(bench.sent(), []);
    assert!(bench.attempt.is_over());
    assert_eq!(
        bench.life.poll_gone(Waker::noop()),
        Poll::Ready(Ending::Released)
    );
}

#[test]
fn nothing_is_renewed_before_the_body_begins() {
    let mut bench = Bench::new(Mode::Queue, None);
    bench.answer(Bench::queued(5), 0, 1);
    let hand_over = bench.hand_over(5, 6);
    // a third of the claim is over already: the renewal is due, the caller has to tell when it begins
    bench
        .attempt
        .handed_over(hand_over, at(900), &mut bench.calls);
    assert_eq!(bench.sent(), []);
    assert_eq!(bench.tick(1_000), []);
    assert_eq!(bench.begins(1_001), Some(true));
    bench.attempt.begun(at(1_001), &mut bench.calls);
    assert_eq!(bench.sent(), [Call::Renew]);
}

#[test]
fn a_grant_that_nobody_takes_lapses_and_old_pushes_mean_nothing() {
    let mut bench = Bench::new(Mode::Queue, None);
    bench.answer(Bench::queued(5), 0, 1);
    let hand_over = bench.hand_over(5, 6);
    bench
        .attempt
        .handed_over(hand_over, at(10), &mut bench.calls);
    let deadline = ms(2_500) - Timing::margin(ms(2_500));
    let late = u64::try_from(deadline.as_millis()).unwrap() + 1;
    assert_eq!(bench.tick(late), []);
    assert_eq!(bench.begins(late), None);
    // an ask now would find the grant and lengthen it: the next in line would wait for somebody who doesn't come
    // and no hint makes it ask earlier
    bench
        .attempt
        .handed_over(hand_over, at(late + 1), &mut bench.calls);
    bench.attempt.hurry(at(late + 2), &mut bench.calls);
    assert_eq!(bench.sent(), []);
    let lapsed = bench.attempt.due().unwrap();
    assert_eq!(lapsed, at(10) + ms(2_500) + Timing::margin(ms(2_500)));
    let lapsed = u64::try_from(lapsed.since(at(0)).as_millis()).unwrap();
    assert_eq!(bench.tick(lapsed), [Call::Ask]);
    // the same push once more only asks
    bench
        .attempt
        .handed_over(hand_over, at(lapsed + 1), &mut bench.calls);
    assert_eq!(bench.begins(lapsed + 1), None);
    assert_eq!(
        bench.answer(Bench::queued(8), lapsed, lapsed + 2),
        [Call::Ask],
        "the hint is followed"
    );
}

#[test]
fn a_waiter_that_leaves_while_its_ask_is_under_way_withdraws_twice() {
    let mut bench = Bench::new(Mode::Queue, None);
    assert_eq!(bench.leave(1), [Call::Withdraw]);
    assert_eq!(bench.withdrawn(5_000, 2), []);
    assert!(!bench.attempt.is_over(), "the ask may come to anything yet");
    assert_eq!(bench.answer(Bench::held(9), 0, 3), [Call::Withdraw]);
    assert_eq!(bench.withdrawn(5_001, 4), []);
    assert!(bench.attempt.is_over());
}

#[test]
fn an_unanswered_ask_is_settled_after_its_last_moment() {
    let mut bench = Bench::new(Mode::Reject, None);
    // the outcome is unknown: the caller is told, the ticket is taken back
    assert_eq!(bench.no_answer(0, 500), [Call::Withdraw]);
    assert_eq!(bench.begins(500), None);
    assert_eq!(bench.withdrawn(6_900, 501), []);
    assert!(!bench.attempt.is_over());
    let again = bench.attempt.due().unwrap();
    assert!(again > at(400));
    let now = u64::try_from(again.since(at(0)).as_millis())
        .unwrap()
        .max(501);
    assert_eq!(bench.tick(now), [Call::Withdraw]);
    assert_eq!(
        bench.withdrawn(7_000, now + 1),
        [],
        "not later than the ask's last moment"
    );
    assert!(!bench.attempt.is_over());
    assert_eq!(bench.tick(now + 10), [Call::Withdraw]);
    assert_eq!(bench.withdrawn(7_001, now + 11), []);
    assert!(bench.attempt.is_over());
}

#[test]
fn what_was_never_sent_needs_no_withdrawal() {
    let mut bench = Bench::new(Mode::Reject, None);
    let error = BackendError::new(BackendErrorKind::Unreachable, "refused");
    bench.attempt.asked(
        Asked::new(Err(error), 0),
        at(0),
        at(1),
        true,
        SPREAD,
        &mut bench.calls,
    );
    assert_eq!(bench.sent(), []);
    assert!(bench.attempt.is_over());
}

#[test]
fn a_newer_grant_found_by_an_ask_ends_the_hold() {
    let mut bench = Bench::new(Mode::Queue, None);
    bench.answer(Bench::queued(5), 0, 1);
    assert_eq!(bench.tick(1_000), [Call::Ask]);
    let hand_over = bench.hand_over(5, 6);
    bench
        .attempt
        .handed_over(hand_over, at(1_001), &mut bench.calls);
    assert!(bench.begins(1_002).is_some());
    bench.answer(Bench::held(4), 1_000, 1_003);
    assert!(bench.life.is_live(at(1_003)), "an older token says nothing");
    bench.attempt.begun(at(1_003), &mut bench.calls);
    // the server forgot, and a copy of the ask took the lock anew
    bench.answer(Bench::held(7), 1_000, 1_004);
    assert!(!bench.life.is_live(at(1_004)));
    assert_eq!(bench.life.lost(), Some(LossReason::Taken));
}

#[test]
fn a_lost_hold_is_not_renewed_any_more() {
    let mut bench = Bench::new(Mode::Queue, None);
    bench.answer(Bench::held(9), 0, 1);
    assert!(bench.begins(2).is_some());
    assert_eq!(bench.tick(10_000), [Call::Renew]);
    assert_eq!(bench.tick(29_700), []);
    assert_eq!(bench.life.lost(), Some(LossReason::LeaseOver));
    bench.attempt.renewed(
        Ok(Renewed::Renewed),
        at(10_000),
        at(29_701),
        &mut bench.calls,
    );
    assert!(!bench.life.is_live(at(29_701)));
    assert_eq!(bench.attempt.due(), None);
    assert_eq!(bench.leave(29_800), [Call::Release]);
}

#[test]
fn a_caller_waits_for_its_release_no_longer_than_it_has_to() {
    let mut bench = Bench::new(Mode::Queue, None);
    bench.answer(Bench::held(9), 0, 1);
    assert!(bench.begins(2).is_some());
    assert_eq!(bench.leave(10), [Call::Release]);
    assert!(bench.life.poll_gone(Waker::noop()).is_pending());
    bench.tick(1_010);
    assert_eq!(
        bench.life.poll_gone(Waker::noop()),
        Poll::Ready(Ending::Unconfirmed)
    );
    // and the keeper goes on
    let error = BackendError::new(BackendErrorKind::Timeout, "none");
    bench
        .attempt
        .released(&Err(error), at(1_011), &mut bench.calls);
    assert_eq!(bench.tick(1_100), [Call::Release]);
}

#[test]
fn who_asks_for_the_answer_after_a_drop_waits_no_longer_either() {
    let mut bench = Bench::new(Mode::Queue, None);
    bench.answer(Bench::held(9), 0, 1);
    assert!(bench.begins(2).is_some());
    assert!(bench.life.leave());
    bench.attempt.leave(at(10), false, &mut bench.calls);
    assert_eq!(bench.sent(), [Call::Release]);
    assert_eq!(bench.attempt.due(), None, "nobody waits");
    // the second of two doesn't lengthen the wait of the first
    for now in [500, 900] {
        bench.attempt.leave(at(now), true, &mut bench.calls);
        assert_eq!(bench.sent(), [], "one release only");
        assert_eq!(bench.attempt.due(), Some(at(1_500)));
    }
    bench.tick(1_500);
    assert_eq!(
        bench.life.poll_gone(Waker::noop()),
        Poll::Ready(Ending::Unconfirmed)
    );
}

#[test]
fn a_reject_caller_leaves_nothing_and_no_wait_is_one_try() {
    for (mode, wait) in [(Mode::Reject, None), (Mode::Queue, Some(Duration::ZERO))] {
        let mut bench = Bench::new(mode, wait);
        assert_eq!(bench.attempt.mode(), Mode::Reject);
        let busy = Answer::Busy {
            left: Some(ms(500)),
            waiting: None,
        };
        assert_eq!(bench.answer(busy, 0, 1), []);
        assert!(bench.attempt.is_over());
        match bench.life.poll_turn(at(2), Waker::noop()) {
            Poll::Ready(Turn::Refused(error)) => assert!(error.is_busy(), "{error}"),
            other @ (Poll::Ready(Turn::Begun { .. } | Turn::Late) | Poll::Pending) => {
                panic!("{other:?}")
            }
        }
    }
}

#[test]
fn tickets_of_others_do_nothing_here() {
    let mut bench = Bench::new(Mode::Queue, None);
    bench.answer(Bench::queued(5), 0, 1);
    let foreign = HandOver::new(OwnerToken::random(), 4, FencingToken::new(6));
    bench.attempt.handed_over(foreign, at(10), &mut bench.calls);
    assert_eq!(bench.sent(), [Call::Ask], "an unfitting hint only asks");
    assert_eq!(bench.begins(11), None);
}

/// The server lost its data between the hand-over and an ask under way, and somebody else was first: the ask put the ticket
/// into the queue anew. Its next turn would find nobody.
#[test]
fn a_ticket_that_queues_anew_during_its_hold_is_withdrawn() {
    let mut bench = Bench::new(Mode::Queue, None);
    bench.answer(Bench::queued(5), 0, 1);
    assert_eq!(bench.tick(1_000), [Call::Ask]);
    let hand_over = bench.hand_over(5, 6);
    bench
        .attempt
        .handed_over(hand_over, at(1_001), &mut bench.calls);
    bench.begins(1_001);
    bench.attempt.begun(at(1_001), &mut bench.calls);
    bench.sent();
    bench.answer(Bench::queued(8), 1_000, 1_002);
    assert_eq!(bench.leave(1_010), [Call::Release]);
    bench
        .attempt
        .released(&Ok(Released::NotHeld), at(1_011), &mut bench.calls);
    assert_eq!(bench.sent(), [Call::Withdraw]);
}

#[test]
fn a_caller_that_looks_on_the_last_breath_of_a_grant_has_it_lengthened() {
    let mut bench = Bench::new(Mode::Queue, None);
    bench.answer(Bench::queued(5), 0, 1);
    let hand_over = bench.hand_over(5, 6);
    bench
        .attempt
        .handed_over(hand_over, at(10), &mut bench.calls);
    let late = bench.life.poll_turn(at(2_300), Waker::noop());
    assert!(matches!(late, Poll::Ready(Turn::Late)), "{late:?}");
    let again = bench.life.poll_turn(at(2_301), Waker::noop());
    assert!(again.is_pending(), "it is told once");
    bench.attempt.looked(at(2_301), &mut bench.calls);
    assert_eq!(bench.sent(), [Call::Ask]);
    assert_eq!(bench.answer(Bench::held(6), 2_301, 2_302), []);
    assert_eq!(bench.begins(2_303), Some(false));
    assert!(bench.life.is_live(at(30_000)));
}

/// Who answers a renewal that was under way when the storage came back may not be who has the lock now.
#[test]
fn a_renewal_that_a_reconnect_overtook_is_asked_for_again() {
    let mut bench = Bench::new(Mode::Queue, None);
    bench.answer(Bench::held(9), 0, 1);
    bench.begins(1);
    bench.attempt.begun(at(1), &mut bench.calls);
    bench.sent();
    let due = bench.attempt.due().unwrap();
    let due = u64::try_from(due.since(at(0)).as_millis()).unwrap();
    assert_eq!(bench.tick(due), [Call::Renew]);
    bench.attempt.hurry(at(due + 1), &mut bench.calls);
    assert_eq!(bench.sent(), []);
    let renewed = Ok(Renewed::Renewed);
    bench
        .attempt
        .renewed(renewed, at(due), at(due + 2), &mut bench.calls);
    assert_eq!(bench.sent(), [Call::Renew]);
}
