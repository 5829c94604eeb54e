//! `ls`, `show` and `watch`.

use std::io;

use lockruntime::LockManager;
use lockruntime::backend::Standing;
use lockruntime::cli::{DONE, NO_ANSWER, NOT_SO, Screen, run};
use tests::lockctl::lockctl;
use tests::masters::Masters;
use tests::server::Port;
use tests::{RedisServer, timing, wire};

use super::waiter;

#[tokio::test]
async fn ls_and_show_say_who_holds_who_waits_and_why() {
    let server = RedisServer::start();
    let locks = server.manager();
    let guard = locks
        .lock("boleto:42")
        .name_of("tests::pay")
        .acquire()
        .await
        .unwrap();
    let next = waiter(&locks, "boleto:42").await;

    let said = lockctl(&server.url(), &["ls"]);
    assert_eq!(said.code, DONE, "{said:?}");
    let row = said
        .out
        .lines()
        .find(|line| line.starts_with("boleto:42 "))
        .unwrap();
    let process = format!("({})", std::process::id());
    for word in [
        "tests::pay",
        &process,
        &guard.owner_token().to_string(),
        &guard.fencing_token().to_string(),
    ] {
        assert!(row.contains(word), "{word} in {row}");
    }
    assert!(said.out.ends_with("1 held, 1 waiting\n"), "{said:?}");

    let said = lockctl(&server.url(), &["show", "boleto:42"]);
    assert_eq!(said.code, DONE, "{said:?}");
    for words in [
        "boleto:42  held",
        "alive: its lease is renewed in time",
        "tests::pay",
        "tests::wait",
        "waits for the holder, who is at work",
    ] {
        assert!(said.out.contains(words), "{words} in {}", said.out);
    }

    let json = lockctl(&server.url(), &["ls", "boleto:*", "--json"]).json();
    let lock = &json["locks"][0];
    assert_eq!(lock["state"], "held");
    assert_eq!(lock["held"]["fencingToken"], guard.fencing_token().get());
    assert_eq!(lock["held"]["holder"]["pid"], std::process::id());
    assert_eq!(lock["waiting"], 1);
    assert!(
        lock["held"]["since"].as_str().unwrap().ends_with('Z'),
        "{lock}"
    );
    let json = lockctl(&server.url(), &["show", "boleto:42", "--json"]).json();
    assert_eq!(json["waiting"][0]["alive"], true);
    assert_eq!(json["waiting"][0]["waiter"]["function"], "tests::wait");

    assert!(
        lockctl(&server.url(), &["ls", "pix:*"])
            .out
            .starts_with("no lock is held")
    );
    guard.release().await.unwrap();
    timing::soon("the next enters", next)
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    let said = lockctl(&server.url(), &["show", "boleto:42"]);
    assert_eq!(
        (said.code, said.out.as_str()),
        (NOT_SO, "boleto:42  free, and nobody waits\n")
    );
}

#[tokio::test]
async fn a_holder_that_no_longer_renews_is_told() {
    let server = RedisServer::start();
    let locks = server.manager();
    let lease = timing::millis(4_000);
    let guard = locks
        .lock("boleto:42")
        .lease(lease)
        .watchdog(false)
        .acquire()
        .await
        .unwrap();
    assert!(
        lockctl(&server.url(), &["show", "boleto:42"])
            .out
            .contains("alive")
    );
    timing::pass(lease * 5 / 8).await;
    let said = lockctl(&server.url(), &["show", "boleto:42"]);
    assert!(said.out.contains("no renewal for"), "{}", said.out);
    let fix = format!("lockctl release boleto:42 --owner {}", guard.owner_token());
    assert!(said.out.contains(&fix), "{}", said.out);
    assert!(lockctl(&server.url(), &["ls"]).out.contains("overdue"));
    guard.release().await.unwrap();
}

#[tokio::test]
async fn what_is_broken_or_newer_is_shown_as_such() {
    let server = RedisServer::start();
    let raw = server.raw();
    let set =
        |key: &str, value: &str| raw.run::<()>(&["SET", &wire::record(key), value, "PX", "60000"]);
    set("broken", "{\"owner\":");
    let newer = format!(
        "{{\"owner\":\"{:032x}\",\"fencingToken\":1796000000000000,\"hostName\":\"later\",\"version\":9,\"more\":[]}}",
        7
    );
    set("newer", &newer);
    raw.run::<()>(&["RPUSH", &wire::record("list"), "a"]);
    raw.run::<()>(&["SET", &wire::record("endless"), &newer]);
    let json = lockctl(&server.url(), &["ls", "--json"]).json();
    let states: Vec<_> = json["locks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lock| {
            (
                lock["key"].as_str().unwrap(),
                lock["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            ("broken", "broken"),
            ("endless", "broken"),
            ("list", "broken"),
            ("newer", "held")
        ]
    );
    let said = lockctl(&server.url(), &["ls"]);
    assert!(
        said.out.contains("record of a newer version, 9"),
        "{}",
        said.out
    );
    let said = lockctl(&server.url(), &["show", "broken"]);
    assert!(said.out.contains("broken: "), "{said:?}");
    // nothing was changed
    assert_eq!(raw.run::<String>(&["GET", &wire::record("newer")]), newer);
    assert_eq!(raw.keys("*").len(), 4);
}

#[test]
fn a_queue_without_a_holder_is_shown_as_such() {
    let server = RedisServer::start();
    let raw = server.raw();
    // a waiter whose process is gone, after its holder
    let member = format!("pod:1:2:{:032x}", 3);
    raw.run::<()>(&["ZADD", &wire::queue("left"), "1796000000000000", &member]);
    let waiters = format!("{}:w", wire::queue("left"));
    raw.run::<()>(&["HSET", &waiters, &format!("d{member}"), "1"]);
    let json = lockctl(&server.url(), &["ls", "--json"]).json();
    assert_eq!(
        (&json["locks"][0]["state"], &json["locks"][0]["waiting"]),
        (&"free".into(), &1.into())
    );
    let said = lockctl(&server.url(), &["show", "left"]);
    assert_eq!(said.code, DONE, "{said:?}");
    for words in ["free, and waited for", "dead", "The first in line is dead"] {
        assert!(said.out.contains(words), "{words} in {}", said.out);
    }
}

/// Fails so after some writes, as a pager that was left or a disk that is full.
struct Pager(u32, io::ErrorKind);

impl io::Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(self.1)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn watch_looks_again_and_ends_when_nobody_reads() {
    let server = RedisServer::start();
    let said = lockctl(&server.url(), &["watch", "--every", "50ms", "--times", "3"]);
    assert_eq!((said.code, said.out.lines().count()), (DONE, 3), "{said:?}");
    let url = server.url();
    let ends = |kind| {
        let line = ["lockctl", "--url", &url, "watch", "--every", "50ms"];
        let (mut out, mut complaints) = (Pager(3, kind), Vec::new());
        let code = run(line.map(Into::into), Screen::new(&mut out, &mut complaints));
        (code, String::from_utf8(complaints).unwrap())
    };
    assert_eq!(ends(io::ErrorKind::BrokenPipe), (DONE, String::new()));
    let (code, complaints) = ends(io::ErrorKind::StorageFull);
    assert_eq!(code, NO_ANSWER, "{complaints}");
    assert!(complaints.contains("can't write"), "{complaints}");
}

/// A storage that is out of reach at every look is no success, and JSON stays JSON.
#[test]
fn watch_fails_when_no_look_had_an_answer() {
    let nobody = Port::claim();
    let url = format!("redis://127.0.0.1:{}", nobody.number());
    let said = lockctl(&url, &["watch", "--times", "1", "--json"]);
    assert_eq!(said.code, NO_ANSWER, "{said:?}");
    let error = said.json()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("can't be reached"), "{error}");
}

#[tokio::test]
async fn a_quorum_and_memory_list_their_locks_too() {
    let masters = Masters::start(3);
    for locks in [masters.manager(), LockManager::memory()] {
        let guard = locks.lock("pix:7").acquire().await.unwrap();
        let listed = locks.list("pix:*").await.unwrap().locks;
        assert_eq!(listed.len(), 1, "{listed:?}");
        let Standing::Held(held) = &listed[0].standing else {
            panic!("{listed:?}");
        };
        assert_eq!(
            (held.owner, held.token),
            (guard.owner_token(), guard.fencing_token())
        );
        assert!(held.age < timing::patience(), "{held:?}");
        guard.release().await.unwrap();
        assert_eq!(locks.list("*").await.unwrap().locks, []);
    }
    let guard = masters.manager().lock("pix:7").acquire().await.unwrap();
    let said = lockctl(&masters.url(), &["show", "pix:7"]);
    assert!(
        said.out.contains(&guard.owner_token().to_string()),
        "{said:?}"
    );
    guard.release().await.unwrap();
}
