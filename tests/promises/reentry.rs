//! A nested call of the same key goes on under the lock that its chain has.

use tests::{RedisServer, tidy, timing};

use super::{long_lived, soon};

/// Nested, beside each other, and in a task of its own, which is a rival.
///
/// Taken out, in `manager/run.rs`: `manager.held` in `run_wanted`, the look whether this call chain has the lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_calls_go_on() {
    let server = RedisServer::start();
    let locks = long_lived(&server);
    let key = "boleto:nested";
    let token = || lockruntime::current().map(|hold| hold.fencing_token());
    let nested = || {
        let lock = locks.lock(key).wait(soon());
        lock.run(async { token() })
    };
    let body = async {
        let outer = token();
        assert!(outer.is_some());
        assert_eq!(nested().await.unwrap(), outer);
        let (one, two) = tokio::join!(nested(), nested());
        assert_eq!((one.unwrap(), two.unwrap()), (outer, outer));
        let rival = locks.clone();
        let rival = tokio::spawn(async move {
            let lock = rival.lock(key).wait(timing::tick());
            lock.run(async {}).await
        });
        assert!(rival.await.unwrap().unwrap_err().is_busy());
        outer
    };
    let outer = locks.lock(key).run(body).await.unwrap();
    assert!(nested().await.unwrap() > outer, "it was given back");
    tidy::end(&server, key, timing::lease(), 0).await;
}
