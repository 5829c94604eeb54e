//! The names on the server, and users who may touch only theirs.

use std::collections::BTreeSet;

use lockruntime::LockManager;
use tests::server::{Settings, documented_rights};
use tests::{RedisServer, logs, tidy, timing};
use tokio::task::JoinSet;

const ENVIRONMENT: &str = "x";

fn rule(user: &str, app: &str) -> String {
    let rights = documented_rights(app, ENVIRONMENT).join(" ");
    format!("user {user} on >word {rights}")
}

fn manager(server: &RedisServer, user: &str, app: &str) -> LockManager {
    logs::listen();
    let url = format!(
        "redis://{user}:word@{}?app={app}&env={ENVIRONMENT}",
        server.address()
    );
    LockManager::builder()
        .url(&url)
        .lease(timing::lease())
        .heartbeat(timing::heartbeat())
        .grace(timing::grace())
        .build()
        .unwrap()
}

/// Several callers of one key, all of whom have their turn.
async fn contend(managers: &[LockManager], key: &'static str) {
    let mut callers = JoinSet::new();
    for locks in managers.iter().cycle().take(8) {
        let locks = locks.clone();
        callers.spawn(async move {
            for _ in 0..5 {
                let body = timing::pass(timing::micros(500));
                locks.lock(key).run(body).await.unwrap();
            }
        });
    }
    timing::soon("all had their turns", callers.join_all()).await;
}

/// Two applications, one name the beginning of the other, the same locks, and users that may touch one of them only.
#[tokio::test(flavor = "multi_thread")]
async fn b32_prefix_applied_twice_or_not_everywhere() {
    let settings = Settings::default()
        .line(&rule("short", "a"))
        .line(&rule("long", "ab"));
    let server = RedisServer::with(settings);
    let (raw, monitor) = (server.raw(), server.monitor());
    let mark = monitor.mark();
    let short = [(); 2].map(|()| manager(&server, "short", "a"));
    let long = [(); 2].map(|()| manager(&server, "long", "ab"));
    let key = "boleto:b32";
    tokio::join!(contend(&short, key), contend(&long, key));
    // neither keeps the other out
    let one = short[0].lock(key).try_acquire().await.unwrap();
    let other = long[0].lock(key).try_acquire().await.unwrap();
    other.release().await.unwrap();
    one.release().await.unwrap();
    let mut names = BTreeSet::new();
    for command in monitor.since(mark) {
        for word in &command.words {
            if word.starts_with("lib_") {
                names.insert(word.clone());
            }
        }
    }
    let mut kinds = BTreeSet::new();
    for name in &names {
        let app = ["a", "ab"].into_iter().find(|app| {
            let record = format!("lib_lock:{app}:{ENVIRONMENT}:");
            let side = format!("lib_mutex_queue:{{{record}");
            let wake = format!("lib_lock_wake:{app}:{ENVIRONMENT}:");
            [(record, 'r'), (side, 's'), (wake, 'w')]
                .into_iter()
                .any(|(prefix, kind)| {
                    let fits = name.starts_with(&prefix)
                        && !name[prefix.len()..].contains("lib_")
                        && !name[prefix.len()..].contains(ENVIRONMENT);
                    if fits {
                        kinds.insert((*app, kind));
                    }
                    fits
                })
        });
        assert!(app.is_some(), "{name} isn't named once by its application");
    }
    assert_eq!(kinds.len(), 6, "{kinds:?} of {names:?}");
    for key in raw.keys("*") {
        assert!(key.starts_with("lib_"), "{key}");
    }
    assert_eq!(
        raw.run::<Vec<Vec<String>>>(&["ACL", "LOG"])
            .iter()
            .flatten()
            .filter(|word| word.contains("lib_"))
            .count(),
        0
    );
    tidy::end(&server, key, timing::lease(), 0).await;
}

/// With the documented rights everything goes; with the rights to another application's names nothing begins. The theme
/// `connections` takes one right after the other, and `conformance` runs its whole suite as such a user.
#[tokio::test(flavor = "multi_thread")]
async fn b69_restricted_acl_user() {
    let server = RedisServer::with(Settings::default().line(&rule("locks", "a")));
    let own = [(); 2].map(|()| manager(&server, "locks", "a"));
    contend(&own, "boleto:b69").await;
    let other = manager(&server, "locks", "b");
    let error = other.lock("boleto:b69").try_acquire().await.unwrap_err();
    assert!(
        matches!(error, lockruntime::LockError::Permission { .. }),
        "{error:?}"
    );
    assert!(
        error.to_string().contains("~lib_lock:b:x:*"),
        "the pattern isn't named: {error}"
    );
    // one warning: the missing right
    tidy::end(&server, "boleto:b69", timing::lease(), 1).await;
}
