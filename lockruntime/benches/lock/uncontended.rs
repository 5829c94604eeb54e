//! Nobody else wants the lock: what taking it and giving it back costs on top of the two commands.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use tests::RedisServer;
use tests::fault::Proxy;

use crate::contender::Contender;
use crate::report::{Goal, Report};
use crate::samples::{Samples, count};

const WINDOWS: usize = 9;
const WINDOW: Duration = Duration::from_millis(300);
const TASKS: usize = 64;

pub(crate) fn run(report: &mut Report) {
    let runtime = crate::runtime();
    let server = RedisServer::start();
    let contenders = runtime.block_on(Contender::all(&server.address()));
    let goal = Goal::at_least(0.90, 0.85);
    let alone = runtime.block_on(measure(contenders, one_task));
    report.rows("uncontended, one task, p50", &alone, goal);

    let proxy = Proxy::before(&server.address());
    proxy.delay(Duration::from_micros(500));
    let contenders = runtime.block_on(Contender::all(&proxy.address()));
    let far = runtime.block_on(measure(contenders, one_task));
    report.rows(
        "the same over 0.5 ms of delay",
        &far,
        Goal::at_least(0.98, 0.95),
    );

    let contenders = runtime.block_on(Contender::all(&server.address()));
    let many = runtime.block_on(measure(contenders, many_tasks));
    report.rows(
        "64 tasks, own keys, pairs a second",
        &many,
        Goal::at_least(0.85, 0.75),
    );
}

/// For each contender one figure a window: speed, in pairs a second.
pub(crate) struct Speeds {
    pub(crate) name: &'static str,
    pub(crate) windows: Vec<f64>,
}

/// Windows of all contenders in turn, in an order of its own each time; the first ones warm up.
async fn measure(
    contenders: Vec<Contender>,
    window: impl AsyncFn(Arc<Contender>) -> f64,
) -> Vec<Speeds> {
    let contenders: Vec<_> = contenders.into_iter().map(Arc::new).collect();
    let mut speeds: Vec<_> = (contenders.iter())
        .map(|contender| Speeds {
            name: contender.name(),
            windows: Vec::new(),
        })
        .collect();
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    for round in 0..=WINDOWS {
        order.shuffle(&mut rand::rng());
        for index in &order {
            if let (Some(contender), Some(speeds)) =
                (contenders.get(*index), speeds.get_mut(*index))
            {
                let speed = window(Arc::clone(contender)).await;
                if round > 0 {
                    speeds.windows.push(speed);
                }
            }
        }
    }
    speeds
}

/// One task: by the middle of its times.
async fn one_task(contender: Arc<Contender>) -> f64 {
    let task = tokio::spawn(async move {
        let (start, mut times) = (Instant::now(), Samples::default());
        while start.elapsed() < WINDOW {
            let begin = Instant::now();
            contender.pair("bench:alone").await;
            times.push(begin.elapsed());
        }
        1e6 / times.at(50)
    });
    task.await.expect("it doesn't panic")
}

/// Many tasks, each with a key of its own: by what they get done.
async fn many_tasks(contender: Arc<Contender>) -> f64 {
    let start = Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let contender = Arc::clone(&contender);
            tokio::spawn(async move {
                let (key, mut pairs) = (format!("bench:own:{task}"), 0);
                while start.elapsed() < WINDOW {
                    contender.pair(&key).await;
                    pairs += 1;
                }
                pairs
            })
        })
        .collect();
    let mut pairs = 0;
    for task in tasks {
        pairs += task.await.expect("it doesn't panic");
    }
    count(pairs) / start.elapsed().as_secs_f64()
}
