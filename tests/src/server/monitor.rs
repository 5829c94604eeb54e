//! Every command that a server executes, as `MONITOR` shows them.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Raw;
use crate::timing;

/// One executed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When, in microseconds of the server's clock.
    pub micros: u64,
    /// Whether a script called it.
    pub by_script: bool,
    /// The client's address, or `lua`.
    pub client: String,
    /// Name (lower case) and arguments; bytes that aren't printable stand as the server shows them (`\x00`).
    pub words: Vec<String>,
}

impl Seen {
    /// The command's name in lower case.
    #[must_use]
    pub fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Whether one of its arguments is `word`.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().skip(1).any(|argument| argument == word)
    }
}

/// A place in the list of commands.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

/// Listens until dropped.
#[derive(Debug)]
pub struct Monitor {
    seen: Arc<Mutex<Vec<Seen>>>,
    stream: TcpStream,
    listener: Option<JoinHandle<()>>,
    raw: Raw,
}

impl Monitor {
    pub(crate) fn start(address: &str, password: Option<&str>, raw: Raw) -> Self {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
        let login = password
            .map(|password| format!("AUTH {password}\r\n"))
            .unwrap_or_default();
        write!(stream, "{login}MONITOR\r\n").expect("the server listens");
        for _ in 0..1 + usize::from(password.is_some()) {
            let mut answer = String::new();
            reader.read_line(&mut answer).expect("the server answers");
            assert_eq!(answer, "+OK\r\n");
        }
        let seen = Arc::new(Mutex::new(Vec::new()));
        let listener = std::thread::spawn({
            let seen = Arc::clone(&seen);
            move || {
                for line in reader.lines().map_while(Result::ok) {
                    if let Some(command) = parse(&line) {
                        seen.lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(command);
                    }
                }
            }
        });
        Self {
            seen,
            stream,
            listener: Some(listener),
            raw,
        }
    }

    /// This moment: everything that the server executed before is on the list before the mark.
    #[must_use]
    pub fn mark(&self) -> Mark {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let flag = format!("monitor mark {}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.raw.run::<()>(&["ECHO", &flag]);
        let mut place = None;
        timing::block_until("MONITOR shows the mark", timing::patience(), || {
            place = self
                .list()
                .iter()
                .rposition(|command| command.name() == "echo" && command.has(&flag));
            place.is_some()
        });
        Mark(place.expect("it was just found") + 1)
    }

    /// What was executed after the mark, up to now.
    #[must_use]
    pub fn since(&self, mark: Mark) -> Vec<Seen> {
        let end = self.mark();
        self.between(mark, end)
    }

    /// What was executed between two marks.
    #[must_use]
    pub fn between(&self, start: Mark, end: Mark) -> Vec<Seen> {
        // the mark itself is no command of the test
        self.list()
            .get(start.0..end.0 - 1)
            .map(<[_]>::to_vec)
            .unwrap_or_default()
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        drop(self.stream.shutdown(Shutdown::Both));
        if let Some(listener) = self.listener.take() {
            drop(listener.join());
        }
    }
}

/// Shows every command that the server at `address` executes to `look`, until the connection ends or `stopped` says so, which
/// is asked at least every `interval`.
///
/// # Errors
/// How the connection ended.
pub fn follow(
    address: &str,
    interval: Duration,
    stopped: impl Fn() -> bool,
    mut look: impl FnMut(&Seen),
) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(interval))?;
    stream.write_all(b"MONITOR\r\n")?;
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    while !stopped() {
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(()),
            Ok(_) if line.ends_with(b"\n") => {
                if let Some(seen) = parse(String::from_utf8_lossy(&line).trim_end()) {
                    look(&seen);
                }
                line.clear();
            }
            Ok(_) => {}
            // what was read of a line stays in it
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// `+1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`
fn parse(line: &str) -> Option<Seen> {
    let (time, rest) = line.strip_prefix('+')?.split_once(" [")?;
    let (seconds, micros) = time.split_once('.')?;
    let (client, rest) = rest.split_once("] ")?;
    let client = client.split_once(' ')?.1.to_owned();
    let mut words = words(rest);
    if let Some(name) = words.first_mut() {
        name.make_ascii_lowercase();
    }
    let micros = seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?;
    Some(Seen {
        micros,
        by_script: client == "lua",
        client,
        words,
    })
}

/// The quoted words of a line; `\"` and `\\` are undone.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (&mut word, c) {
            (None, '"') => word = Some(String::new()),
            (None, _) => {}
            (Some(_), '"') => words.extend(word.take()),
            (Some(word), '\\') => match chars.next() {
                Some(c @ ('"' | '\\')) => word.push(c),
                Some('n') => word.push('\n'),
                Some('r') => word.push('\r'),
                Some('t') => word.push('\t'),
                other => {
                    word.push('\\');
                    word.extend(other);
                }
            },
            (Some(word), c) => word.push(c),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RedisServer;

    #[test]
    fn lines_are_read() {
        let seen =
            parse(r#"+1339518083.107412 [0 127.0.0.1:60866] "SET" "a \"b\\" "\x00\n""#).unwrap();
        assert_eq!(seen.micros, 1_339_518_083_107_412);
        assert_eq!(seen.words, ["set", r#"a "b\"#, "\\x00\n"]);
        assert!(!seen.by_script);
        assert!(parse(r#"+1.000002 [3 lua] "get" "a""#).unwrap().by_script);
        assert_eq!(parse("+OK"), None);
    }

    #[test]
    fn commands_between_marks_are_all_there() {
        let server = RedisServer::start();
        let raw = server.raw();
        raw.run::<()>(&["SET", "before", "1"]);
        let monitor = server.monitor();
        let start = monitor.mark();
        for i in 0..500 {
            raw.run::<()>(&["SET", "a", &i.to_string()]);
        }
        raw.run::<()>(&["EVAL", "return redis.call('GET', KEYS[1])", "1", "a"]);
        let end = monitor.mark();
        raw.run::<()>(&["SET", "after", "1"]);
        let seen = monitor.between(start, end);
        assert_eq!(seen.len(), 502);
        assert!(seen[501].by_script && seen[501].name() == "get" && seen[501].has("a"));
        assert_eq!(monitor.since(end).len(), 1);
    }
}
