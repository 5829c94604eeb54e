//! Watches the lock's server and writes down the order in which it lets calls in.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tests::chaos::evidence::Fault;
use tests::chaos::plan::Kind;
use tests::chaos::{nanos, now};
use tests::server::{Raw, Seen, follow};
use tests::{RedisServer, timing, wire};

use crate::nemesis::Record;
use crate::stage::Stage;

/// What an answer of an undisturbed server takes at the most on a machine that isn't too busy.
const SLOW: u64 = 40_000_000;

/// What an election may take, from the last write of the old master on.
const ELECTION: Duration = Duration::from_secs(5);

/// Writes down when the server answers slowly: a busy machine explains what follows from it.
fn feel_the_pulse(address: &str, mut file: &File, stopped: &AtomicBool) {
    let mut last = now();
    while !stopped.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(address) else {
            timing::block(Duration::from_millis(2));
            continue;
        };
        // a server that stands still answers when it goes on
        while stream.write_all(b"PING\r\n").is_ok() && matches!(stream.read(&mut [0; 7]), Ok(1..)) {
            let this = now();
            if this - last > SLOW {
                // in one piece: several write to it
                let line = format!("{last} {this}\n");
                file.write_all(line.as_bytes())
                    .expect("the disk is not full");
            }
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            timing::block(Duration::from_millis(10));
            last = this;
        }
    }
}

/// Writes down every choice of another master, planned or not.
fn watch_failovers(sentinels: &[String], record: &Record, stopped: &AtomicBool) {
    let epoch = |address: &String| {
        let said = Raw::try_connect(address)?.attempt(&["SENTINEL", "MASTERS"]);
        let masters: Vec<HashMap<String, String>> = said.ok()?;
        masters.first()?.get("config-epoch")?.parse().ok()
    };
    let mut known: Option<u64> = None;
    while !stopped.load(Ordering::Relaxed) {
        let newest = sentinels.iter().filter_map(epoch).max();
        if known.is_some() && newest > known {
            record.write(&Fault {
                from: now() - nanos(ELECTION),
                to: now(),
                kind: Kind::Failover,
                worker: None,
            });
        }
        known = known.max(newest);
        timing::block(Duration::from_millis(50));
    }
}

/// Watches until it is told to end. It connects anew as often as the server dies.
pub(crate) struct Lookout {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Lookout {
    /// Follows one server, and feels the pulse of all.
    pub(crate) fn start(stage: &dyn Stage, folder: &Path, record: Arc<Record>) -> Self {
        let (watched, clock) = stage.watched();
        let address = watched.address();
        let create = |name| File::create(folder.join(name)).expect("the run's folder is writable");
        let (mut file, mut grants) = (create("arrivals.txt"), create("grants.txt"));
        let stop = Arc::new(AtomicBool::new(false));
        let stalls = Arc::new(create("stalls.txt"));
        let pulse = |server: &RedisServer| {
            let (address, stopped) = (server.address(), Arc::clone(&stop));
            let file = Arc::clone(&stalls);
            std::thread::spawn(move || feel_the_pulse(&address, &file, &stopped))
        };
        let mut threads: Vec<_> = stage.servers().map(pulse).collect();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut known = HashSet::new();
            let mut waiting: HashMap<String, u32> = HashMap::new();
            while !stopped.load(Ordering::Relaxed) {
                // the server may be down; its end ends this call
                let _ended = follow(
                    &address,
                    timing::moment(),
                    || stopped.load(Ordering::Relaxed),
                    |seen: &Seen| {
                        waiting.extend(wire::queues(seen));
                        for (key, ticket) in wire::arrivals(std::slice::from_ref(seen)) {
                            if wire::is_grant(seen)
                                && let Some(process) = waiting.remove(&ticket)
                            {
                                writeln!(
                                    grants,
                                    "{} {key} {process}",
                                    clock.boot_time(seen.micros)
                                )
                                .expect("the disk is not full");
                            }
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
        threads.push(thread);
        let sentinels: Vec<_> = (stage.sentinels().iter())
            .map(RedisServer::address)
            .collect();
        if !sentinels.is_empty() {
            let stopped = Arc::clone(&stop);
            threads.push(std::thread::spawn(move || {
                watch_failovers(&sentinels, &record, &stopped);
            }));
        }
        Self { stop, threads }
    }

    pub(crate) fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("the lookout doesn't panic");
        }
    }
}
