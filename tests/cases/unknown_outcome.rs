//! Asked, and gone before the answer.

use rand::RngExt;
use tests::fault::{Flow, Proxy};
use tests::wire::Verb;
use tests::{RedisServer, tidy, timing, wire};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// The server granted the lock, the answer was lost, the caller was told no: the lock doesn't stay for its lease.
#[tokio::test]
async fn b20_acquired_reply_lost_caller_told_no() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let (manager, monitor, raw) = (
        server.manager_at(&proxy.address()),
        server.monitor(),
        server.raw(),
    );
    let record = wire::record("boleto:b20");
    // connected, and the scripts are known
    manager
        .lock("boleto:b20-before")
        .acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    let start = monitor.mark();
    proxy.flow(Flow::Pass, Flow::Swallow);
    let limit = timing::millis(1_000);
    let call = manager
        .lock("boleto:b20")
        .lease(timing::long_lease())
        .wait(limit);
    let error = timing::soon("the call returns", call.acquire())
        .await
        .unwrap_err();
    assert!(!error.is_lost(), "{error:?}");
    assert!(
        raw.has(&record),
        "the lock was never granted, so nothing was tested"
    );
    proxy.heal();
    timing::until("the lock is given back", timing::millis(1_000), || {
        !raw.has(&record)
    })
    .await;
    let renewals = monitor
        .since(start)
        .iter()
        .filter(|seen| Verb::of_seen(seen) == Some(Verb::Renew))
        .count();
    assert_eq!(renewals, 0);
    tidy::end(&server, "boleto:b20", timing::lease(), 0).await;
}

/// Both modes, with and without a holder: calls dropped 0 to 5 ms after they began leave neither lock nor ticket.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b22_cancelled_while_acquiring() {
    let server = RedisServer::start();
    // tickets that live for long: one that was forgotten would still be there
    let (heartbeat, grace) = (timing::millis(1_000), timing::millis(2_500));
    let manager = server
        .manager_builder()
        .heartbeat(heartbeat)
        .grace(grace)
        .build()
        .unwrap();
    for held in [false, true] {
        let holder = match held {
            true => Some(
                server
                    .manager()
                    .lock("boleto:b22")
                    .lease(timing::long_lease())
                    .acquire()
                    .await
                    .unwrap(),
            ),
            false => None,
        };
        for reject in [false, true] {
            for _ in 0..250 {
                let micros = rand::rng().random_range(0..5_000);
                let call = manager.lock("boleto:b22").lease(timing::long_lease());
                tokio::select! {
                    () = timing::pass(timing::micros(micros)) => {}
                    guard = async { if reject { call.try_acquire().await } else { call.acquire().await } } => match guard {
                        Ok(guard) => drop(guard),
                        Err(error) => assert!(reject && error.is_busy(), "{error}"),
                    },
                }
            }
        }
        let raw = server.raw();
        timing::until("no ticket is left", timing::millis(1_000), || {
            !raw.has(&wire::queue("boleto:b22"))
        })
        .await;
        if let Some(holder) = holder {
            assert!(holder.is_held());
            holder.release().await.unwrap();
        }
        tidy::gone_within(&server, timing::millis(1_000)).await;
        manager
            .lock("boleto:b22")
            .try_acquire()
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
    }
    tidy::end(&server, "boleto:b22", timing::lease(), 0).await;
}

/// A thousand calls dropped 0 to 60 ms after their body ended, over a network that takes 50 ms: the lock is gone 200 ms later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b23_cancelled_while_releasing() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let manager = server.manager_at(&proxy.address());
    // connected before it gets slow
    manager
        .lock("boleto:b23")
        .acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    proxy.delay(timing::millis(25));
    let mut tasks = JoinSet::new();
    for task in 0..100 {
        let (manager, raw, key) = (manager.clone(), server.raw(), format!("boleto:b23-{task}"));
        tasks.spawn(async move {
            let mut dropped = 0;
            for _ in 0..10 {
                let micros = rand::rng().random_range(0..60_000);
                let (end, ended) = oneshot::channel();
                let call = manager
                    .lock(&key)
                    .lease(timing::long_lease())
                    .run(async move { end.send(()).unwrap() });
                tokio::select! {
                    done = call => done.unwrap(),
                    () = async {
                        ended.await.unwrap();
                        timing::pass(timing::micros(micros)).await;
                    } => dropped += 1,
                }
                timing::pass(timing::millis(200)).await;
                assert!(!raw.has(&wire::record(&key)), "{key} is still held");
            }
            dropped
        });
    }
    let dropped: usize = timing::soon("all rounds are over", tasks.join_all())
        .await
        .iter()
        .sum();
    assert!(
        (300..1_000).contains(&dropped),
        "{dropped} of 1000 were dropped before the release was confirmed"
    );
    tidy::end(&server, "boleto:b23", timing::lease(), 0).await;
}
