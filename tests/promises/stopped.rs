//! A body that loses its lock is stopped before anybody else may enter.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use lockruntime::LockError;
use lockruntime::LossReason;
use tests::fault::Proxy;
use tests::{RedisServer, tidy, timing};
use tokio::sync::oneshot;

/// The holder's network goes silent; its body's last sign of life is earlier than the next one's first.
///
/// Taken out, in `manager/run.rs`: `poll_stop`, the look at the deadline before each poll of the body.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_before_replaced() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let (cut_off, other) = (server.manager_at(&proxy.address()), server.manager());
    let last_sign = Arc::new(Mutex::new(Instant::now()));
    let (begun, begins) = oneshot::channel();
    let first = {
        let last_sign = Arc::clone(&last_sign);
        tokio::spawn(async move {
            let body = async {
                begun.send(()).unwrap();
                loop {
                    *last_sign.lock().unwrap() = Instant::now();
                    timing::pass(timing::millis(1)).await;
                }
            };
            cut_off
                .lock("boleto:stopped")
                .run::<_>(body)
                .await
                .map(|never: std::convert::Infallible| never)
        })
    };
    timing::soon("the first enters", begins).await.unwrap();
    proxy.black_hole();
    let next = timing::soon(
        "the next one enters",
        other.lock("boleto:stopped").acquire(),
    )
    .await
    .unwrap();
    let entered = Instant::now();
    // a body that was not stopped goes on giving signs
    timing::pass(timing::moment()).await;
    let last = *last_sign.lock().unwrap();
    assert!(last < entered, "it ran on for {:?}", last - entered);
    let result = timing::soon("the first call ends", first).await.unwrap();
    assert!(
        matches!(
            result,
            Err(LockError::Lost {
                reason: LossReason::LeaseOver,
                ..
            })
        ),
        "{result:?}"
    );
    next.release().await.unwrap();
    proxy.heal();
    // one warning: the lost lock
    tidy::end(&server, "boleto:stopped", timing::lease(), 1).await;
}
