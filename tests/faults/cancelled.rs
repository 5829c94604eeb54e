//! Callers that go away at any moment.

use rand::RngExt;
use tests::{RedisServer, tidy, timing};
use tokio::task::JoinSet;

/// 1,000 callers over ten keys, each dropped at a random moment of its life: asking, waiting, holding or giving back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_cancelled_callers_leave_nothing() {
    let server = RedisServer::start();
    let managers = [server.manager(), server.manager()];
    let mut callers = JoinSet::new();
    for caller in 0..1_000 {
        let manager = managers[caller % 2].clone();
        callers.spawn(async move {
            let key = format!("boleto:cancelled-{}", caller % 10);
            let (start, life) = {
                let mut random = rand::rng();
                (
                    random.random_range(0..500_000),
                    random.random_range(0..8_000),
                )
            };
            timing::pass(timing::micros(start)).await;
            let body = timing::pass(timing::micros(500));
            // long leases: what is left behind would stay
            let call = manager.lock(&key).lease(timing::long_lease()).run(body);
            matches!(
                tokio::time::timeout(timing::micros(life), call).await,
                Ok(Ok(()))
            )
        });
    }
    let done = timing::soon("all callers are gone", callers.join_all()).await;
    let through = done.iter().filter(|through| **through).count();
    assert!(
        (50..950).contains(&through),
        "{through} of 1000 got through: the moments were not random enough"
    );
    tidy::gone_within(&server, timing::millis(500)).await;
    tidy::end(&server, "boleto:cancelled-", timing::lease(), 0).await;
}
