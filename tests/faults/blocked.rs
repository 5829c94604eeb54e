//! A caller's runtime whose threads all block.

use std::sync::Arc;

use tests::{RedisServer, tidy, timing};
use tokio::sync::Barrier;

/// Both threads of the caller's runtime are blocked for three leases, the body's among them: the keeper keeps the lock.
#[test]
fn a_blocked_runtime_keeps_its_lock() {
    let server = RedisServer::start();
    let (manager, other) = (server.manager(), server.manager());
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap()
    };
    let (callers, rivals) = (runtime(), runtime());
    let inside = Arc::new(Barrier::new(2));
    let task = callers.spawn({
        let inside = Arc::clone(&inside);
        async move {
            let body = async {
                let hold = lockruntime::current().unwrap();
                inside.wait().await;
                // the runtime's other thread
                let blocked = tokio::spawn(async { timing::block(timing::lease() * 3) });
                timing::block(timing::lease() * 3);
                assert!(hold.is_held());
                blocked.await.unwrap();
                assert!(hold.is_held());
                hold.fencing_token()
            };
            manager.lock("boleto:blocked").run(body).await
        }
    });
    let (token, rival) = rivals.block_on(async {
        timing::soon("the body begins", inside.wait()).await;
        let rival = rivals.spawn(async move {
            let guard = other.lock("boleto:blocked").acquire().await.unwrap();
            let token = guard.fencing_token();
            guard.release().await.unwrap();
            token
        });
        let token = timing::soon("the call returns", task)
            .await
            .unwrap()
            .unwrap();
        (
            token,
            timing::soon("the rival enters", rival).await.unwrap(),
        )
    });
    assert!(rival > token);
    rivals.block_on(tidy::end(&server, "boleto:blocked", timing::lease(), 0));
}
