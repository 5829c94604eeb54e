//! No lock is taken that could not be given back.

use std::sync::atomic::{AtomicU64, Ordering};

use lockruntime::LockError;
use tests::server::{Settings, documented_rights, lock_url, manager_builder};
use tests::wire::{APP, ENVIRONMENT};
use tests::{RedisServer, tidy, timing};

/// A user who may do all that taking needs, and nothing that only giving back needs.
///
/// Taken out, in `backend/redis/connect/standalone.rs`: `found.missing`, the answer of the look at the rights.
#[tokio::test]
async fn no_lock_without_all_rights() {
    let rights = documented_rights(APP, ENVIRONMENT).join(" ");
    let user = format!("user locks on >word {rights} -del");
    let server = RedisServer::with(Settings::default().line(&user));
    let locks = manager_builder(&lock_url("locks:word@", &server.address()))
        .build()
        .unwrap();
    let ran = AtomicU64::new(0);
    let call = locks
        .lock("boleto:rights")
        .run(async { ran.fetch_add(1, Ordering::SeqCst) });
    let refused = timing::soon("the call returns", call).await;
    assert_eq!(ran.load(Ordering::SeqCst), 0, "a body ran");
    let error = refused.unwrap_err();
    assert!(matches!(error, LockError::Permission { .. }), "{error:?}");
    assert!(error.to_string().contains("+del"), "{error}");
    // one warning: the missing right
    tidy::end(&server, "boleto:rights", timing::lease(), 1).await;
}
