//! The metrics by their documented names, and the files for Grafana and Prometheus beside them.

use std::collections::BTreeSet;

use lockruntime::{LockManager, OnLost};
use tests::{RedisServer, meters, timing, wire};

const DOCS: &str = include_str!("../../lockruntime/src/docs/operating.md");
const DASHBOARD: &str = include_str!("../../examples/ops/grafana-dashboard.json");
const ALERTS: &str = include_str!("../../examples/ops/prometheus-alerts.yml");

/// Makes everything happen that is counted.
async fn everything() {
    meters::count();
    let mut server = RedisServer::start();
    let after = timing::millis(30);
    let builder = server.manager_builder().warn_after(after).warn_queue(0);
    let locks = builder.build().unwrap();
    let guard = locks.lock("counted").acquire().await.unwrap();
    locks.lock("counted").try_acquire().await.unwrap_err();
    locks
        .lock("counted")
        .wait(after * 2)
        .acquire()
        .await
        .unwrap_err();
    let renewed = || meters::value("lockruntime_renewals_total", &["result=\"ok\""]) > 0.0;
    timing::until("it is renewed", timing::patience(), renewed).await;
    guard.release().await.unwrap();
    let cap = locks
        .lock("counted")
        .max_hold(after)
        .run(std::future::pending::<()>());
    cap.await.unwrap_err();
    let raw = server.raw();
    let lost = locks.lock("counted").on_lost(OnLost::Cancel).run(async {
        raw.run::<()>(&["DEL", &wire::record("counted")]);
        std::future::pending::<()>().await;
    });
    lost.await.unwrap_err();
    let guard = locks.lock("counted").acquire().await.unwrap();
    server.kill();
    drop(guard);
    let failed = || meters::value("lockruntime_release_failures_total", &[]) > 0.0;
    timing::until("a release fails", timing::patience(), failed).await;
}

/// All words of a text that begin like a metric of ours, without what Prometheus adds to a histogram's name.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = words.filter(|word| word.starts_with("lockruntime_"));
    let plain = |word: &str| {
        let ends = ["_bucket", "_sum", "_count"];
        let end = ends.iter().find_map(|end| word.strip_suffix(end));
        end.unwrap_or(word).to_owned()
    };
    ours.map(plain).collect()
}

#[tokio::test]
async fn documented_exported_and_watched_are_the_same_names() {
    everything().await;
    let exported = meters::names();
    let documented = named(DOCS);
    assert_eq!(exported, documented);
    for (file, text) in [("dashboard", DASHBOARD), ("alerts", ALERTS)] {
        let watched = named(text);
        assert!(watched.len() > 3, "{file}: {watched:?}");
        assert!(
            watched.is_subset(&exported),
            "{file}: {:?}",
            &watched - &exported
        );
    }
    // no label can explode: no key, only what is written in the source, and the addresses of servers
    let text = meters::scrape();
    assert!(!text.contains("counted"), "{text}");
}

#[test]
fn the_files_load() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 6, "{}", panels.len());
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(
            ids.insert(panel["id"].as_u64().unwrap()),
            "two panels of one id"
        );
        for target in panel["targets"].as_array().unwrap() {
            balanced(target["expr"].as_str().unwrap());
        }
    }
    let rules: Vec<_> = ALERTS.split("- alert: ").skip(1).collect();
    assert!(rules.len() >= 5, "{}", rules.len());
    for rule in rules {
        let line = |name: &str| {
            let found = rule.lines().find_map(|line| line.trim().strip_prefix(name));
            found.unwrap_or_else(|| panic!("no {name} in {rule}"))
        };
        balanced(line("expr: "));
        assert!(
            ["critical", "warning"].contains(&line("severity: ")),
            "{rule}"
        );
        assert!(
            line("summary: ").len() > 10 && line("description: ").len() > 20,
            "{rule}"
        );
    }
}

/// Brackets open and close in order.
fn balanced(expression: &str) {
    let mut open = Vec::new();
    for c in expression.chars() {
        match c {
            '(' | '[' | '{' => open.push(c),
            ')' => assert_eq!(open.pop(), Some('('), "{expression}"),
            ']' => assert_eq!(open.pop(), Some('['), "{expression}"),
            '}' => assert_eq!(open.pop(), Some('{'), "{expression}"),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{expression}");
}

/// The guard API has no template but what is said.
#[tokio::test]
async fn what_is_locked_by_hand_is_counted_by_its_template() {
    meters::count();
    let locks = LockManager::memory();
    let label = "template=\"by-hand:<n>\"";
    locks
        .lock("by-hand:1")
        .template("by-hand:<n>")
        .run(async {})
        .await
        .unwrap();
    assert_eq!(
        meters::value("lockruntime_hold_seconds_count", &[label]),
        1.0
    );
}
