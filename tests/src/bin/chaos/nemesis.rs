//! Does the planned faults, and writes down when each of them really was.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tests::chaos::evidence::Fault;
use tests::chaos::now;
use tests::chaos::plan::{Kind, Planned};
use tests::fault::{Close, Firewall, Flow, Lost, Proxy, Request, Trap};
use tests::wire::Verb;
use tests::{Child, timing};

use crate::stage::Stage;
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
    /// To each server one.
    ways: Vec<Proxy>,
    /// Locks are on some of the servers, now these, now those.
    locks_move: bool,
    child: Child,
}

impl Worker {
    pub(crate) fn start(number: usize, stage: &dyn Stage, mut setup: Setup, folder: &Path) -> Self {
        let ways: Vec<_> = (stage.servers())
            .map(|server| Proxy::before(&server.address()))
            .collect();
        setup.url = stage.url(&ways);
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
            ways,
            locks_move: stage.locks_move(),
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
        self.ways.iter().for_each(Proxy::drop_messages);
    }

    /// The ways that a fault hits: a third of the faults hit all, the others any of them.
    fn hit(&self, choice: u64) -> Vec<&Proxy> {
        let some = |place: usize| choice.is_multiple_of(3) || (choice >> (8 + place)) & 1 == 1;
        let hit: Vec<_> = (self.ways.iter().enumerate())
            .filter_map(|(place, way)| some(place).then_some(way))
            .collect();
        if hit.is_empty() {
            self.ways.iter().collect()
        } else {
            hit
        }
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
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the plan has no others for workers"
)]
pub(crate) fn disturb(worker: &mut Worker, planned: &Planned) -> Option<(u64, u64)> {
    let hit = worker.hit(planned.choice);
    let each = |act: &dyn Fn(&Proxy)| hit.iter().for_each(|proxy| act(proxy));
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
        Kind::Cut => each(&|way| way.cut(Close::Reset)),
        Kind::Refused => {
            each(&|way| way.refuse());
            stay();
        }
        Kind::BlackHole => {
            each(&|way| way.black_hole());
            stay();
        }
        Kind::RequestsLost => {
            each(&|way| way.flow(Flow::Swallow, Flow::Pass));
            stay();
        }
        Kind::RepliesLost => {
            each(&|way| way.flow(Flow::Pass, Flow::Swallow));
            stay();
        }
        Kind::RequestsLate => {
            each(&|way| way.flow(Flow::Hold, Flow::Pass));
            stay();
        }
        Kind::RepliesLate => {
            each(&|way| way.flow(Flow::Pass, Flow::Hold));
            stay();
        }
        Kind::Latency => {
            each(&|way| way.delay(slow(190)));
            stay();
        }
        Kind::SlowThenSilent => {
            each(&|way| way.delay(slow(60) + Duration::from_millis(20)));
            timing::block(planned.length / 3);
            each(&|way| way.flow(Flow::Swallow, Flow::Pass));
            timing::block(planned.length * 2 / 3);
        }
        Kind::OneReplyLost | Kind::OneRequestLost => {
            let prey = usize::try_from(planned.choice % 4)
                .ok()
                .and_then(|n| PREY.get(n));
            let (begin, half) = (Instant::now(), planned.length / 2);
            // a verb that isn't used at the time makes way for any script
            let matches = move |request: &Request| {
                Verb::of(request).as_ref() == prey
                    || (request.is_script() && begin.elapsed() > half)
            };
            // where locks are on some of the servers only, nobody knows which way it will come
            let ways = if worker.locks_move {
                worker.ways.iter().collect()
            } else {
                hit
            };
            let count = if worker.locks_move { ways.len() } else { 1 };
            let traps: Vec<_> = (ways.iter().take(count))
                .map(|way| {
                    if planned.kind == Kind::OneReplyLost {
                        way.swallow_reply(matches, Some(Close::Reset))
                    } else {
                        way.swallow_request(matches, Some(Close::Reset))
                    }
                })
                .collect();
            let sprung = || traps.iter().any(Trap::is_sprung);
            let start = Instant::now();
            while !sprung() && start.elapsed() < planned.length * 2 {
                timing::block(Duration::from_millis(1));
            }
            if !sprung() {
                ways.iter().for_each(|way| way.heal());
                return None;
            }
        }
        Kind::AnnouncementsLost => {
            each(&|way| way.drop_messages());
            stay();
        }
        other => unreachable!("{other:?} is no fault of a worker and its ways"),
    }
    worker.ways.iter().for_each(Proxy::heal);
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
    for way in worker.hit(planned.choice) {
        firewall.drop(way.port(), lost);
    }
    timing::block(planned.length);
    firewall.heal();
    timing::block(SENT_AGAIN);
    Some((from, now()))
}

fn append(path: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(path);
    writeln!(file.expect("the run's folder is writable"), "{line}").expect("the disk is not full");
}
