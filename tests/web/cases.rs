//! The cases, the same for both frameworks.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lockruntime::LockManager;
use tests::server::{RedisServer, Settings, lock_url};
use tests::timing;

use crate::bank::Visits;
use crate::client::{Close, Outcome};
use crate::site::{Site, post};

/// Runs every case with a framework's `site()` and `serve(manager)`.
macro_rules! over {
    ($site:ident, $serve:ident) => {
        $crate::cases::over!(@cases $site:
            requests_of_one_key_take_turns,
            a_busy_key_is_answered_409,
            a_wait_over_its_limit_is_answered_503,
            an_empty_value_is_answered_422,
            shutdown_answers_waiters_and_lets_bodies_end,
        );
        $crate::cases::over!(@cases $serve:
            a_server_out_of_reach_is_answered_503,
            a_wrong_password_is_answered_500,
            a_missing_manager_is_answered_500,
        );
        $crate::cases::over!(@leaves $site:
            a_client_that_leaves_while_it_waits,
            a_client_that_leaves_while_it_holds,
            a_client_that_leaves_while_it_holds_lets_the_next_in,
        );
    };
    (@cases $start:ident: $($case:ident,)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                $crate::cases::$case($start).await;
            }
        )*
    };
    (@leaves $site:ident: $($case:ident,)*) => {
        mod with_fin {
            $(
                #[tokio::test]
                async fn $case() {
                    $crate::cases::$case(super::$site().await, $crate::client::Close::Fin).await;
                }
            )*
        }
        mod with_rst {
            $(
                #[tokio::test]
                async fn $case() {
                    $crate::cases::$case(super::$site().await, $crate::client::Close::Rst).await;
                }
            )*
        }
    };
}
pub(crate) use over;

pub(crate) async fn requests_of_one_key_take_turns(site: impl AsyncFnOnce() -> Site) {
    let mut site = site().await;
    let mut calls = vec![site.post("/boletos/1/pay").await];
    let mut visit = site.visits.next("boleto 1").await;
    for waiting in 1..=3 {
        calls.push(site.post("/boletos/1/pay").await);
        site.until_waiting("boleto:1", waiting).await;
    }
    // another boleto does not wait
    let other = site.post("/boletos/2/pay").await;
    site.visits.next("boleto 2").await.finish(20).await;
    assert!(other.expect(200).await.content.contains("20"));

    for (receipt, call) in (10..).zip(calls) {
        assert!(site.visits.is_empty(), "two bodies at once");
        visit.finish(receipt).await;
        assert_eq!(
            call.expect(200).await.content,
            format!(r#"{{"receipt":{receipt}}}"#)
        );
        if receipt < 13 {
            visit = site.visits.next("boleto 1").await;
        } else {
            break;
        }
    }
    assert!(!site.is_held("boleto:1"), "answered, so released");
}

pub(crate) async fn a_busy_key_is_answered_409(site: impl AsyncFnOnce() -> Site) {
    let mut site = site().await;
    let first = site.post("/days/2025-06-30/close").await;
    let visit = site.visits.next("close 2025-06-30").await;
    let refused = site
        .post("/days/2025-06-30/close")
        .await
        .expect_problem(409, "lock-busy")
        .await;
    let seconds: u64 = refused
        .header("retry-after")
        .expect("the lease is known")
        .parse()
        .expect("whole seconds");
    assert!((1..=30).contains(&seconds), "{seconds}");
    assert!(!refused.content.contains("2025"), "{refused:?}");
    visit.finish(1).await;
    first.expect(200).await;
    // and is free again
    let again = site.post("/days/2025-06-30/close").await;
    site.visits.next("close 2025-06-30").await.finish(2).await;
    again.expect(200).await;
}

pub(crate) async fn a_wait_over_its_limit_is_answered_503(site: impl AsyncFnOnce() -> Site) {
    let mut site = site().await;
    let first = site.refund("11-7").await;
    let visit = site.visits.next("refund of 500 to 11-7").await;
    let sent = Instant::now();
    site.refund("11-7")
        .await
        .expect_problem(503, "lock-wait-timed-out")
        .await;
    // the handler says one second
    let waited = sent.elapsed();
    assert!(
        waited >= Duration::from_secs(1) && waited < Duration::from_secs(1) + timing::moment() * 2,
        "{waited:?}"
    );
    timing::until("its ticket is gone", timing::moment(), || {
        site.waiting("account:11-7") == 0
    })
    .await;
    assert!(site.visits.is_empty());
    visit.finish(1).await;
    first.expect(200).await;
}

pub(crate) async fn an_empty_value_is_answered_422(site: impl AsyncFnOnce() -> Site) {
    let site = site().await;
    site.refund("")
        .await
        .expect_problem(422, "lock-invalid-key")
        .await;
    assert!(site.visits.is_empty());
}

pub(crate) async fn shutdown_answers_waiters_and_lets_bodies_end(site: impl AsyncFnOnce() -> Site) {
    let mut site = site().await;
    let holder = site.post("/boletos/1/pay").await;
    let visit = site.visits.next("boleto 1").await;
    let waiter = site.post("/boletos/1/pay").await;
    site.until_waiting("boleto:1", 1).await;

    let locks = site.locks.clone();
    let shutdown = tokio::spawn(async move { locks.shutdown(timing::patience()).await });
    waiter.expect_problem(503, "lock-shutting-down").await;
    site.post("/boletos/2/pay")
        .await
        .expect_problem(503, "lock-shutting-down")
        .await;
    assert!(!shutdown.is_finished(), "a body still runs");
    visit.finish(10).await;
    holder.expect(200).await;
    timing::soon("the shutdown", shutdown)
        .await
        .expect("it doesn't panic");
    assert!(!site.is_held("boleto:1"));
    assert_eq!(site.waiting("boleto:1"), 0);
}

type Served = (SocketAddr, Visits);

pub(crate) async fn a_server_out_of_reach_is_answered_503(
    serve: impl AsyncFnOnce(Option<LockManager>) -> Served,
) {
    let mut redis = RedisServer::start();
    let locks = LockManager::from_url(&redis.url()).expect("the kit's URL is valid");
    redis.kill();
    let (address, visits) = serve(Some(locks)).await;
    let answer = post(address, "/days/2025-06-30/close", "")
        .await
        .expect_problem(503, "lock-unavailable")
        .await;
    assert!(!answer.content.contains(&redis.address()), "{answer:?}");
    assert!(visits.is_empty());
}

pub(crate) async fn a_wrong_password_is_answered_500(
    serve: impl AsyncFnOnce(Option<LockManager>) -> Served,
) {
    let redis = RedisServer::with(Settings::default().password("secret"));
    let locks = LockManager::from_url(&lock_url(":wrong@", &redis.address())).expect("a valid URL");
    let (address, visits) = serve(Some(locks)).await;
    let answer = post(address, "/days/2025-06-30/close", "")
        .await
        .expect_problem(500, "lock-misconfigured")
        .await;
    assert!(!answer.content.contains(&redis.address()), "{answer:?}");
    assert!(visits.is_empty());
}

pub(crate) async fn a_missing_manager_is_answered_500(
    serve: impl AsyncFnOnce(Option<LockManager>) -> Served,
) {
    let (address, visits) = serve(None).await;
    post(address, "/days/2025-06-30/close", "")
        .await
        .expect_problem(500, "lock-misconfigured")
        .await;
    assert!(visits.is_empty());
}

pub(crate) async fn a_client_that_leaves_while_it_waits(mut site: Site, how: Close) {
    let holder = site.post("/boletos/1/pay").await;
    let visit = site.visits.next("boleto 1").await;
    let leaver = site.post("/boletos/1/pay").await;
    site.until_waiting("boleto:1", 1).await;
    let successor = site.post("/boletos/1/pay").await;
    site.until_waiting("boleto:1", 2).await;

    leaver.close(how);
    timing::until("its ticket is gone", timing::moment(), || {
        site.waiting("boleto:1") == 1
    })
    .await;

    let ended = visit.finish(10).await;
    let next = site.visits.next("boleto 1").await;
    let idle = next.began - ended;
    assert!(
        idle < timing::moment(),
        "the successor was delayed by {idle:?}"
    );
    next.finish(11).await;
    holder.expect(200).await;
    successor.expect(200).await;
    assert!(site.visits.is_empty(), "the body of the one that left ran");
}

pub(crate) async fn a_client_that_leaves_while_it_holds(mut site: Site, how: Close) {
    let holder = site.post("/boletos/1/pay").await;
    let visit = site.visits.next("boleto 1").await;
    assert!(site.is_held("boleto:1"));
    holder.close(how);
    let ended = visit.dropped().await;
    timing::until("the lock is free", timing::patience(), || {
        !site.is_held("boleto:1")
    })
    .await;
    let held = ended.elapsed();
    assert!(
        held < timing::moment(),
        "held for {held:?} after the handler's end"
    );
}

pub(crate) async fn a_client_that_leaves_while_it_holds_lets_the_next_in(
    mut site: Site,
    how: Close,
) {
    let holder = site.post("/boletos/1/pay").await;
    let visit = site.visits.next("boleto 1").await;
    let waiter = site.post("/boletos/1/pay").await;
    site.until_waiting("boleto:1", 1).await;
    holder.close(how);
    let ended = visit.dropped().await;
    let next = site.visits.next("boleto 1").await;
    let idle = next
        .began
        .checked_duration_since(ended)
        .expect("two bodies at once");
    assert!(
        idle < timing::moment(),
        "the next in line was delayed by {idle:?}"
    );
    next.finish(11).await;
    waiter.expect(200).await;
}
