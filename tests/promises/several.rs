//! Several keys: all or none, in an order that can't deadlock.

use tests::{RedisServer, tidy, timing};
use tokio::task::JoinSet;

use super::{long_lived, soon};

/// Callers name two accounts in opposite orders. Those who took the first each would wait for each other.
///
/// Taken out, in `manager/several.rs`: `orders.sort_by`, the one order in which keys are taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opposite_orders_end() {
    let server = RedisServer::start();
    let managers = [long_lived(&server), long_lived(&server)];
    let (a, b) = ("account:a", "account:b");
    let mut callers = JoinSet::new();
    for (caller, locks) in managers.iter().cycle().take(6).enumerate() {
        let locks = locks.clone();
        callers.spawn(async move {
            for _ in 0..20 {
                let keys = if caller % 2 == 0 { [a, b] } else { [b, a] };
                let both = locks.lock_all(keys).wait(timing::patience());
                let body = async {
                    let hold = lockruntime::current().unwrap();
                    assert!(hold.is_held());
                };
                both.run(body).await.unwrap();
            }
        });
    }
    timing::soon("all had their turns", callers.join_all()).await;
    // one of them is another's: neither is taken
    let [one, other] = &managers;
    let held = other.lock(b).acquire().await.unwrap();
    let refused = one.lock_all([a, b]).try_acquire().await.unwrap_err();
    assert!(refused.is_busy(), "{refused}");
    let free = other.lock(a).wait(soon());
    free.run(async {}).await.unwrap();
    held.release().await.unwrap();
    tidy::end(&server, "account:", timing::lease(), 0).await;
}
