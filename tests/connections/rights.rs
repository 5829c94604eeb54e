//! A user with exactly the rights that the documentation lists, and with one less.

use lockruntime::{Finding, LockError, LockManager};
use tests::server::{Settings, documented_rights, lock_url, manager_builder};
use tests::wire::{APP, ENVIRONMENT};
use tests::{RedisServer, logs, tidy, timing};

use super::{contend, hand_over, prompt};

fn rights() -> Vec<String> {
    documented_rights(APP, ENVIRONMENT)
}

fn server(rights: &[String]) -> RedisServer {
    let rights = rights.join(" ");
    RedisServer::with(Settings::default().line(&format!("user locks on >password {rights}")))
}

fn url(server: &RedisServer) -> String {
    lock_url("locks:password@", &server.address())
}

fn manager(server: &RedisServer) -> LockManager {
    manager_builder(&url(server)).build().unwrap()
}

/// Queue, renewal, release, refusal and a look, all with the documented line and nothing more; both protocols.
#[tokio::test(flavor = "multi_thread")]
async fn the_documented_line_is_enough() {
    let server = server(&rights());
    let resp2 = manager_builder(&format!("{}&protocol=2", url(&server)))
        .build()
        .unwrap();
    let locks = manager(&server);
    contend([&locks, &resp2], "boleto:least").await;
    let guard = locks.lock("boleto:least").acquire().await.unwrap();
    let busy = resp2.lock("boleto:least").try_acquire().await.unwrap_err();
    assert!(busy.is_busy(), "{busy}");
    assert!(locks.snapshot("boleto:least").await.unwrap().held.is_some());
    guard.release().await.unwrap();
    let health = locks.health().await.unwrap();
    assert!(
        matches!(&health.findings[..], [Finding::Unchecked { right, .. }] if right == "+info"),
        "{health:?}"
    );
    assert!(health.is_sound());
    let refused: u64 = server
        .raw()
        .run::<String>(&["INFO", "stats"])
        .lines()
        .filter_map(|line| line.strip_prefix("acl_access_denied_")?.split(':').nth(1))
        .map(|count| count.trim().parse::<u64>().unwrap())
        .sum();
    // one look at INFO for each connection, and for each that was asked for
    assert!(refused <= 6, "{refused} refusals");
    tidy::end(&server, "boleto:least", timing::lease(), 0).await;
}

/// One right less: both modes fail with an error that names it, no body runs, the health says so; with the right it works.
#[tokio::test(flavor = "multi_thread")]
async fn each_missing_right_is_named_before_a_body_runs() {
    let all = rights();
    let optional = ["+publish", "+subscribe"];
    let mut seen = 0;
    let server = server(&all);
    let raw = server.raw();
    for right in all
        .iter()
        .filter(|right| right.starts_with('+') && !optional.contains(&right.as_str()))
    {
        let taken = format!("-{}", right.trim_start_matches('+'));
        raw.run::<()>(&["ACL", "SETUSER", "locks", &taken]);
        missing(&server, right).await;
        raw.run::<()>(&["ACL", "SETUSER", "locks", right]);
        seen += 1;
    }
    assert!(seen > 15, "{seen}");
    for pattern in all.iter().filter(|right| right.starts_with('~')) {
        let other = all
            .iter()
            .find(|right| right.starts_with('~') && right != &pattern)
            .unwrap();
        raw.run::<()>(&["ACL", "SETUSER", "locks", "resetkeys", other]);
        missing(&server, pattern).await;
        raw.run::<()>(&["ACL", "SETUSER", "locks", pattern]);
    }
    let locks = manager(&server);
    contend([&locks, &locks], "boleto:again").await;
    tidy::gone_within(&server, timing::lease()).await;
}

async fn missing(server: &RedisServer, right: &str) {
    let locks = manager(server);
    for mode in ["reject", "queue"] {
        let lock = locks.lock("boleto:poor");
        let error = match mode {
            "reject" => lock.try_acquire().await.map(drop).unwrap_err(),
            _ => {
                let body = async { panic!("a body ran without {right}") };
                let run = lock.run::<_>(async {
                    let () = body.await;
                });
                timing::soon("it gives up", run).await.unwrap_err()
            }
        };
        assert!(
            matches!(error, LockError::Permission { .. }),
            "{right}: {error:?}"
        );
        assert!(!error.is_retryable());
        let said = error.to_string();
        let named = said.split("no right to ").nth(1).unwrap_or_default();
        let named = named.split(';').next().unwrap_or_default();
        assert!(named.contains(right), "{right} isn't named: {said}");
        assert!(said.contains(&server.address()), "{said}");
    }
    let health = locks.health().await.unwrap();
    assert!(
        matches!(&health.findings[..], [Finding::MissingRights { .. }]),
        "{health:?}"
    );
    assert!(!health.is_sound() && health.findings[0].is_fatal());
    assert_eq!(tidy::left_behind(&server.raw()), Vec::<String>::new());
}

/// A user without the right is given it while the manager lives: the next call goes through.
#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_granted_later_is_enough() {
    let server = server(&rights());
    let raw = server.raw();
    raw.run::<()>(&["ACL", "SETUSER", "locks", "-hset"]);
    let locks = manager(&server);
    locks.lock("boleto:later").try_acquire().await.unwrap_err();
    raw.run::<()>(&["ACL", "SETUSER", "locks", "+hset"]);
    timing::soon("the right counts", async {
        loop {
            match locks.lock("boleto:later").try_acquire().await {
                Ok(guard) => return guard.release().await.unwrap(),
                Err(error) => assert!(matches!(error, LockError::Permission { .. }), "{error}"),
            }
        }
    })
    .await;
    let warnings = logs::warnings_about(&[&server.address()]);
    assert_eq!(warnings.len(), 1, "told once: {warnings:?}");
    tidy::gone_within(&server, timing::lease()).await;
}

/// Without a channel, or without the verbs for it: the queue works by polling, in order; one warning says so.
#[tokio::test(flavor = "multi_thread")]
async fn without_channel_rights_the_queue_polls() {
    let wake = format!("&lib_lock_wake:{APP}:{ENVIRONMENT}:*");
    for (rule, named) in [
        ("resetchannels", wake.as_str()),
        ("-subscribe", "+subscribe"),
        ("-publish", "+publish"),
    ] {
        for protocol in [2, 3] {
            let server = server(&rights());
            server.raw().run::<()>(&["ACL", "SETUSER", "locks", rule]);
            let url = format!("{}&protocol={protocol}", url(&server));
            let [one, two] = [(), ()].map(|()| manager_builder(&url).build().unwrap());
            if protocol == 3 && rule == "resetchannels" {
                contend([&one, &two], "boleto:polls").await;
            }
            let health = one.health().await.unwrap();
            let polls = health
                .findings
                .iter()
                .find_map(|finding| {
                    let Finding::Polls { rights, .. } = finding else {
                        return None;
                    };
                    Some(rights.clone())
                })
                .unwrap_or_else(|| panic!("{rule}, {protocol}: {health:?}"));
            assert_eq!(polls, [named], "{rule}, {protocol}");
            // a waiter asks once a heartbeat, and twice while its turn is near
            let taken = hand_over([&one, &two], "boleto:polls").await;
            assert!(taken < timing::heartbeat() + prompt(), "{taken:?}");
            assert!(two.health().await.is_ok());
            tidy::end(&server, "boleto:polls", timing::lease(), 2).await;
        }
    }
}

/// The second connection of RESP2 is asked whether it lives, which this user may not answer: that is an answer as well. With the
/// right to `PING`, and without a right to the channel, nothing else comes of it either.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_second_connection_stays() {
    tokio::join!(idle("-ping"), idle("+ping"), idle("resetchannels"));
}

async fn idle(rule: &str) {
    let server = server(&rights());
    let raw = server.raw();
    raw.run::<()>(&["ACL", "SETUSER", "locks", rule]);
    let locks = manager_builder(&format!("{}&protocol=2", url(&server)))
        .lease(timing::long_lease())
        .heartbeat(timing::millis(2_000))
        .grace(timing::millis(8_000))
        .build()
        .unwrap();
    locks.health().await.unwrap();
    let ids = || -> Vec<String> {
        let list: String = raw.run(&["CLIENT", "LIST"]);
        list.lines()
            .filter(|line| line.contains("user=locks"))
            .filter_map(|line| line.split(' ').next())
            .map(str::to_owned)
            .collect()
    };
    let before = ids();
    assert_eq!(before.len(), 2, "{rule}: {before:?}");
    // the library asks every five seconds, whatever the tests' scale
    timing::pass(std::time::Duration::from_millis(5_500)).await;
    assert_eq!(ids(), before, "{rule}: it was replaced");
    if rule != "resetchannels" {
        let taken = hand_over([&locks, &locks], "boleto:idle").await;
        assert!(taken < prompt(), "{rule}: {taken:?}");
    }
    drop(locks);
    timing::until("its connections end", timing::patience(), || {
        ids().is_empty()
    })
    .await;
}
