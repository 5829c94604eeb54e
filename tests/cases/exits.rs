//! What a call returns, and that its body doesn't run without the lock.

use std::any::Any;
use std::future::pending;
use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lockruntime::{LockError, LockManager, distributed_lock};
use tests::fault::Proxy;
use tests::server::{Settings, lock_url, manager_builder};
use tests::{RedisServer, tidy, timing, wire};

use super::{count_in_turn, count_or_not, variant};

/// Waited too long, refused, no server, no right: four errors, and the body never ran.
#[tokio::test]
async fn b03_body_runs_without_the_lock() {
    let mut server =
        RedisServer::with(Settings::default().line("user poor on >word ~* &* +@connection"));
    let holder = server.manager();
    let caller = server.manager();
    let count = Arc::new(AtomicU64::new(0));
    let guard = holder
        .lock("boleto:b03")
        .lease(timing::long_lease())
        .acquire()
        .await
        .unwrap();
    let mut errors = Vec::new();
    errors.push(
        caller
            .scope(count_in_turn("b03", Arc::clone(&count)))
            .await
            .unwrap_err(),
    );
    errors.push(
        caller
            .scope(count_or_not("b03", Arc::clone(&count)))
            .await
            .unwrap_err(),
    );
    guard.release().await.unwrap();
    let poor = manager_builder(&lock_url("poor:word@", &server.address()))
        .build()
        .unwrap();
    errors.push(
        poor.scope(count_or_not("b03", Arc::clone(&count)))
            .await
            .unwrap_err(),
    );
    errors.push(
        poor.scope(count_in_turn("b03", Arc::clone(&count)))
            .await
            .unwrap_err(),
    );
    // one warning: the poor user's missing rights
    tidy::end(&server, "boleto:b03", timing::lease(), 1).await;
    server.kill();
    errors.push(
        timing::soon(
            "no server",
            caller.scope(count_or_not("b03", Arc::clone(&count))),
        )
        .await
        .unwrap_err(),
    );
    errors.push(
        timing::soon(
            "no server",
            caller.scope(count_in_turn("b03", Arc::clone(&count))),
        )
        .await
        .unwrap_err(),
    );
    let variants: Vec<_> = errors.iter().map(variant).collect();
    assert_eq!(
        variants,
        [
            "WaitTimedOut",
            "Busy",
            "Permission",
            "Permission",
            "Backend",
            "Backend"
        ],
        "{errors:#?}"
    );
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[derive(Debug, PartialEq)]
struct Declined(u64);

/// How the release fails.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Cut,
    Timeout,
    NotOwner,
}

/// How the body ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Error,
    Value,
    Panic,
}

/// Nine runs: however the release fails, the caller gets what the body said.
#[tokio::test]
async fn b88_release_error_hides_the_body_result() {
    for fault in [Fault::Cut, Fault::Timeout, Fault::NotOwner] {
        for end in [End::Error, End::Value, End::Panic] {
            release_fails(fault, end).await;
        }
    }
}

async fn release_fails(fault: Fault, end: End) {
    let server = RedisServer::start();
    let proxy = Arc::new(Proxy::before(&server.address()));
    let timeout = timing::millis(200);
    let manager = manager_builder(&server.url_at(&proxy.address()))
        .release_timeout(timeout)
        .build()
        .unwrap();
    let (other, raw) = (server.manager(), server.raw());
    let key = format!("boleto:b88-{fault:?}-{end:?}");
    let record = wire::record(&key);
    let call = tokio::spawn({
        let (proxy, key, record) = (Arc::clone(&proxy), key.clone(), record.clone());
        let raw = server.raw();
        async move {
            let body = async {
                match fault {
                    Fault::Cut => proxy.refuse(),
                    Fault::Timeout => proxy.black_hole(),
                    Fault::NotOwner => raw.run(&["DEL", &record]),
                }
                match end {
                    End::Error => Err(Declined(42)),
                    End::Value => Ok("receipt"),
                    End::Panic => panic_any(Declined(43)),
                }
            };
            manager
                .lock(&key)
                .lease(timing::long_lease())
                .run(body)
                .await
        }
    });
    let start = std::time::Instant::now();
    let ended = timing::soon("the call returns", call).await;
    assert!(
        start.elapsed() < timeout + timing::moment() * 2,
        "{fault:?}, {end:?}: {:?}",
        start.elapsed()
    );
    match end {
        End::Error => assert_eq!(ended.unwrap().unwrap(), Err(Declined(42)), "{fault:?}"),
        End::Value => assert_eq!(ended.unwrap().unwrap(), Ok("receipt"), "{fault:?}"),
        End::Panic => assert_eq!(payload(ended.unwrap_err()), Declined(43), "{fault:?}"),
    }
    if matches!(fault, Fault::NotOwner) {
        assert!(!raw.has(&record));
        other
            .lock(&key)
            .try_acquire()
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
    }
    timing::until("the failure is told", timing::patience(), || {
        !tests::logs::notices_about(&key).is_empty()
    })
    .await;
    proxy.heal();
    tidy::end(&server, &key, timing::lease(), 0).await;
    let notices = tests::logs::notices_about(&key);
    assert_eq!(notices.len(), 1, "{fault:?}, {end:?}: {notices:?}");
}

fn payload(error: tokio::task::JoinError) -> Declined {
    let payload: Box<dyn Any + Send> = error.into_panic();
    *payload
        .downcast::<Declined>()
        .expect("the panic's own payload")
}

#[derive(Debug)]
enum PayError {
    Lock(#[expect(dead_code, reason = "shown by Debug when a test fails")] LockError),
    Declined(Declined),
}

impl From<LockError> for PayError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

#[derive(Clone, Copy, Debug)]
enum Inside {
    Declines,
    Panics,
    CancelsItself,
}

#[distributed_lock(key = "boleto:<id>", mode = "queue")]
async fn inner(id: &str, inside: Inside) -> Result<(), PayError> {
    match inside {
        Inside::Declines => Err(PayError::Declined(Declined(1))),
        Inside::Panics => panic_any(Declined(2)),
        Inside::CancelsItself => {
            // a part of the body is given up, the body goes on
            let given_up = tokio::time::timeout(timing::micros(100), pending::<()>()).await;
            assert!(given_up.is_err());
            Ok(())
        }
    }
}

#[distributed_lock(key = "account:<id>", mode = "queue")]
async fn outer(id: &str, inside: Inside) -> Result<(), PayError> {
    inner(id, inside).await
}

/// Errors and panics come out as they were, through one lock and through two, and each lock is given back.
#[tokio::test]
async fn b89_error_or_panic_swallowed_or_changed() {
    let server = RedisServer::start();
    for nested in [false, true] {
        for inside in [Inside::Declines, Inside::Panics, Inside::CancelsItself] {
            let id = format!("b89-{inside:?}-{nested}");
            let manager = server
                .manager_builder()
                .lease(timing::long_lease())
                .build()
                .unwrap();
            let call = tokio::spawn(call(manager, id, inside, nested));
            let ended = timing::soon("the call returns", call).await;
            match inside {
                Inside::Declines => {
                    let PayError::Declined(declined) = ended.unwrap().unwrap_err() else {
                        panic!("another error")
                    };
                    assert_eq!(declined, Declined(1));
                }
                Inside::Panics => assert_eq!(payload(ended.unwrap_err()), Declined(2)),
                Inside::CancelsItself => ended.unwrap().unwrap(),
            }
            tidy::gone_within(&server, timing::moment()).await;
        }
    }
    tidy::end(&server, "b89", timing::lease(), 0).await;
}

async fn call(
    manager: LockManager,
    id: String,
    inside: Inside,
    nested: bool,
) -> Result<(), PayError> {
    manager
        .scope(async {
            if nested {
                outer(&id, inside).await
            } else {
                inner(&id, inside).await
            }
        })
        .await
}
