//! One run: servers, workers, faults, and the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tests::chaos::evidence::{Fault, Run};
use tests::chaos::plan::{Kind, OF_PACKETS};
use tests::chaos::{nanos, now, plan};
use tests::fault::Firewall;
use tests::register::Register;
use tests::{RedisServer, tidy, timing};

use crate::arguments::Arguments;
use crate::lookout::Lookout;
use crate::nemesis::{Record, Worker, disturb, lane, partition};
use crate::stage;
use crate::worker::Setup;

const TASKS: u64 = 3;

pub(crate) fn run(arguments: &Arguments) {
    let Arguments {
        time, seed, folder, ..
    } = arguments;
    let write = |name: &str, text: String| {
        std::fs::write(folder.join(name), text).expect("the run's folder is writable");
    };
    let (of_workers, of_servers) = plan::plan(arguments.topology, *seed, *time, arguments.workers);
    let mut planned: Vec<_> = of_workers.iter().chain(&of_servers).collect();
    planned.sort_by_key(|planned| planned.at);
    let lines: Vec<_> = planned.iter().map(|planned| planned.line()).collect();
    // there even if nobody dies
    write("deaths.txt", String::new());
    write("skipped.txt", String::new());
    write("plan.txt", lines.join("\n") + "\n");
    crate::complain(&format!(
        "seed {seed}: {} faults planned, see {}",
        lines.len(),
        folder.join("plan.txt").display()
    ));

    let mut stage = stage::start(arguments.topology);
    let firewall = Firewall::of_own_network();
    let register = Register::start();
    let record = Arc::new(Record::create(&folder.join("faults.txt")));
    let lookout = Lookout::start(&*stage, folder, Arc::clone(&record));
    let setup = Setup {
        url: String::new(),
        register: register.url(),
        journal: folder.clone(),
        process: String::new(),
        seed: *seed,
        tasks: TASKS,
        locked: arguments.locked,
    };
    let mut run = Run {
        topology: arguments.topology,
        seed: *seed,
        seconds: time.as_secs(),
        workers: arguments.workers,
        locked: arguments.locked,
        heartbeat: nanos(timing::heartbeat()),
        moment: nanos(timing::moment()),
        start: now(),
        healed: 0,
        stopped: 0,
    };
    let mut workers: Vec<_> = (0..arguments.workers)
        .map(|number| Worker::start(number, &*stage, setup.clone(), folder))
        .collect();
    let start = Instant::now();
    std::thread::scope(|scope| {
        // the control run needs no faults to go wrong
        if !arguments.locked {
            return;
        }
        let (record, of_servers, stage) = (&*record, &of_servers, &mut stage);
        scope.spawn(move || {
            lane(of_servers, start, record, |planned| {
                Some(stage.disturb(planned))
            })
        });
        lane(&of_workers, start, record, |planned| {
            let worker = planned.worker.and_then(|number| workers.get_mut(number));
            let worker = worker.expect("planned for a worker that is there");
            if OF_PACKETS.contains(&planned.kind) {
                partition(worker, firewall.as_ref(), planned)
            } else {
                disturb(worker, planned)
            }
        });
    });
    run.healed = now();
    let left = (start + *time).saturating_duration_since(Instant::now());
    timing::block(left * 3 / 5);
    // losing every announcement costs a waiter a heartbeat; this is no fault to heal
    let deaf = now();
    if arguments.locked {
        workers.iter().for_each(Worker::deafen);
    }
    timing::block(left * 2 / 5);
    run.stopped = now();
    let mut outcome: Vec<String> = workers
        .iter_mut()
        .filter_map(|worker| worker.end(timing::patience()))
        .collect();
    lookout.end();
    for number in 0..arguments.workers {
        record.write(&Fault {
            from: deaf,
            to: now(),
            kind: Kind::AnnouncementsLost,
            worker: Some(number),
        });
    }
    outcome.extend(stage.masters().flat_map(left_behind));
    outcome.push(String::new());
    write("run.txt", run.text());
    write("outcome.txt", outcome.join("\n"));
    write("store.txt", register.store_log().join("\n") + "\n");
}

/// What is on the server longer than it may be.
fn left_behind(server: &RedisServer) -> Vec<String> {
    let raw = server.raw();
    // the longest lease of a worker, of which one may have died
    let limit = timing::millis(2_000).max(timing::ticket_life() * 2) + timing::millis(1_000);
    let start = Instant::now();
    let mut left = tidy::left_behind(&raw);
    while !left.is_empty() && start.elapsed() < limit {
        timing::block(Duration::from_millis(5));
        left = tidy::left_behind(&raw);
    }
    let mut wrong: Vec<_> = left
        .iter()
        .map(|key| format!("left behind: {key}"))
        .collect();
    let marker = |key: &String| key.ends_with(tidy::MARKER);
    for key in raw.keys("lib_*").into_iter().filter(|key| !marker(key)) {
        let left: i64 = raw.run(&["PTTL", &key]);
        if left == -1 || left > 3_601_000 {
            wrong.push(format!("stays too long: {key}"));
        }
    }
    wrong
}
