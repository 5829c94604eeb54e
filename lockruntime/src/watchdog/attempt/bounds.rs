//! Caps, minimum holds, extensions, full queues.

use std::task::{Poll, Waker};

use super::tests::{Bench, at, ms};
use super::*;
use crate::hold::{Bounds, Turn};
use crate::options::OnLost;

fn capped(max_hold: Option<u64>, min_hold: u64) -> Bench {
    let bounds = Bounds {
        max_hold: max_hold.map(ms),
        ..Bounds::plain()
    };
    begun(bounds, min_hold)
}

fn begun(bounds: Bounds, min_hold: u64) -> Bench {
    let mut bench = Bench::with(Mode::Queue, None, bounds, ms(min_hold));
    bench.answer(Bench::held(9), 0, 1);
    assert_eq!(bench.begins(2), Some(false));
    bench.life.start(at(2));
    bench.attempt.begun(at(2), &mut bench.calls);
    bench
}

fn released(bench: &mut Bench, released: Released, now: u64) -> Calls {
    bench
        .attempt
        .released(&Ok(released), at(now), &mut bench.calls);
    bench.sent()
}

#[test]
fn the_keeper_wakes_for_the_cap_although_the_lease_is_longer() {
    let mut bench = capped(Some(2_000), 0);
    assert_eq!(bench.attempt.due(), Some(at(2_002)));
    assert_eq!(bench.tick(2_001), []);
    assert_eq!(bench.life.lost(), None);
    assert_eq!(bench.tick(2_002), []);
    assert_eq!(bench.life.lost(), Some(LossReason::CapReached));
    assert_eq!(bench.attempt.due(), None, "nothing is renewed any more");
    assert_eq!(bench.leave(2_003), [Call::Release]);
}

#[test]
fn renewals_go_on_up_to_the_cap() {
    let mut bench = capped(Some(60_000), 0);
    for sent in [10_000, 20_000, 30_000, 40_000, 50_000] {
        assert_eq!(bench.tick(sent), [Call::Renew]);
        let ok = Ok(Renewed::Renewed);
        bench
            .attempt
            .renewed(ok, at(sent), at(sent), &mut bench.calls);
    }
    assert_eq!(bench.attempt.due(), Some(at(60_000)));
}

#[test]
fn a_short_body_keeps_its_lock_without_a_renewal_and_without_its_caller() {
    let mut bench = capped(None, 2_000);
    assert_eq!(bench.leave(12), [Call::Keep(ms(1_990))]);
    assert!(bench.life.poll_gone(Waker::noop()).is_pending());
    assert_eq!(released(&mut bench, Released::Kept, 13), []);
    assert_eq!(
        bench.life.poll_gone(Waker::noop()),
        Poll::Ready(Ending::Released)
    );
    assert_eq!(bench.attempt.due(), Some(at(2_002)));
    assert_eq!(bench.tick(2_001), []);
    assert_eq!(bench.tick(2_002), [Call::Release]);
    assert_eq!(released(&mut bench, Released::NotHeld, 2_003), []);
    assert!(bench.attempt.is_over());
}

#[test]
fn a_body_longer_than_the_minimum_is_released_at_once() {
    let mut bench = capped(None, 2_000);
    assert_eq!(bench.leave(2_002), [Call::Release]);
}

#[test]
fn an_unheard_keep_is_said_again_for_what_is_left_of_it() {
    let mut bench = capped(None, 2_000);
    assert_eq!(bench.leave(12), [Call::Keep(ms(1_990))]);
    let error = Err(BackendError::new(BackendErrorKind::Timeout, "none"));
    bench.attempt.released(&error, at(512), &mut bench.calls);
    assert_eq!(bench.sent(), []);
    let again = bench.attempt.due().unwrap();
    bench.attempt.tick(again, &mut bench.calls);
    let left = at(2_002).since(again);
    assert_eq!(bench.sent(), [Call::Keep(left)]);
    bench.attempt.released(&error, at(2_010), &mut bench.calls);
    let again = bench.attempt.due().unwrap();
    bench.attempt.tick(again, &mut bench.calls);
    assert_eq!(bench.sent(), [Call::Release], "the minimum is over");
}

#[test]
fn what_was_lost_is_not_kept() {
    let mut bench = capped(None, 60_000);
    assert_eq!(bench.tick(10_000), [Call::Renew]);
    let lost = Ok(Renewed::Lost);
    bench
        .attempt
        .renewed(lost, at(10_000), at(10_001), &mut bench.calls);
    assert_eq!(bench.leave(10_002), [Call::Release]);
}

/// Lost under a body that runs on after that, at 10 s of at most 12.
fn runs_on(on_lost: OnLost, min_hold: u64) -> Bench {
    let bounds = Bounds {
        max_hold: Some(ms(12_000)),
        on_lost,
        ..Bounds::plain()
    };
    let mut bench = begun(bounds, min_hold);
    assert_eq!(bench.tick(10_000), [Call::Renew]);
    let lost = Ok(Renewed::Lost);
    bench
        .attempt
        .renewed(lost, at(10_000), at(10_001), &mut bench.calls);
    assert_eq!(bench.life.lost(), Some(LossReason::Taken));
    bench
}

#[test]
fn the_cap_ends_a_body_that_runs_on_after_a_loss() {
    let mut bench = runs_on(OnLost::Continue, 60_000);
    assert_eq!(bench.attempt.due(), Some(at(12_002)));
    assert_eq!(bench.tick(12_001), []);
    assert_eq!(bench.life.lost(), Some(LossReason::Taken));
    assert_eq!(bench.tick(12_002), []);
    assert_eq!(bench.life.lost(), Some(LossReason::CapReached));
    assert_eq!(bench.attempt.due(), None);
    assert_eq!(
        bench.leave(12_003),
        [Call::Release],
        "what was lost before its cap isn't kept"
    );
}

#[test]
fn a_shutdown_ends_a_body_that_runs_on_after_a_loss() {
    let mut bench = runs_on(OnLost::Continue, 0);
    bench.attempt.stop_holding();
    assert_eq!(bench.life.lost(), Some(LossReason::ShutDown));
    assert_eq!(bench.attempt.due(), None);
    assert_eq!(bench.leave(10_003), [Call::Release]);
}

/// The body sees its deadline before the keeper does.
#[test]
fn a_loss_that_the_body_saw_first_leaves_the_cap_due() {
    let bounds = Bounds {
        max_hold: Some(ms(60_000)),
        on_lost: OnLost::Continue,
        ..Bounds::plain()
    };
    let mut bench = begun(bounds, 0);
    let stop = bench.life.poll_stop(at(30_000), Waker::noop());
    assert!(stop.is_pending(), "{stop:?}");
    bench.tick(30_001);
    assert_eq!(bench.life.lost(), Some(LossReason::LeaseOver));
    assert_eq!(bench.attempt.due(), Some(at(60_002)));
    bench.tick(60_002);
    assert_eq!(bench.life.lost(), Some(LossReason::CapReached));
}

#[test]
fn a_body_that_a_loss_stops_is_stopped_for_that() {
    let mut bench = runs_on(OnLost::Cancel, 0);
    assert_eq!(bench.attempt.due(), None);
    bench.tick(12_002);
    bench.attempt.stop_holding();
    assert_eq!(bench.life.lost(), Some(LossReason::Taken));
}

#[test]
fn what_never_started_is_not_kept() {
    let bounds = Bounds::plain();
    let mut bench = Bench::with(Mode::Queue, None, bounds, ms(2_000));
    bench.answer(Bench::held(9), 0, 1);
    assert_eq!(bench.begins(2), Some(false));
    // one of several keys, and the next one was not to be had
    assert_eq!(bench.leave(3), [Call::Release]);
}

#[test]
fn a_cap_before_the_minimum_ends_the_body_and_keeps_the_lock() {
    let mut bench = capped(Some(500), 2_000);
    bench.tick(502);
    assert_eq!(bench.life.lost(), Some(LossReason::CapReached));
    assert_eq!(bench.leave(503), [Call::Keep(ms(1_499))]);
}

/// The caller has left, and the deadline that this clears is seen before the message that says so.
#[test]
fn a_caller_that_left_is_no_loss() {
    let mut bench = capped(None, 2_000);
    assert!(bench.life.leave());
    assert_eq!(bench.tick(10_000), []);
    bench.attempt.leave(at(10_000), true, &mut bench.calls);
    assert_eq!(bench.sent(), [Call::Release]);
    assert_eq!(bench.life.lost(), None);
}

#[test]
fn a_shutdown_does_not_wait_for_a_minimum() {
    // before it is kept, and while it is
    for kept_first in [false, true] {
        let mut bench = capped(None, 2_000);
        assert_eq!(bench.leave(12), [Call::Keep(ms(1_990))]);
        if kept_first {
            released(&mut bench, Released::Kept, 13);
            assert!(!bench.attempt.is_over());
        }
        bench.attempt.stop_waiting(at(14), &mut bench.calls);
        if !kept_first {
            assert!(!bench.attempt.is_over(), "the server isn't told yet");
            released(&mut bench, Released::Kept, 15);
        }
        assert!(bench.attempt.is_over());
    }
}

#[test]
fn an_extension_is_asked_for_at_once_and_counts_from_there() {
    let mut bench = capped(None, 0);
    bench
        .attempt
        .extend(ms(90_000), at(5_000), &mut bench.calls);
    assert_eq!(bench.sent(), [Call::Renew]);
    let (_, length, sent) = bench.attempt.renewal().unwrap();
    assert_eq!((length, sent), (ms(90_000), at(5_000)));
    let ok = Ok(Renewed::Renewed);
    bench.attempt.renewed(ok, sent, at(5_001), &mut bench.calls);
    assert_eq!(
        bench.life.deadline(),
        at(5_000) + Timing::usable(ms(90_000))
    );
    assert_eq!(bench.attempt.due(), Some(at(35_000)), "a third of it");
    // an ask that comes back late asked for the old length
    bench.answer(Bench::held(9), 34_000, 34_001);
    assert_eq!(
        bench.life.deadline(),
        at(5_000) + Timing::usable(ms(90_000))
    );
}

#[test]
fn an_extension_of_a_hold_that_the_keeper_does_not_know_yet() {
    let mut bench = Bench::new(Mode::Queue, None);
    bench.answer(Bench::held(9), 0, 1);
    assert_eq!(bench.begins(2), Some(false));
    bench.attempt.extend(ms(90_000), at(3), &mut bench.calls);
    assert_eq!(bench.sent(), [Call::Renew]);
}

#[test]
fn a_full_queue_is_busy_and_one_try_is_a_wait_that_ended() {
    for (wait, timed_out) in [(None, false), (Some(Duration::ZERO), true)] {
        let mut bench = Bench::new(Mode::Queue, wait);
        let busy = Answer::Busy {
            left: Some(ms(500)),
            waiting: Some(3),
        };
        assert_eq!(bench.answer(busy, 0, 1), []);
        assert!(bench.attempt.is_over());
        let Poll::Ready(Turn::Refused(error)) = bench.life.poll_turn(at(2), Waker::noop()) else {
            panic!("it was refused");
        };
        let full = matches!(
            error,
            LockError::Busy {
                waiting: Some(3),
                ..
            }
        );
        let late = matches!(error, LockError::WaitTimedOut { .. });
        assert_eq!((full, late), (!timed_out, timed_out), "{error}");
    }
}
