//! Fencing tokens grow with every grant of a key.

use tests::{RedisServer, tidy, timing};

use super::{long_lived, until_waiting};

/// By asking and by hand-over, by two managers, and though the server lost its data in between.
///
/// Taken out, in `prelude.lua`: `micros` in `next_number`, the server's clock as floor; counting alone instead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_grow() {
    let server = RedisServer::start();
    let (one, two) = (long_lived(&server), long_lived(&server));
    let key = "boleto:tokens";
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let guard = one.lock(key).acquire().await.unwrap();
        tokens.push(guard.fencing_token());
        let next = {
            let two = two.clone();
            tokio::spawn(async move { two.lock(key).acquire().await.unwrap() })
        };
        until_waiting(&one, key, 1).await;
        guard.release().await.unwrap();
        let guard = timing::soon("its turn comes", next).await.unwrap();
        tokens.push(guard.fencing_token());
        guard.release().await.unwrap();
        server.raw().run::<()>(&["FLUSHALL"]);
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    tidy::end(&server, key, timing::lease(), 0).await;
}
