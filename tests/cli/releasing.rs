//! `release`: only the owner's, and the next in line enters.

use lockruntime::LockError;
use lockruntime::cli::{DONE, MISUSED, NOT_SO};
use tests::lockctl::lockctl;
use tests::masters::Masters;
use tests::{RedisServer, timing};

use super::waiter;

#[tokio::test]
async fn a_wrong_owner_changes_nothing() {
    let server = RedisServer::start();
    let locks = server.manager();
    let guard = locks.lock("boleto:42").acquire().await.unwrap();
    let stranger = "0".repeat(32);
    let said = lockctl(
        &server.url(),
        &["release", "boleto:42", "--owner", &stranger],
    );
    assert_eq!(said.code, NOT_SO);
    assert!(said.complaints.contains("changed meanwhile"), "{said:?}");
    assert!(guard.is_held());
    guard.release().await.unwrap();
    let said = lockctl(&server.url(), &["release", "boleto:42", "--owner", "me"]);
    assert_eq!(said.code, MISUSED);
    assert!(
        said.complaints.contains("32 hexadecimal digits"),
        "{said:?}"
    );
}

#[tokio::test]
async fn the_holder_is_lost_and_the_next_enters() {
    let server = RedisServer::start();
    let masters = Masters::start(3);
    for (url, locks) in [
        (server.url(), server.manager()),
        (masters.url(), masters.manager()),
    ] {
        let guard = locks.lock("boleto:42").acquire().await.unwrap();
        let next = waiter(&locks, "boleto:42").await;
        let owner = guard.owner_token().to_string();
        let said = lockctl(&url, &["release", "boleto:42", "--owner", &owner]);
        assert_eq!(said.code, DONE, "{said:?}");
        let next = timing::soon("the next enters", next).await.unwrap();
        assert!(next.fencing_token() > guard.fencing_token());
        timing::soon("the holder hears of it", guard.lost()).await;
        assert!(matches!(guard.release().await, Err(LockError::Lost { .. })));
        next.release().await.unwrap();
    }
}

/// Of several who share a lock the one who is named loses it; what stands for all of them on the server can't be named.
#[tokio::test]
async fn one_of_several_holders_is_taken_out() {
    let server = RedisServer::start();
    let (locks, url) = (server.manager(), server.url());
    let read = || locks.lock("report:7").read().acquire();
    let (first, second) = (read().await.unwrap(), read().await.unwrap());
    let shown = lockctl(&url, &["show", "report:7"]);
    for guard in [&first, &second] {
        let owner = guard.owner_token().to_string();
        assert!(shown.out.contains(&owner), "{shown:?}");
    }
    // the list shows them as one, who can't be released and has no pulse
    let listed = lockctl(&url, &["ls"]);
    assert!(
        listed.out.contains("several, by access = \"read\""),
        "{listed:?}"
    );
    assert!(!listed.out.contains(&"0".repeat(32)), "{listed:?}");
    let listed = lockctl(&url, &["ls", "--json"]).json();
    let held = &listed["locks"][0]["held"];
    assert_eq!(held["sharing"], "access = \"read\"");
    assert!(
        held["owner"].is_null() && held["renewed"].is_null(),
        "{held}"
    );
    let release = |owner: &str| lockctl(&url, &["release", "report:7", "--owner", owner]);
    assert_eq!(release(&"0".repeat(32)).code, NOT_SO);
    let said = release(&second.owner_token().to_string());
    assert_eq!(said.code, DONE, "{said:?}");
    timing::soon("the holder hears of it", second.lost()).await;
    assert!(first.is_held());
    first.release().await.unwrap();
}
