//! `doctor`, `bench` and what goes wrong on the command line.

use lockruntime::cli::{DONE, MISUSED, NO_ANSWER, UNWELL};
use tests::lockctl::lockctl;
use tests::masters::Masters;
use tests::server::{Port, Settings};
use tests::{RedisServer, wire};

#[test]
fn doctor_finds_what_an_operator_should_look_at() {
    let server = RedisServer::with(Settings::default().append_only());
    let said = lockctl(&server.url(), &["doctor"]);
    assert_eq!(said.code, DONE, "{said:?}");
    for topic in [
        "version",
        "memory",
        "persistence",
        "replicas",
        "clock",
        "rights",
        "expiry",
        "round trip",
    ] {
        assert!(said.out.contains(topic), "{topic} in {}", said.out);
    }
    assert!(said.out.ends_with("all well\n"), "{}", said.out);

    server
        .raw()
        .run::<()>(&["SET", &wire::record("endless"), "1"]);
    let said = lockctl(&server.url(), &["doctor"]);
    assert_eq!(said.code, UNWELL);
    assert!(
        said.out.contains("1 keys never end, such as lib_lock:"),
        "{}",
        said.out
    );

    let evicting = Settings::default()
        .line("maxmemory 100mb")
        .line("maxmemory-policy allkeys-lru");
    let evicting = RedisServer::with(evicting);
    let json = lockctl(&evicting.url(), &["doctor", "--json"]).json();
    let states: Vec<_> = json["servers"][0]["points"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|point| point["state"] == "warning")
        .map(|point| point["topic"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["memory", "persistence"]);
}

#[test]
fn doctor_looks_at_every_master_of_a_quorum() {
    let mut masters = Masters::start(3);
    masters.servers[1].kill();
    let json = lockctl(&masters.url(), &["doctor", "--json"]).json();
    let servers = json["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 3, "{json}");
    assert_eq!(servers[1]["points"][0]["topic"], "connection", "{json}");
    assert_eq!(servers[2]["points"][0]["topic"], "version", "{json}");
}

#[test]
fn bench_measures_and_leaves_nothing() {
    let server = RedisServer::start();
    let json = lockctl(&server.url(), &["bench", "--count", "20", "--json"]).json();
    assert_eq!(json["cycle"]["count"], 20);
    assert!(json["cycle"]["p50Us"].as_u64().unwrap() > 0, "{json}");
    assert!(json["handOver"]["p50Us"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(
        tests::tidy::left_behind(&server.raw()),
        Vec::<String>::new()
    );
}

#[test]
fn what_cannot_be_done_has_its_exit_code_and_says_what_to_do() {
    let said = lockctl("redis://user:secret@127.0.0.1:1", &["frobnicate"]);
    assert_eq!(said.code, MISUSED, "{said:?}");
    assert!(!said.complaints.contains("secret"), "{said:?}");
    let said = lockctl("ftp://here", &["ls"]);
    assert_eq!(said.code, MISUSED, "{said:?}");
    let nobody = Port::claim();
    let said = lockctl(&format!("redis://127.0.0.1:{}", nobody.number()), &["ls"]);
    assert_eq!(said.code, NO_ANSWER, "{said:?}");
    assert!(said.complaints.contains("can't be reached"), "{said:?}");
    let said = lockctl("memory://", &["--help"]);
    assert_eq!(said.code, DONE);
    assert!(said.out.contains("Exit codes:"), "{}", said.out);
    let said = lockctl("memory://", &["completions", "bash"]);
    assert!(said.out.contains("_lockctl"), "{}", said.out);
}
