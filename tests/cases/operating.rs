//! Looking at locks, and taking one away, while they are in use.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockruntime::LockError;
use lockruntime::cli::{DONE, NOT_SO};
use tests::lockctl::lockctl;
use tests::server::Raw;
use tests::{Child, RedisServer, meters, tidy, timing, wire};

use super::variant;

/// A force-release that was prepared for one holder does nothing to the next; for the right one it wakes the head, and the holder's
/// call is stopped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b05_an_operator_releases_what_he_saw_and_nothing_else() {
    let server = RedisServer::start();
    let (first, second) = (server.manager(), server.manager());
    let key = "boleto:b05";
    let seen = first.lock(key).acquire().await.unwrap();
    let owner = seen.owner_token().to_string();
    seen.release().await.unwrap();

    let body = timing::patience();
    let holder = {
        let locks = second.clone();
        tokio::spawn(async move { locks.lock(key).run(timing::pass(body)).await })
    };
    let held = timing::soon("the second holds it", async {
        loop {
            if let Some(held) = first.snapshot(key).await.unwrap().held {
                break held;
            }
        }
    })
    .await;
    let said = lockctl(&server.url(), &["release", key, "--owner", &owner]);
    assert_eq!(said.code, NOT_SO, "{said:?}");
    assert_eq!(
        first.snapshot(key).await.unwrap().held.unwrap().owner,
        held.owner
    );

    let head = {
        let locks = first.clone();
        tokio::spawn(async move { locks.lock(key).acquire().await })
    };
    while first.snapshot(key).await.unwrap().waiting.is_empty() {
        timing::pass(timing::millis(2)).await;
    }
    let owner = held.owner.to_string();
    let said = lockctl(&server.url(), &["release", key, "--owner", &owner]);
    assert_eq!(said.code, DONE, "{said:?}");
    let guard = timing::soon("the head enters", head)
        .await
        .unwrap()
        .unwrap();
    assert!(guard.fencing_token() > held.token);
    let lost = timing::soon("the holder is stopped", holder).await.unwrap();
    assert!(matches!(lost, Err(LockError::Lost { .. })), "{lost:?}");
    guard.release().await.unwrap();
    tidy::end(&server, "b05", timing::lease(), 1).await;
}

/// Three programs in three time zones: the record is in UTC, and all show the same moment and the same age.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b74_time_zones_do_not_matter() {
    let server = RedisServer::start();
    let locks = server.manager();
    let guard = locks.lock("boleto:b74").acquire().await.unwrap();
    let record: String = server.raw().run(&["GET", &wire::record("boleto:b74")]);
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert!(
        record["dataCriacao"].as_str().unwrap().ends_with('Z'),
        "{record}"
    );
    let mut seen = Vec::new();
    for zone in ["America/Sao_Paulo", "Pacific/Kiritimati", "UTC"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockctl_program"));
        command
            .args(["--url", &server.url(), "ls", "--json"])
            .env("TZ", zone);
        command.stdout(Stdio::piped());
        let mut child = Child::start(command).unwrap();
        let out = std::io::read_to_string(child.pipes().stdout.take().unwrap()).unwrap();
        assert!(child.wait().success());
        let list: serde_json::Value = serde_json::from_str(&out).unwrap();
        let held = list["locks"][0]["held"].clone();
        seen.push((
            held["since"].as_str().unwrap().to_owned(),
            held["ageMs"].as_u64().unwrap(),
        ));
    }
    assert!(
        seen.iter()
            .all(|(since, _)| *since == seen[0].0 && since.ends_with('Z')),
        "{seen:?}"
    );
    let patience = u64::try_from(timing::patience().as_millis()).unwrap();
    assert!(seen.iter().all(|(_, age)| *age < patience), "{seen:?}");
    guard.release().await.unwrap();
    tidy::end(&server, "b74", timing::lease(), 0).await;
}

/// A thousand refusals, a thousand waits in vain and a thousand good calls are no warning; one lost lock is one. All are counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b91_contention_is_no_failure() {
    const TIMES: u32 = 1_000;
    meters::count();
    let server = RedisServer::start();
    let locks = server.manager();
    let template = "b91:<n>";
    let by = format!("template=\"{template}\"");
    let guard = locks
        .lock("b91:held")
        .template(template)
        .acquire()
        .await
        .unwrap();
    for _ in 0..TIMES {
        let busy = locks
            .lock("b91:held")
            .template(template)
            .try_acquire()
            .await
            .unwrap_err();
        assert_eq!(variant(&busy), "Busy");
    }
    let waits = (0..TIMES).map(|_| {
        locks
            .lock("b91:held")
            .template(template)
            .wait(timing::millis(1))
            .acquire()
    });
    for wait in futures_util::future::join_all(waits).await {
        // of a crowd some may not even have been answered within so short a wait
        let error = wait.unwrap_err();
        assert!(error.is_busy() || variant(&error) == "Backend", "{error}");
    }
    for _ in 0..TIMES {
        locks
            .lock("b91:good")
            .template(template)
            .acquire()
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
    }
    server.raw().run::<()>(&["DEL", &wire::record("b91:held")]);
    timing::soon("the loss is noticed", guard.lost()).await;
    drop(guard);

    let refused = |reason: &str| meters::value("lockruntime_refused_total", &[&by, reason]);
    let times = f64::from(TIMES);
    assert_eq!(refused("reason=\"busy\""), times);
    assert_eq!(
        refused("reason=\"wait_timed_out\"") + refused("reason=\"failed\""),
        times
    );
    assert_eq!(
        meters::value("lockruntime_wait_seconds_count", &[&by]),
        times + 1.0
    );
    assert_eq!(
        meters::value("lockruntime_hold_seconds_count", &[&by]),
        times
    );
    assert_eq!(meters::value("lockruntime_lost_total", &[&by]), 1.0);
    tidy::end(&server, "b91", timing::lease(), 1).await;
}

/// Calls of each command so far.
fn calls(raw: &Raw) -> Vec<(String, u64)> {
    let stats: String = raw.run(&["INFO", "commandstats"]);
    let of = |line: &str| {
        let (name, numbers) = line
            .trim()
            .strip_prefix("cmdstat_")?
            .split_once(":calls=")?;
        Some((name.to_owned(), numbers.split(',').next()?.parse().ok()?))
    };
    stats.lines().filter_map(of).collect()
}

/// Among 200,000 keys of others: inspection only reads, in small steps, and shows what is there as what it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b104_inspection_neither_disturbs_nor_lies() {
    let server = RedisServer::start();
    let raw = server.raw();
    raw.run::<()>(&[
        "EVAL",
        "for i = 1, 200000 do redis.call('SET', 'other:' .. i, i) end",
        "0",
    ]);
    let (plain, newer) = (993, 2);
    let write = "for i = 1, tonumber(ARGV[1]) do \
                 redis.call('SET', ARGV[2] .. i, '{\"owner\":\"' .. string.format('%032x', i) .. '\",\"fencingToken\":' .. string.format('%.0f', 1796000000000000 + i) \
                 .. ',\"hostName\":\"pod\",\"version\":' .. ARGV[3] .. '}', 'PX', 60000) end";
    let record = wire::record("b104:plain:");
    raw.run::<()>(&["EVAL", write, "0", &plain.to_string(), &record, "1"]);
    raw.run::<()>(&[
        "EVAL",
        write,
        "0",
        &newer.to_string(),
        &wire::record("b104:newer:"),
        "7",
    ]);
    for broken in 0..5 {
        raw.run::<()>(&[
            "SET",
            &wire::record(&format!("b104:broken:{broken}")),
            "{\"owner\":",
            "PX",
            "60000",
        ]);
    }
    let expired = wire::record("b104:expired");
    let text: String = raw.run(&["GET", &format!("{record}1")]);
    raw.run::<()>(&["SET", &expired, &text, "PX", "1"]);
    timing::pass(timing::millis(5)).await;

    let before = calls(&raw);
    let list = lockctl(&server.url(), &["ls", "b104:*", "--json"]).json();
    let shown = lockctl(&server.url(), &["show", "b104:plain:7"]);
    let watched = lockctl(&server.url(), &["watch", "b104:*", "--times", "1"]);
    assert_eq!((shown.code, watched.code), (DONE, DONE));
    let after = calls(&raw);
    let grown = |name: &str| {
        let count = |list: &[(String, u64)]| {
            list.iter()
                .find(|(found, _)| found == name)
                .map_or(0, |(_, count)| *count)
        };
        count(&after) - count(&before)
    };
    for (name, _) in &after {
        let writes = [
            "set", "del", "zadd", "zrem", "hset", "hdel", "pexpire", "keys",
        ]
        .contains(&name.as_str());
        // the look at the rights of each connection tries the others' commands on keys that no lock has
        let tried = if name == "keys" { 0 } else { 3 * 2 };
        assert!(!writes || grown(name) <= tried, "{name}: {}", grown(name));
    }
    assert!(grown("scan") > 400, "in small steps");

    let locks = list["locks"].as_array().unwrap();
    let count = |state: &str| locks.iter().filter(|lock| lock["state"] == state).count();
    assert_eq!(
        (count("held"), count("broken"), count("free")),
        (plain + newer, 5, 0)
    );
    let later = locks
        .iter()
        .filter(|lock| lock["held"]["recordVersion"] == 7)
        .count();
    assert_eq!(later, newer);

    // no step keeps the server from others for 5 ms: under load a step waits for the processor, so the mean is what counts
    let stats: String = raw.run(&["INFO", "commandstats"]);
    let scan = stats
        .lines()
        .find(|line| line.starts_with("cmdstat_scan:"))
        .unwrap();
    let mean: f64 = scan
        .split("usec_per_call=")
        .nth(1)
        .unwrap()
        .split(',')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(mean < 5_000.0, "{scan}");

    // and while locks are taken beside it, they all are
    let (busy, over) = (server.manager(), Arc::new(AtomicBool::new(false)));
    let load = tokio::spawn({
        let over = Arc::clone(&over);
        async move {
            let mut taken = 0;
            while !over.load(Ordering::SeqCst) {
                busy.lock("b104:load")
                    .acquire()
                    .await
                    .unwrap()
                    .release()
                    .await
                    .unwrap();
                taken += 1;
            }
            taken
        }
    });
    let beside = lockctl(&server.url(), &["ls", "b104:*", "--json"]);
    assert_eq!(beside.code, DONE, "{beside:?}");
    over.store(true, Ordering::SeqCst);
    assert!(timing::soon("the load ends", load).await.unwrap() > 0);
    for key in raw.keys(&wire::record("b104:*")) {
        raw.run::<()>(&["DEL", &key]);
    }
    tidy::end(&server, "b104", timing::lease(), 0).await;
}
