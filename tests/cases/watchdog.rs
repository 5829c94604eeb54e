//! The watchdog ends with the hold.

use rand::RngExt;
use tests::wire::Verb;
use tests::{RedisServer, tidy, timing, wire};
use tokio::task::JoinSet;

const ROUNDS: usize = 10_000;
const TASKS: usize = 40;

/// Ten thousand holds of 0 to 5 ms, a third of them cancelled at a random moment: no key outlives its release, and once all are
/// over, the watchdog sends nothing more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b01_watchdog_outlives_release() {
    let server = RedisServer::start();
    let monitor = server.monitor();
    let start = monitor.mark();
    let lease = timing::lease();
    let managers = [0, 1].map(|_| server.manager_builder().lease(lease).build().unwrap());
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (manager, raw) = (managers[task % 2].clone(), server.raw());
        // half of the tasks share keys over both managers, so that locks are handed over and renewed at once
        let key = if task < TASKS / 2 {
            format!("boleto:b01-{}", task % 5)
        } else {
            format!("boleto:b01-own-{task}")
        };
        tasks.spawn(async move {
            for _ in 0..ROUNDS / TASKS {
                let (body, cancelled, moment) = {
                    let mut random = rand::rng();
                    (
                        random.random_range(0..5_000),
                        random.random_ratio(1, 3),
                        random.random_range(0..6_000),
                    )
                };
                let call = manager.lock(&key).run(timing::pass(timing::micros(body)));
                if cancelled {
                    drop(tokio::time::timeout(timing::micros(moment), call).await);
                } else {
                    call.await.unwrap();
                    if key.contains("own") {
                        // its release was confirmed before the call returned
                        assert!(!raw.has(&wire::record(&key)));
                    }
                }
            }
        });
    }
    timing::soon("all rounds are over", tasks.join_all()).await;
    tidy::gone_within(&server, timing::moment()).await;
    let over = monitor.mark();
    let releases = monitor
        .between(start, over)
        .iter()
        .filter(|seen| Verb::of_seen(seen) == Some(Verb::Release))
        .count();
    assert!(releases > ROUNDS / 3, "{releases} releases");
    timing::pass(lease * 3).await;
    let late: Vec<_> = monitor
        .since(over)
        .into_iter()
        .filter(|seen| Verb::of_seen(seen).is_some())
        .collect();
    assert!(late.is_empty(), "{late:?}");
    tidy::end(&server, "boleto:b01", lease, 0).await;
}
