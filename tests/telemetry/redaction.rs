//! What of a key may be seen.

use lockruntime::{LockManager, Redact, distributed_lock};
use tests::{RedisServer, logs, timing, wire};

#[distributed_lock(key = "tax:<number>", mode = "reject")]
async fn file(number: &str) -> Result<(), lockruntime::LockError> {
    timing::pass(timing::millis(1)).await;
    Ok(())
}

#[tokio::test]
async fn errors_and_logs_show_what_is_allowed() {
    let server = RedisServer::start();
    let secret = "390533447";
    for (redact, shown) in [
        (Redact::VALUES, "\"tax:<number>\""),
        (Redact::HASH, "\"tax:<number>#"),
        (Redact::NOTHING, "\"tax:390533447\""),
    ] {
        let locks = server.manager_builder().redact(redact).build().unwrap();
        let key = format!("tax:{secret}");
        let guard = locks
            .lock(&key)
            .template("tax:<number>")
            .acquire()
            .await
            .unwrap();
        let error = locks.scope(file(secret)).await.unwrap_err();
        let (text, debug) = (error.to_string(), format!("{error:?}"));
        assert!(text.contains(shown), "{text}");
        let hidden = redact != Redact::NOTHING;
        assert_eq!(text.contains(secret), !hidden, "{text}");
        assert_eq!(debug.contains(secret), !hidden, "{debug}");
        assert_eq!(error.key(), key, "the application itself may know");
        server
            .raw()
            .run::<()>(&["SET", &wire::record(&key), "foreign"]);
        timing::soon("the loss is noticed", guard.lost()).await;
        drop(guard);
        // what the server says of a foreign value names the key as well
        let error = locks.scope(file(secret)).await.unwrap_err();
        let chain = format!("{error:?} {error}");
        assert_eq!(chain.contains(secret), !hidden, "{chain}");
        server.raw().run::<()>(&["DEL", &wire::record(&key)]);
        let seen = logs::warnings_about(&[secret]).len();
        assert_eq!(seen, usize::from(!hidden), "{redact:?}");
    }
    let lost = logs::warnings_about(&["tax:<number>"]);
    assert_eq!(lost.len(), 2, "{lost:?}");
    let locks = LockManager::builder()
        .url("memory://")
        .redact(Redact::VALUES)
        .build()
        .unwrap();
    let empty = locks.lock("").acquire().await.unwrap_err();
    assert!(empty.to_string().contains("(none)"), "{empty}");
}
