//! Watches the lock's server and writes down the order in which it lets calls in.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tests::chaos::now;
use tests::server::{Seen, follow};
use tests::{timing, wire};

/// Watches until it is told to end. It connects anew as often as the server dies.
pub(crate) struct Lookout {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Lookout {
    pub(crate) fn start(address: String, path: &Path) -> Self {
        let mut file = File::create(path).expect("the run's folder is writable");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut known = HashSet::new();
            while !stopped.load(Ordering::Relaxed) {
                // the server may be down; its end ends this call
                let _ended = follow(
                    &address,
                    timing::moment(),
                    || stopped.load(Ordering::Relaxed),
                    |seen: &Seen| {
                        for (key, ticket) in wire::arrivals(std::slice::from_ref(seen)) {
                            if known.insert(ticket.clone()) {
                                writeln!(file, "{} {key} {ticket}", now())
                                    .expect("the disk is not full");
                            }
                        }
                    },
                );
                timing::block(Duration::from_millis(2));
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }

    pub(crate) fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the lookout doesn't panic");
        }
    }
}
