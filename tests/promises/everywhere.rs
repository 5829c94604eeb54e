//! The same on every backend. The theme `conformance` runs its whole suite over each.

use lockruntime::backend::memory::MemoryBackend;
use lockruntime::{LockError, LockManager};
use tests::{RedisServer, logs, tidy, timing};

use super::until_waiting;

fn outcome<T>(result: Result<T, LockError>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => {
            let text = format!("{error:?}");
            text.split([' ', '{', '('])
                .next()
                .unwrap_or_default()
                .to_owned()
        }
    }
}

/// What two managers of one backend get, call by call.
async fn story(one: &LockManager, two: &LockManager) -> Vec<String> {
    let key = "boleto:story";
    let mut told = Vec::new();
    let guard = one.lock(key).acquire().await.unwrap();
    told.push(outcome(two.lock(key).try_acquire().await));
    told.push(outcome(
        two.lock(key).wait(timing::millis(20)).acquire().await,
    ));
    let waiter = {
        let two = two.clone();
        tokio::spawn(async move { two.lock(key).acquire().await })
    };
    until_waiting(one, key, 1).await;
    told.push(outcome(one.lock(key).try_acquire().await));
    let first = guard.fencing_token();
    told.push(outcome(guard.release().await));
    let guard = timing::soon("its turn comes", waiter)
        .await
        .unwrap()
        .unwrap();
    told.push(format!("{:?}", guard.fencing_token().cmp(&first)));
    told.push(format!(
        "{:?}",
        one.snapshot(key).await.unwrap().held.map(|held| held.token) == Some(guard.fencing_token())
    ));
    drop(guard);
    let guard = timing::soon("it was given back", async {
        loop {
            if let Ok(guard) = one.lock(key).try_acquire().await {
                return guard;
            }
        }
    })
    .await;
    two.shutdown(timing::moment()).await;
    told.push(outcome(two.lock(key).acquire().await));
    told.push(outcome(guard.release().await));
    told
}

/// Memory and Redis tell one story.
///
/// Taken out, in `backend/memory.rs`: `ask.mode == Mode::Reject`, that a refused caller leaves nothing behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_and_redis_tell_one_story() {
    logs::listen();
    let memory = MemoryBackend::new();
    let in_memory = [(); 2].map(|()| {
        LockManager::builder()
            .backend(memory.clone())
            .lease(timing::long_lease())
            .heartbeat(timing::heartbeat())
            .grace(timing::grace())
            .build()
            .unwrap()
    });
    let server = RedisServer::start();
    let on_redis = [(); 2].map(|()| {
        let builder = server.manager_builder().lease(timing::long_lease());
        builder.build().unwrap()
    });
    let one = story(&in_memory[0], &in_memory[1]);
    let one = timing::soon("the story ends", one).await;
    let other = story(&on_redis[0], &on_redis[1]);
    let other = timing::soon("the story ends", other).await;
    assert_eq!(one, other);
    assert_eq!(
        one,
        [
            "Busy",
            "WaitTimedOut",
            "Busy",
            "ok",
            "Greater",
            "true",
            "ShuttingDown",
            "ok"
        ]
    );
    tidy::end(&server, "boleto:story", timing::lease(), 0).await;
}
