//! The server's wall clock is set while locks are held and waited for.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use lockruntime::{FencingToken, LockError, LockManager};
use tests::server::{RedisServer, Settings};
use tests::{tidy, timing, wire};
use tokio::task::JoinSet;

const KEY: &str = "boleto:b73";

async fn until_waiting(locks: &LockManager, count: usize) {
    let start = Instant::now();
    while locks.snapshot(KEY).await.unwrap().waiting.len() != count {
        assert!(start.elapsed() < timing::patience());
        timing::pass(timing::tick()).await;
    }
}

/// Five callers that wait, and the tokens with which they entered, in that order.
fn five(locks: &LockManager) -> JoinSet<FencingToken> {
    let mut calls = JoinSet::new();
    for _ in 0..5 {
        let locks = locks.clone();
        calls.spawn(async move {
            let body = async {
                timing::pass(timing::millis(5)).await;
                lockruntime::current().unwrap().fencing_token()
            };
            locks.lock(KEY).run(body).await.unwrap()
        });
    }
    calls
}

/// A step forward ends leases early: the holder is stopped at its next renewal at the latest, and the waiters, whose tickets
/// died by the same step, queue anew and go on. After the step back everything works on, and tokens still grow.
#[tokio::test(flavor = "multi_thread")]
async fn b73_server_clock_jumps() {
    let server = RedisServer::with(Settings::default().own_clock());
    let (one, two) = (server.manager(), server.manager());
    let lease = timing::lease();
    let before = one.lock(KEY).acquire().await.unwrap();
    let first = before.fencing_token();
    before.release().await.unwrap();

    let holder = tokio::spawn({
        let one = one.clone();
        async move {
            let stuck = std::future::pending::<()>();
            (one.lock(KEY).run(stuck).await, Instant::now())
        }
    });
    timing::until("the holder is in", timing::patience(), || {
        server.raw().has(&wire::record(KEY))
    })
    .await;
    let waiters = five(&two);
    until_waiting(&two, 5).await;

    let step = Instant::now();
    server.set_clock_ahead(lease * 3);
    let (result, stopped) = timing::soon("the holder is stopped", holder).await.unwrap();
    assert!(matches!(result, Err(LockError::Lost { .. })), "{result:?}");
    let late = stopped.duration_since(step);
    assert!(
        late < lease / 3 + timing::moment(),
        "stopped after {late:?}"
    );
    let tokens = timing::soon("the waiters enter", waiters.join_all()).await;
    let limit = lease + timing::ticket_life() + timing::moment();
    assert!(step.elapsed() < limit, "{:?}", step.elapsed());
    assert!(tokens.iter().all(|token| *token > first));

    // back: what is held now was promised until later, and is given back as usual
    let held = one.lock(KEY).acquire().await.unwrap();
    let waiters = five(&two);
    until_waiting(&two, 5).await;
    let step = Instant::now();
    server.set_clock_ahead(Duration::ZERO);
    assert!(held.is_held());
    let newest = held.fencing_token();
    assert!(tokens.iter().all(|token| *token < newest));
    held.release().await.unwrap();
    let tokens = timing::soon("the waiters enter", waiters.join_all()).await;
    assert!(step.elapsed() < limit, "{:?}", step.elapsed());
    assert!(tokens.iter().all(|token| *token > newest));
    tidy::end(&server, KEY, lease * 3, 1).await;
}
