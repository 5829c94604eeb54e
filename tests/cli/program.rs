//! The program itself, with its terminal's signals and its environment.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
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

/// A site whose name resolves to this machine reads nothing through a visitor's browser.
#[test]
#[cfg(feature = "web")]
fn the_page_answers_to_its_own_names_alone() {
    let mut command = program();
    command
        .env("LOCK_URL", "memory://")
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(["--host", "ops.internal"]);
    let mut child = Child::start(command).unwrap();
    let mut said = BufReader::new(child.pipes().stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let address = line.strip_prefix("http://").unwrap();
    let (address, _) = address.split_once('/').unwrap();
    let (_, port) = address.split_once(':').unwrap();
    for (host, status) in [
        (address, 200),
        (&*format!("localhost:{port}"), 200),
        ("ops.internal", 200),
        (&*format!("evil.example:{port}"), 421),
        ("", 421),
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let answer = io::read_to_string(stream).unwrap();
        let expected = format!("HTTP/1.1 {status}");
        assert!(answer.starts_with(&expected), "{host}: {answer}");
    }
    child.terminate();
    assert_eq!(child.wait().code(), Some(0));
}
