//! The program itself, with its terminal's signals and its environment.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use tests::{Child, RedisServer};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockctl_program"));
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .env_remove("LOCK_URL");
    command
}

#[test]
fn watch_ends_cleanly_when_told_to() {
    let server = RedisServer::start();
    let mut command = program();
    command
        .env("LOCK_URL", server.url())
        .args(["watch", "--every", "50ms"]);
    let mut child = Child::start(command).unwrap();
    let mut lines = BufReader::new(child.pipes().stdout.take().unwrap()).lines();
    // it looks, again and again
    for _ in 0..3 {
        assert_eq!(
            lines.next().unwrap().unwrap(),
            "no lock is held or waited for"
        );
    }
    child.terminate();
    assert_eq!(child.wait().code(), Some(0));
}
