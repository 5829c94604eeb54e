//! A crowd of waiters dies: more tickets than one call drops.

use std::time::Instant;

use tests::server::RedisServer;
use tests::{timing, wire};

/// Each ask drops some of the dead. The living one behind them must not pause for a heartbeat between two asks while nobody
/// holds the lock.
#[tokio::test(flavor = "multi_thread")]
async fn a_living_waiter_behind_a_dead_crowd_enters_at_once() {
    let redis = RedisServer::start();
    let (raw, queue) = (redis.raw(), wire::queue("k"));
    let locks = redis.manager();
    let holder = locks.lock("k").acquire().await.expect("the lock is free");
    // a ticket without a deadline is dead
    for ten in 0..100 {
        let names: Vec<_> = (0..10)
            .map(|n| format!("host:0:1:{ten:030x}{n:02x}"))
            .collect();
        let mut command = vec!["ZADD", &queue];
        names
            .iter()
            .for_each(|name| command.extend(["1", name.as_str()]));
        raw.run::<u64>(&command);
    }
    raw.run::<u64>(&["PEXPIRE", &queue, "60000"]);
    let call = tokio::spawn(async move { locks.lock("k").acquire().await });
    // its first ask dropped as many as one ask may
    timing::until("it waits", timing::patience(), || {
        raw.run::<u64>(&["ZCARD", &queue]) < 1_000
    })
    .await;
    assert!(
        raw.run::<u64>(&["ZCARD", &queue]) > 900,
        "the crowd is still there"
    );

    holder.release().await.expect("the lock is held");
    let freed = Instant::now();
    let entered = timing::soon("it enters", call).await.expect("no panic");
    let idle = freed.elapsed();
    // one heartbeat until it looks, then ask upon ask
    assert!(
        idle < timing::heartbeat() + timing::moment() * 3,
        "nobody held the lock for {idle:?}"
    );
    drop(entered);
}
