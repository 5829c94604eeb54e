//! What bounds a hold, and what its body may do with it.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lockruntime::{LockError, LossReason, OnLost};
use tests::timing;
use tokio::sync::Notify;

use super::{Log, Place, Scene};

/// The body is dropped at the cap, although its lease is renewed; the call says so, and the next in line enters.
pub(crate) async fn max_hold<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let (lease, cap) = (timing::millis(200), timing::millis(500));
    let begun = Arc::new(tokio::sync::Notify::new());
    let call = tokio::spawn({
        let (key, begun) = (scene.key.clone(), Arc::clone(&begun));
        async move {
            let body = async {
                begun.notify_one();
                pending::<()>().await;
            };
            let start = Instant::now();
            let call = manager.lock(&key).lease(lease).max_hold(cap);
            (call.run(body).await.unwrap_err(), start.elapsed())
        }
    });
    timing::soon("the body begins", begun.notified()).await;
    let next = timing::soon("the next one enters", other.lock(&scene.key).acquire())
        .await
        .unwrap();
    let (error, took) = call.await.unwrap();
    assert!(
        matches!(error, LockError::HoldCapReached { cap: told, .. } if told == cap),
        "{error:?}"
    );
    assert!(!error.is_lost() && !error.is_busy());
    assert!(took >= cap && took < cap + timing::moment(), "{took:?}");
    next.release().await.unwrap();
    scene.end(0).await;
}

/// A guard's holder is told at the cap; nothing is renewed from then on, and giving back says why.
pub(crate) async fn max_hold_of_a_guard<P: Place>(scene: Scene<P>) {
    let manager = scene.place.manager();
    let cap = timing::millis(300);
    let start = Instant::now();
    // no renewal comes before the cap: it is looked at for its own sake
    let guard = manager
        .lock(&scene.key)
        .lease(timing::long_lease())
        .max_hold(cap)
        .acquire()
        .await
        .unwrap();
    assert!(guard.remaining() <= cap);
    let reason = timing::soon("the guard is told", guard.lost()).await;
    assert_eq!(reason, LossReason::CapReached);
    let took = start.elapsed();
    assert!(took >= cap && took < cap + timing::moment(), "{took:?}");
    assert!(!guard.is_held());
    let error = guard.release().await.unwrap_err();
    assert!(
        matches!(error, LockError::HoldCapReached { .. }),
        "{error:?}"
    );
    scene.assert_free(&manager).await;
    scene.end(0).await;
}

/// A short body's caller returns at once, and the lock stays taken to its minimum: a waiter enters then, and nobody before.
pub(crate) async fn min_hold<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let (lease, least) = (timing::millis(300), timing::millis(900));
    let request = manager.lock(&scene.key).lease(lease).min_hold(least);
    let start = request.run(async { Instant::now() }).await.unwrap();
    assert!(
        start.elapsed() < timing::moment(),
        "the caller waited {:?}",
        start.elapsed()
    );
    let waiter = tokio::spawn({
        let key = scene.key.clone();
        async move {
            other
                .lock(&key)
                .run(async { Instant::now() })
                .await
                .unwrap()
        }
    });
    scene.until_waiting(&manager, 1).await;
    let third = scene.place.manager();
    while start.elapsed() + timing::moment() < least {
        let busy = third.lock(&scene.key).try_acquire().await.unwrap_err();
        assert!(
            busy.is_busy() && !waiter.is_finished(),
            "{busy} after {:?}",
            start.elapsed()
        );
        timing::pass(timing::tick()).await;
    }
    let entered = timing::soon("the waiter enters", waiter).await.unwrap();
    let after = entered - start;
    assert!(
        after >= least && after < least + timing::moment(),
        "{after:?}"
    );
    scene.end(0).await;
}

/// It is kept whatever way the body ends, and not after it was longer than that.
pub(crate) async fn min_hold_on_every_way_out<P: Place>(scene: Scene<P>) {
    let manager = scene.place.manager();
    let least = timing::millis(300);
    let request = || manager.lock(&scene.key).min_hold(least);
    for way in ["cancelled", "guard dropped", "guard released", "early"] {
        let start = Instant::now();
        match way {
            "cancelled" => {
                let begun = Notify::new();
                let stuck = async {
                    begun.notify_one();
                    pending::<()>().await;
                };
                tokio::select! {
                    _ = request().run(stuck) => unreachable!(),
                    () = begun.notified() => {}
                }
            }
            "guard dropped" => drop(request().acquire().await.unwrap()),
            "guard released" => request().acquire().await.unwrap().release().await.unwrap(),
            _ => {
                let early = async { lockruntime::current().unwrap().release().await };
                request().run(early).await.unwrap().unwrap();
            }
        }
        let next = manager.lock(&scene.key).acquire().await.unwrap();
        // the call before began after `start`, so this is no less than its minimum
        let after = start.elapsed();
        assert!(
            after >= least && after < least + timing::moment() * 2,
            "{way}: {after:?}"
        );
        next.release().await.unwrap();
    }
    request().run(timing::pass(least)).await.unwrap();
    manager
        .lock(&scene.key)
        .try_acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    scene.end(0).await;
}

/// Without a watchdog the lease is the cap: the body is dropped at its end, and that is no loss.
pub(crate) async fn no_watchdog<P: Place>(scene: Scene<P>) {
    let manager = scene.place.manager();
    let lease = timing::millis(400);
    let call = manager.lock(&scene.key).lease(lease).watchdog(false);
    let start = Instant::now();
    let error = call.clone().run(pending::<()>()).await.unwrap_err();
    let took = start.elapsed();
    assert!(
        matches!(error, LockError::HoldCapReached { cap, .. } if cap == lease),
        "{error:?}"
    );
    assert!(
        took >= lease * 9 / 10 && took < lease + timing::moment(),
        "{took:?}"
    );
    scene.end(0).await;
}

/// A handed-over grant is short until its first renewal; without a watchdog it gets that one, and no other.
pub(crate) async fn no_watchdog_after_a_hand_over<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let lease = timing::grace() * 3;
    let guard = manager.lock(&scene.key).acquire().await.unwrap();
    let waiter = tokio::spawn({
        let key = scene.key.clone();
        async move {
            let call = other.lock(&key).lease(lease).watchdog(false);
            call.acquire().await.unwrap()
        }
    });
    scene.until_waiting(&manager, 1).await;
    guard.release().await.unwrap();
    let second = timing::soon("the waiter enters", waiter).await.unwrap();
    let start = Instant::now();
    let reason = timing::soon("its lease ends", second.lost()).await;
    assert_eq!(reason, LossReason::CapReached);
    let took = start.elapsed();
    assert!(
        took >= lease * 9 / 10 && took < lease + timing::grace() + timing::moment(),
        "{took:?}"
    );
    drop(second);
    scene.end(0).await;
}

/// An extension reaches over an outage that the lease would not, and the later renewals ask for as much.
pub(crate) async fn extend<P: Place>(scene: Scene<P>) {
    let (fragile, link) = scene.place.fragile();
    let other = scene.place.manager();
    let (lease, length) = (timing::millis(250), timing::millis(1_200));
    let guard = fragile
        .lock(&scene.key)
        .lease(lease)
        .acquire()
        .await
        .unwrap();
    guard.extend(length).await.unwrap();
    assert!(guard.remaining() > lease && guard.remaining() <= length);
    link.cut();
    timing::pass(lease * 3).await;
    assert!(guard.is_held(), "lost within the extension");
    let busy = other.lock(&scene.key).try_acquire().await.unwrap_err();
    assert!(busy.is_busy(), "{busy}");
    link.heal();
    // past the extension itself: renewed to its length since
    timing::pass(length).await;
    assert!(guard.is_held());
    scene
        .until(&other, "a renewal asks for it", |snapshot| {
            snapshot
                .held
                .as_ref()
                .is_some_and(|held| held.left > length / 2)
        })
        .await;
    guard.release().await.unwrap();
    scene.assert_free(&other).await;
    scene.end(0).await;
}

/// Without a watchdog an extension is one, and then the cap.
pub(crate) async fn extend_without_a_watchdog<P: Place>(scene: Scene<P>) {
    let manager = scene.place.manager();
    let (lease, length) = (timing::millis(200), timing::millis(600));
    let begun = Mutex::new(Instant::now());
    let body = async {
        *begun.lock().unwrap() = Instant::now();
        let hold = lockruntime::current().unwrap();
        timing::pass(lease / 2).await;
        hold.extend(length).await.unwrap();
        let start = Instant::now();
        assert_eq!(hold.lost().await, LossReason::CapReached);
        unreachable!("dropped {:?} after the extension", start.elapsed());
    };
    let call = manager.lock(&scene.key).lease(lease).watchdog(false);
    let error = call.run(body).await.unwrap_err();
    let (took, due) = (begun.lock().unwrap().elapsed(), lease / 2 + length);
    assert!(
        matches!(error, LockError::HoldCapReached { .. }),
        "{error:?}"
    );
    assert!(
        took >= due * 9 / 10 && took < due + timing::moment(),
        "{took:?}"
    );
    scene.end(0).await;
}

/// What can't be extended says so: lengths out of bounds, a lock that is lost, one that was given back.
pub(crate) async fn vain_extension<P: Place>(scene: Scene<P>) {
    let (fragile, link) = scene.place.fragile();
    let guard = fragile.lock(&scene.key).acquire().await.unwrap();
    for wrong in [Duration::ZERO, Duration::from_secs(90_000)] {
        let error = guard.extend(wrong).await.unwrap_err();
        assert!(
            matches!(error, LockError::InvalidLease { .. })
                && error.to_string().contains("extension"),
            "{error}"
        );
    }
    let hold = guard.hold();
    link.cut();
    let start = Instant::now();
    let error = timing::soon("it ends with the lease", hold.extend(timing::lease()))
        .await
        .unwrap_err();
    assert!(
        error.is_lost() && start.elapsed() < timing::lease() + timing::moment(),
        "{error:?}"
    );
    link.heal();
    drop(guard);
    let error = hold.extend(timing::lease()).await.unwrap_err();
    assert!(
        matches!(
            error,
            LockError::Lost {
                reason: LossReason::GivenBack,
                ..
            }
        ),
        "{error:?}"
    );
    scene.end(1).await;
}

/// A body gives its lock back early and runs on: others enter beside it, and its end gives nothing back.
pub(crate) async fn early_release<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let body = async {
        let hold = lockruntime::current().unwrap();
        assert!(hold.is_held());
        hold.release().await.unwrap();
        assert!(!hold.is_held() && hold.remaining().is_zero());
        hold.release().await.unwrap();
        assert_eq!(hold.lost().await, LossReason::GivenBack);
        let second = other.lock(&scene.key).try_acquire().await.unwrap();
        assert!(second.fencing_token() > hold.fencing_token());
        // no longer covered by this body's lock: a rival like any other
        let nested = manager.lock(&scene.key).wait(timing::tick() * 4);
        let refused = nested.run(async {}).await.unwrap_err();
        assert!(refused.is_busy(), "{refused}");
        second
    };
    let second = manager.lock(&scene.key).run(body).await.unwrap();
    assert!(second.is_held());
    let held = other.snapshot(&scene.key).await.unwrap().held.unwrap();
    assert_eq!(held.token, second.fencing_token());
    second.release().await.unwrap();
    scene.end(0).await;
}

/// A nested body's early release leaves the lock to the outer one.
pub(crate) async fn nested_release<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let body = async {
        let nested = async {
            let hold = lockruntime::current().unwrap();
            hold.release().await.unwrap();
            hold.is_held()
        };
        assert!(manager.lock(&scene.key).run(nested).await.unwrap());
        let busy = other.lock(&scene.key).try_acquire().await.unwrap_err();
        assert!(busy.is_busy(), "{busy}");
    };
    manager.lock(&scene.key).run(body).await.unwrap();
    scene.assert_free(&other).await;
    scene.end(0).await;
}

/// A queue that is as long as it may be isn't joined; dead waiters don't count.
pub(crate) async fn max_waiters<P: Place>(scene: Scene<P>) {
    let manager = scene.place.manager();
    let (fragile, link) = scene.place.fragile();
    let guard = manager
        .lock(&scene.key)
        .lease(timing::long_lease())
        .acquire()
        .await
        .unwrap();
    let request = || manager.lock(&scene.key).max_waiters(2);
    // the first waits alive in front of the two that die
    let first = tokio::spawn({
        let (manager, key) = (manager.clone(), scene.key.clone());
        async move { manager.lock(&key).acquire().await.unwrap() }
    });
    scene.until_waiting(&manager, 1).await;
    let second = tokio::spawn({
        let (fragile, key) = (fragile.clone(), scene.key.clone());
        async move {
            fragile
                .lock(&key)
                .lease(timing::long_lease())
                .acquire()
                .await
        }
    });
    scene.until_waiting(&manager, 2).await;
    let start = Instant::now();
    let error = request().acquire().await.unwrap_err();
    assert!(
        matches!(
            error,
            LockError::Busy {
                waiting: Some(2),
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.is_busy() && start.elapsed() < timing::moment());
    assert!(error.to_string().contains("2 callers wait"), "{error}");
    scene.until_waiting(&manager, 2).await;
    // nobody limits this one
    let unlimited = manager.lock(&scene.key).wait(timing::tick() * 4);
    let error = unlimited.acquire().await.unwrap_err();
    assert!(matches!(error, LockError::WaitTimedOut { .. }), "{error:?}");

    link.cut();
    let third = async {
        loop {
            match request().wait(timing::lease()).acquire().await {
                Err(LockError::Busy { .. }) => timing::pass(timing::tick()).await,
                outcome => return outcome,
            }
        }
    };
    let error = timing::soon("the dead one no longer counts", third)
        .await
        .unwrap_err();
    assert!(matches!(error, LockError::WaitTimedOut { .. }), "{error:?}");
    second.abort();
    link.heal();
    guard.release().await.unwrap();
    timing::soon("the first enters", first)
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    scene.end(0).await;
}

/// Nobody may wait: a queue caller is in at once or refused at once.
pub(crate) async fn no_waiters<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let guard = manager.lock(&scene.key).max_waiters(0).acquire();
    let guard = guard.await.unwrap();
    let error = other
        .lock(&scene.key)
        .max_waiters(0)
        .acquire()
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            LockError::Busy {
                waiting: Some(0),
                ..
            }
        ),
        "{error:?}"
    );
    guard.release().await.unwrap();
    scene.end(0).await;
}

/// A body that is to run on after a loss runs on, is told, and its value is the call's.
pub(crate) async fn on_lost_continue<P: Place>(scene: Scene<P>) {
    let (fragile, link) = scene.place.fragile();
    let other = scene.place.manager();
    let log = Arc::new(Log::default());
    let call = tokio::spawn({
        let (key, log) = (scene.key.clone(), Arc::clone(&log));
        async move {
            let body = async {
                log.note("begun");
                let hold = lockruntime::current().unwrap();
                let reason = hold.lost().await;
                log.note("told");
                timing::pass(timing::moment()).await;
                (reason, hold.is_held())
            };
            let call = fragile.lock(&key).on_lost(OnLost::Continue);
            let start = Instant::now();
            (call.run(body).await, start.elapsed())
        }
    });
    timing::until("the body begins", timing::patience(), || {
        !log.all().is_empty()
    })
    .await;
    link.cut();
    let second = timing::soon("the lease ends", other.lock(&scene.key).acquire())
        .await
        .unwrap();
    let (outcome, took) = timing::soon("the first call returns", call).await.unwrap();
    assert_eq!(outcome.unwrap(), (LossReason::LeaseOver, false));
    // nothing is waited for with the storage out of reach
    assert!(took < timing::lease() + timing::moment() * 3, "{took:?}");
    assert!(second.is_held());
    link.heal();
    second.release().await.unwrap();
    scene.end(1).await;
}

/// What runs on after a loss is ended by its cap all the same, and by a shutdown.
pub(crate) async fn runs_on_to_its_end<P: Place>(scene: Scene<P>) {
    let (lease, cap) = (timing::millis(300), timing::millis(800));
    for capped in [true, false] {
        let (fragile, link) = scene.place.fragile();
        let (begun, told) = (Notify::new(), Notify::new());
        let body = async {
            begun.notify_one();
            lockruntime::current().unwrap().lost().await;
            told.notify_one();
            pending::<()>().await;
        };
        let mut call = fragile.lock(&scene.key).lease(lease);
        if capped {
            call = call.max_hold(cap);
        }
        let loses = async {
            begun.notified().await;
            let since = Instant::now();
            link.cut();
            told.notified().await;
            link.heal();
            if !capped {
                fragile.shutdown(timing::moment()).await;
            }
            since
        };
        let start = Instant::now();
        let call = call.on_lost(OnLost::Continue).run(body);
        let both = async { tokio::join!(call, loses) };
        let (outcome, since) = timing::soon("it is ended", both).await;
        let error = outcome.unwrap_err();
        if capped {
            assert!(
                matches!(error, LockError::HoldCapReached { cap: told, .. } if told == cap),
                "{error:?}"
            );
            let (least, most) = (start.elapsed(), since.elapsed());
            assert!(
                least >= cap && most < cap + timing::moment(),
                "{least:?} {most:?}"
            );
        } else {
            let reason = LossReason::ShutDown;
            assert!(
                matches!(error, LockError::Lost { reason: told, .. } if told == reason),
                "{error:?}"
            );
        }
    }
    scene.end(2).await;
}

/// Whoever waits for a release that a drop has begun, with the storage out of reach, waits no longer than for one of its own.
pub(crate) async fn release_after_a_drop<P: Place>(scene: Scene<P>) {
    let (fragile, link) = scene.place.fragile();
    let request = fragile.lock(&scene.key).lease(timing::long_lease());
    let guard = request.acquire().await.unwrap();
    let hold = guard.hold();
    link.cut();
    drop(guard);
    let start = Instant::now();
    let told = timing::soon("it is told", hold.release()).await;
    let took = start.elapsed();
    assert!(
        matches!(told, Err(LockError::Backend { .. })),
        "{told:?} after {took:?}"
    );
    let limit = Duration::from_secs(1);
    assert!(
        took >= limit && took < limit + timing::moment(),
        "{took:?} with a release timeout of {limit:?}"
    );
    link.heal();
    let other = scene.place.manager();
    let next = timing::soon("it is given back", other.lock(&scene.key).acquire());
    next.await.unwrap().release().await.unwrap();
    scene.end(0).await;
}

/// A release that isn't waited for: the call returns at once with the storage out of reach, and the lock is given back later.
pub(crate) async fn release_in_background<P: Place>(scene: Scene<P>) {
    let (fragile, link) = scene.place.fragile();
    let other = scene.place.manager();
    let ran = AtomicBool::new(false);
    let body = async {
        link.cut();
        ran.store(true, Ordering::SeqCst);
        Instant::now()
    };
    let call = fragile
        .lock(&scene.key)
        .lease(timing::long_lease())
        .release_in_background();
    let ended = call.run(body).await.unwrap();
    assert!(ended.elapsed() < timing::moment(), "{:?}", ended.elapsed());
    assert!(ran.load(Ordering::SeqCst));
    let busy = other.lock(&scene.key).try_acquire().await.unwrap_err();
    assert!(busy.is_busy(), "{busy}");
    link.heal();
    let next = timing::soon("it is given back", other.lock(&scene.key).acquire());
    next.await.unwrap().release().await.unwrap();
    scene.end(0).await;
}
