//! What the lock's own code complained about: warnings, and panics of its threads.

use std::fmt::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

static NOTICES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Starts listening, once per process. Everything that starts a lock manager for a test calls it.
pub fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::subscriber::set_global_default(Listener).expect("nobody else listens");
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // a panic in a body is the test's own affair
            if panic
                .location()
                .is_some_and(|place| place.file().contains("lockruntime/src"))
            {
                lock(&PANICS).push(panic.to_string());
            }
            before(panic);
        }));
    });
}

/// Lines at warning or error that contain one of `words`: a key, a server's address.
#[must_use]
pub fn warnings_about(words: &[&str]) -> Vec<String> {
    lock(&WARNINGS)
        .iter()
        .filter(|line| words.iter().any(|word| line.contains(word)))
        .cloned()
        .collect()
}

/// Lines at info that contain `word`.
#[must_use]
pub fn notices_about(word: &str) -> Vec<String> {
    let notices = lock(&NOTICES);
    notices
        .iter()
        .filter(|line| line.contains(word))
        .cloned()
        .collect()
}

/// Panics inside the lock's own code.
#[must_use]
pub fn panics() -> Vec<String> {
    lock(&PANICS).clone()
}

fn lock(list: &'static Mutex<Vec<String>>) -> MutexGuard<'static, Vec<String>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && *metadata.level() <= Level::INFO
            && metadata.target().starts_with("lockruntime")
    }

    fn event(&self, event: &Event<'_>) {
        let level = event.metadata().level();
        let mut line = Line(level.to_string());
        event.record(&mut line);
        let list = if *level == Level::INFO {
            &NOTICES
        } else {
            &WARNINGS
        };
        lock(list).push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {}={value:?}", field.name()).expect("writing to a string never fails");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_kept_and_the_rest_is_not() {
        listen();
        tracing::warn!(target: "lockruntime::x", key = "logs-test", "lost");
        tracing::info!(target: "lockruntime::x", key = "logs-test", "taken");
        tracing::warn!(target: "elsewhere", key = "logs-test", "lost");
        assert_eq!(warnings_about(&["logs-test"]).len(), 1);
        assert_eq!(notices_about("logs-test").len(), 1);
        assert_eq!(warnings_about(&["logs-other"]), Vec::<String>::new());
    }
}
