//! Every step of a hold, with times given by hand.

use super::*;

fn hold() -> Life {
    bound(Bounds::plain())
}

fn bound(bounds: Bounds) -> Life {
    let key = LockKey::from_text("boleto:42", 512).unwrap();
    Life::new(key, Mode::Queue, bounds)
}

fn at(ms: u64) -> Moment {
    Moment::ZERO + Duration::from_millis(ms)
}

fn lease(from: u64) -> Lease {
    Lease {
        token: FencingToken::new(7),
        from: at(from),
        length: Duration::from_secs(1),
    }
}

fn begun(hold: &Life, now: Moment) -> bool {
    matches!(
        hold.poll_turn(now, Waker::noop()),
        Poll::Ready(Turn::Begun { .. })
    )
}

#[test]
fn a_hold_lives_until_its_deadline_and_renewals_move_it() {
    let hold = hold();
    assert!(!begun(&hold, at(0)));
    assert!(hold.grant(lease(0), false));
    assert!(begun(&hold, at(10)));
    assert!(hold.is_live(at(987)) && !hold.is_live(at(988)));
    hold.extend(lease(500), at(500));
    assert!(hold.is_live(at(1_400)));
    hold.extend(lease(100), at(100));
    assert!(hold.is_live(at(1_400)), "a late answer must not shorten");
}

#[test]
fn a_late_renewal_does_not_revive_a_lost_hold() {
    let hold = hold();
    hold.grant(lease(0), false);
    assert!(begun(&hold, at(10)));
    assert_eq!(
        hold.poll_lost(at(2_000), Waker::noop()),
        Poll::Ready(LossReason::LeaseOver)
    );
    hold.extend(lease(5_000), at(5_000));
    assert!(!hold.is_live(at(5_001)));
    assert_eq!(
        hold.lose(LossReason::Taken),
        Some(LossReason::LeaseOver),
        "the first reason stands"
    );
}

#[test]
fn an_overdue_grant_is_not_begun() {
    let hold = hold();
    hold.grant(lease(0), false);
    assert!(!begun(&hold, at(990)));
    assert!(hold.take_back());
    assert!(hold.grant(lease(1_000), true));
    assert!(matches!(
        hold.poll_turn(at(1_001), Waker::noop()),
        Poll::Ready(Turn::Begun { tell: true })
    ));
    assert!(!hold.take_back(), "a hold that began can't be taken back");
}

#[test]
fn nothing_is_granted_to_a_caller_that_left() {
    let hold = hold();
    assert!(hold.leave());
    assert!(!hold.grant(lease(0), false));
    assert!(!hold.leave(), "one release only");
    hold.gone(Ending::Released);
    assert_eq!(hold.poll_gone(Waker::noop()), Poll::Ready(Ending::Released));
}

#[test]
fn the_cap_ends_a_hold_whatever_is_renewed() {
    let max_hold = Some(Duration::from_millis(1_500));
    let hold = bound(Bounds {
        max_hold,
        ..Bounds::plain()
    });
    hold.grant(lease(0), false);
    assert!(begun(&hold, at(10)));
    assert_eq!(hold.cap(), Moment::END, "the work hasn't started");
    hold.start(at(20));
    hold.extend(lease(900), at(900));
    assert!(hold.is_live(at(1_519)) && !hold.is_live(at(1_520)));
    assert_eq!(
        hold.poll_stop(at(1_520), Waker::noop()),
        Poll::Ready(LossReason::CapReached)
    );
}

#[test]
fn a_lease_that_ends_before_the_cap_is_a_loss() {
    let hold = bound(Bounds {
        max_hold: Some(Duration::from_millis(1_500)),
        ..Bounds::plain()
    });
    hold.grant(lease(0), false);
    assert!(begun(&hold, at(10)));
    hold.start(at(10));
    // looked at after both
    assert_eq!(
        hold.poll_stop(at(2_000), Waker::noop()),
        Poll::Ready(LossReason::LeaseOver)
    );
}

#[test]
fn without_a_watchdog_the_end_of_a_whole_lease_is_the_cap_and_that_of_a_claim_a_loss() {
    for (length, reason) in [
        (1_000, LossReason::CapReached),
        (300, LossReason::LeaseOver),
    ] {
        let hold = bound(Bounds {
            watchdog: false,
            ..Bounds::plain()
        });
        let granted = Lease {
            length: Duration::from_millis(length),
            ..lease(0)
        };
        hold.grant(granted, false);
        assert!(begun(&hold, at(10)));
        hold.start(at(10));
        assert_eq!(
            hold.poll_lost(at(1_000), Waker::noop()),
            Poll::Ready(reason)
        );
    }
}

#[test]
fn without_a_watchdog_the_end_of_an_extension_is_the_cap_however_short_it_is() {
    let hold = bound(Bounds {
        watchdog: false,
        ..Bounds::plain()
    });
    hold.grant(lease(0), false);
    assert!(begun(&hold, at(10)));
    hold.start(at(10));
    let length = Duration::from_millis(500);
    let shorter = Lease {
        length,
        ..lease(900)
    };
    hold.extend(shorter, at(900));
    assert_eq!(
        hold.poll_stop(at(1_500), Waker::noop()),
        Poll::Ready(LossReason::CapReached)
    );
}

#[test]
fn without_a_watchdog_a_claim_that_an_ask_found_again_is_still_a_claim() {
    let hold = bound(Bounds {
        watchdog: false,
        ..Bounds::plain()
    });
    let claim = Lease {
        length: Duration::from_millis(300),
        ..lease(0)
    };
    hold.grant(claim, false);
    assert!(begun(&hold, at(10)));
    hold.extend(claim, Moment::ZERO);
    assert_eq!(
        hold.poll_lost(at(1_000), Waker::noop()),
        Poll::Ready(LossReason::LeaseOver)
    );
}

#[test]
fn a_body_runs_on_after_a_loss_only_where_that_is_wanted() {
    for (on_lost, stops) in [(OnLost::Cancel, true), (OnLost::Continue, false)] {
        let reasons = [
            (LossReason::LeaseOver, stops),
            (LossReason::Taken, stops),
            (LossReason::KeeperEnded, stops),
            (LossReason::ShutDown, true),
            (LossReason::CapReached, true),
        ];
        for (reason, stops) in reasons {
            let hold = bound(Bounds {
                on_lost,
                ..Bounds::plain()
            });
            hold.grant(lease(0), false);
            assert!(begun(&hold, at(10)));
            hold.lose(reason);
            let stopped = hold.poll_stop(at(20), Waker::noop());
            assert_eq!(stopped.is_ready(), stops, "{on_lost:?} {reason:?}");
            assert_eq!(hold.covers(at(20)), on_lost == OnLost::Cancel);
        }
    }
}

#[test]
fn a_body_that_runs_on_after_a_loss_is_stopped_at_its_cap() {
    let hold = bound(Bounds {
        on_lost: OnLost::Continue,
        max_hold: Some(Duration::from_millis(1_500)),
        ..Bounds::plain()
    });
    hold.grant(lease(0), false);
    assert!(begun(&hold, at(10)));
    hold.start(at(10));
    hold.lose(LossReason::Taken);
    assert!(hold.poll_stop(at(1_509), Waker::noop()).is_pending());
    // nobody but this look has noticed
    for now in [1_510, 1_600] {
        assert_eq!(
            hold.poll_stop(at(now), Waker::noop()),
            Poll::Ready(LossReason::CapReached)
        );
    }
    assert_eq!(hold.lost(), Some(LossReason::CapReached));
}

#[test]
fn whoever_runs_on_after_a_loss_is_woken_by_what_ends_it_all_the_same() {
    use std::sync::atomic::AtomicUsize;

    struct Woken(AtomicUsize);
    impl std::task::Wake for Woken {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for end in [LossReason::CapReached, LossReason::ShutDown] {
        let hold = bound(Bounds {
            on_lost: OnLost::Continue,
            ..Bounds::plain()
        });
        hold.grant(lease(0), false);
        assert!(begun(&hold, at(10)));
        hold.lose(LossReason::Taken);
        let woken = std::sync::Arc::new(Woken(AtomicUsize::new(0)));
        let waker = Waker::from(std::sync::Arc::clone(&woken));
        assert!(hold.poll_stop(at(20), &waker).is_pending());
        assert_eq!(hold.lose(LossReason::LeaseOver), Some(LossReason::Taken));
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        assert_eq!(hold.lose(end), Some(end));
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert_eq!(hold.poll_stop(at(30), &waker), Poll::Ready(end));
        let other = [LossReason::CapReached, LossReason::ShutDown];
        for later in other {
            assert_eq!(hold.lose(later), Some(end), "the first end stands");
        }
    }
}

#[test]
fn a_body_that_gave_its_lock_back_runs_on_and_its_lock_covers_nobody() {
    let hold = hold();
    hold.grant(lease(0), false);
    assert!(begun(&hold, at(10)));
    assert!(hold.covers(at(10)));
    assert!(hold.leave());
    assert!(hold.poll_stop(at(20), Waker::noop()).is_pending());
    assert!(!hold.covers(at(20)));
    assert_eq!(
        hold.poll_lost(at(20), Waker::noop()),
        Poll::Ready(LossReason::GivenBack)
    );
}

#[test]
fn an_extension_counts_from_a_renewal_that_was_sent_after_it_was_asked_for() {
    let hold = hold();
    hold.grant(lease(0), false);
    assert!(begun(&hold, at(10)));
    let extended = |now| hold.poll_extended(at(100), at(now), Waker::noop());
    assert!(extended(100).is_pending());
    hold.extend(lease(90), at(90));
    assert!(extended(110).is_pending(), "that one was under way before");
    hold.extend(lease(110), at(110));
    assert_eq!(extended(120), Poll::Ready(Ok(())));
    let late = hold.poll_extended(at(900), at(5_000), Waker::noop());
    assert_eq!(late, Poll::Ready(Err(LossReason::LeaseOver)));
}

#[test]
fn a_refusal_is_given_once_and_leaves_nothing_to_release() {
    let hold = hold();
    assert!(hold.refuse(LockError::ShuttingDown {
        key: hold.key.clone(),
        mode: Mode::Queue
    }));
    assert!(matches!(
        hold.poll_turn(at(0), Waker::noop()),
        Poll::Ready(Turn::Refused(_))
    ));
    assert!(!hold.leave());
}
