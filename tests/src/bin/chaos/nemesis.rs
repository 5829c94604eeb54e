//! Does the planned faults, and writes down when each of them really was.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tests::chaos::evidence::Fault;
use tests::chaos::now;
use tests::chaos::plan::{CLOCK_FORWARD, Kind, Planned};
use tests::fault::{Close, Firewall, Flow, Lost, Proxy, Request};
use tests::server::Raw;
use tests::wire::Verb;
use tests::{Child, RedisServer, timing};

use crate::clock::Clock;
use crate::worker::Setup;

/// The list of faults as they were.
pub(crate) struct Record(Mutex<File>);

impl Record {
    pub(crate) fn create(path: &Path) -> Self {
        Self(Mutex::new(
            File::create(path).expect("the run's folder is writable"),
        ))
    }

    pub(crate) fn write(&self, fault: &Fault) {
        self.0
            .lock()
            .expect("no thread panics while it writes")
            .write_all(fault.line().as_bytes())
            .expect("the disk is not full");
    }
}

/// A worker process and its network.
pub(crate) struct Worker {
    number: usize,
    life: u64,
    setup: Setup,
    folder: PathBuf,
    proxy: Proxy,
    child: Child,
}

impl Worker {
    pub(crate) fn start(
        number: usize,
        server: &RedisServer,
        mut setup: Setup,
        folder: &Path,
    ) -> Self {
        let proxy = Proxy::before(&server.address());
        setup.url = server.url_at(&proxy.address());
        setup.seed = setup
            .seed
            .wrapping_mul(31)
            .wrapping_add(u64::try_from(number).unwrap_or(0) * 1_000_003);
        let mut worker = Self {
            number,
            life: 0,
            child: launch(&mut setup, folder, number, 0),
            setup,
            folder: folder.to_owned(),
            proxy,
        };
        worker.life += 1;
        worker
    }

    /// `kill -9`, written down.
    fn kill(&mut self) {
        self.child.kill();
        let at = now();
        append(
            &self.folder.join("deaths.txt"),
            &format!("{at} {}", self.child.id()),
        );
    }

    fn restart(&mut self) {
        self.child = launch(&mut self.setup, &self.folder, self.number, self.life);
        self.life += 1;
    }

    /// Loses every announcement from now on.
    pub(crate) fn deafen(&self) {
        self.proxy.drop_messages();
    }

    /// Tells it to stop, and waits for its end; a sentence if it has none.
    pub(crate) fn end(&mut self, limit: Duration) -> Option<String> {
        drop(self.child.pipes().stdin.take());
        let start = Instant::now();
        while self.child.runs() {
            if start.elapsed() > limit {
                self.child.kill();
                return Some(format!(
                    "hung worker {}: not all calls came to an end within {limit:?}",
                    self.number
                ));
            }
            timing::block(Duration::from_millis(5));
        }
        let status = self.child.wait();
        (!status.success()).then(|| format!("worker {} ended with {status}", self.number))
    }
}

fn launch(setup: &mut Setup, folder: &Path, number: usize, life: u64) -> Child {
    setup.process = format!("{number}.{life}");
    setup.journal = folder.join(format!("worker-{}.txt", setup.process));
    setup.seed = setup.seed.wrapping_add(1_000 * life);
    let program = std::env::current_exe().expect("the program knows where it is");
    let mut command = Command::new(program);
    command
        .arg("worker")
        .arg(serde_json::to_string(setup).expect("plain data"));
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    Child::start(command).expect("the program starts itself")
}

/// Waits for the fault's time, does it, writes it down; one after the other.
pub(crate) fn lane(
    plan: &[Planned],
    start: Instant,
    record: &Record,
    mut act: impl FnMut(&Planned) -> Option<(u64, u64)>,
) {
    for planned in plan {
        timing::block((start + planned.at).saturating_duration_since(Instant::now()));
        if let Some((from, to)) = act(planned) {
            record.write(&Fault {
                from,
                to,
                kind: planned.kind,
                worker: planned.worker,
            });
        }
    }
}

/// Which script's message gets lost.
const PREY: [Verb; 4] = [Verb::Ask, Verb::Renew, Verb::Release, Verb::Withdraw];

/// A fault of a worker or its network. `None` when it didn't come about.
pub(crate) fn disturb(worker: &mut Worker, planned: &Planned) -> Option<(u64, u64)> {
    let proxy = &worker.proxy;
    let from = now();
    let stay = || timing::block(planned.length);
    // milliseconds that each direction takes
    let slow = |most: u64| Duration::from_millis(10 + planned.choice % most);
    match planned.kind {
        Kind::WorkerKilled => {
            worker.kill();
            timing::block(planned.length);
            worker.restart();
        }
        Kind::WorkerPausedShort | Kind::WorkerPausedLong => {
            worker.child.stop();
            stay();
            worker.child.resume();
        }
        Kind::Cut => proxy.cut(Close::Reset),
        Kind::Refused => {
            proxy.refuse();
            stay();
        }
        Kind::BlackHole => {
            proxy.black_hole();
            stay();
        }
        Kind::RequestsLost => {
            proxy.flow(Flow::Swallow, Flow::Pass);
            stay();
        }
        Kind::RepliesLost => {
            proxy.flow(Flow::Pass, Flow::Swallow);
            stay();
        }
        Kind::RequestsLate => {
            proxy.flow(Flow::Hold, Flow::Pass);
            stay();
        }
        Kind::RepliesLate => {
            proxy.flow(Flow::Pass, Flow::Hold);
            stay();
        }
        Kind::Latency => {
            proxy.delay(slow(190));
            stay();
        }
        Kind::SlowThenSilent => {
            proxy.delay(slow(60) + Duration::from_millis(20));
            timing::block(planned.length / 3);
            proxy.flow(Flow::Swallow, Flow::Pass);
            timing::block(planned.length * 2 / 3);
        }
        Kind::OneReplyLost | Kind::OneRequestLost => {
            let prey = usize::try_from(planned.choice % 4)
                .ok()
                .and_then(|n| PREY.get(n));
            let (begin, half) = (Instant::now(), planned.length / 2);
            // a verb that isn't used at the time makes way for any
            let matches = move |request: &Request| {
                let verb = Verb::of(request);
                verb.is_some() && (verb.as_ref() == prey || begin.elapsed() > half)
            };
            let trap = if planned.kind == Kind::OneReplyLost {
                proxy.swallow_reply(matches, Some(Close::Reset))
            } else {
                proxy.swallow_request(matches, Some(Close::Reset))
            };
            let start = Instant::now();
            while !trap.is_sprung() && start.elapsed() < planned.length * 2 {
                timing::block(Duration::from_millis(1));
            }
            if !trap.is_sprung() {
                proxy.heal();
                return None;
            }
        }
        Kind::AnnouncementsLost => {
            proxy.drop_messages();
            stay();
        }
        Kind::ServerRestarted
        | Kind::ServerRestartedEmpty
        | Kind::ServerPaused
        | Kind::ClientsKilled
        | Kind::SubscribersKilled
        | Kind::ScriptsFlushed
        | Kind::ClientsPaused
        | Kind::ServerFull
        | Kind::DataFlushed
        | Kind::ServerClockForward
        | Kind::ServerClockBack => unreachable!("a fault of the server, planned for a worker"),
        Kind::Partition | Kind::PartitionOut | Kind::PartitionIn => {
            unreachable!("the firewall's part")
        }
    }
    worker.proxy.heal();
    Some((from, now()))
}

/// The longest time that TCP lets pass after a partition until it sends again what was lost.
const SENT_AGAIN: Duration = Duration::from_secs(1);

/// Loses packets between a worker and its way to the server. `None` without a network of our own; that is written down.
pub(crate) fn partition(
    worker: &Worker,
    firewall: Option<&Firewall>,
    planned: &Planned,
) -> Option<(u64, u64)> {
    let Some(firewall) = firewall else {
        append(&worker.folder.join("skipped.txt"), &planned.kind.name());
        return None;
    };
    let lost = if planned.kind == Kind::PartitionOut {
        Lost::Requests
    } else if planned.kind == Kind::PartitionIn {
        Lost::Replies
    } else {
        Lost::Both
    };
    let from = now();
    firewall.drop(worker.proxy.port(), lost);
    timing::block(planned.length);
    firewall.heal();
    timing::block(SENT_AGAIN);
    Some((from, now()))
}

fn append(path: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(path);
    writeln!(file.expect("the run's folder is writable"), "{line}").expect("the disk is not full");
}

/// A fault of the server.
pub(crate) fn disturb_server(
    server: &mut RedisServer,
    clock: &Clock,
    planned: &Planned,
) -> Option<(u64, u64)> {
    let length = planned.length.as_millis().to_string();
    let from = now();
    match planned.kind {
        Kind::ServerRestarted | Kind::ServerRestartedEmpty => {
            server.kill();
            if planned.kind == Kind::ServerRestartedEmpty {
                server.forget();
            }
            timing::block(planned.length);
            server.restart();
        }
        Kind::ServerPaused => {
            server.pause();
            timing::block(planned.length);
            server.resume();
        }
        Kind::ClientsKilled => kill_clients(&server.raw()),
        Kind::SubscribersKilled => {
            server
                .raw()
                .run::<u64>(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        }
        Kind::ScriptsFlushed => server.raw().run(&["SCRIPT", "FLUSH"]),
        Kind::ClientsPaused => {
            server.raw().run::<()>(&["CLIENT", "PAUSE", &length, "ALL"]);
            timing::block(planned.length);
        }
        Kind::ServerFull => {
            let raw = server.raw();
            raw.run::<()>(&["CONFIG", "SET", "maxmemory", "1"]);
            timing::block(planned.length);
            raw.run::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
        }
        Kind::DataFlushed => server.raw().run(&["FLUSHALL"]),
        Kind::ServerClockForward => clock.step(server, |ahead| ahead + CLOCK_FORWARD),
        Kind::ServerClockBack => {
            clock.step(server, |ahead| ahead - planned.length);
            // a loss of data before the clock has made up for it would bring old tokens back: nothing could tell the time
            timing::block(planned.length + timing::moment());
        }
        Kind::WorkerKilled
        | Kind::WorkerPausedShort
        | Kind::WorkerPausedLong
        | Kind::Cut
        | Kind::Refused
        | Kind::BlackHole
        | Kind::RequestsLost
        | Kind::RepliesLost
        | Kind::RequestsLate
        | Kind::RepliesLate
        | Kind::Latency
        | Kind::SlowThenSilent
        | Kind::OneReplyLost
        | Kind::OneRequestLost
        | Kind::Partition
        | Kind::PartitionOut
        | Kind::PartitionIn
        | Kind::AnnouncementsLost => unreachable!("a fault of a worker, planned for the server"),
    }
    Some((from, now()))
}

/// All connections without a subscription but the lookout's and this one.
fn kill_clients(raw: &Raw) {
    let own: u64 = raw.run(&["CLIENT", "ID"]);
    let list: String = raw.run(&["CLIENT", "LIST", "TYPE", "normal"]);
    for line in list.lines() {
        let fields: BTreeMap<_, _> = line
            .split(' ')
            .filter_map(|field| field.split_once('='))
            .collect();
        let Some(id) = fields.get("id") else { continue };
        if fields.get("cmd") != Some(&"monitor") && *id != own.to_string() {
            // it may have gone by itself
            drop(raw.attempt::<u64>(&["CLIENT", "KILL", "ID", id]));
        }
    }
}
