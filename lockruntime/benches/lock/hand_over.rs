//! Everybody wants the same lock: how fast it goes from one to the next, and how fair.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tests::RedisServer;
use tokio::sync::Barrier;

use crate::contender::Contender;
use crate::report::{Goal, Report};
use crate::samples::{Samples, count, median, micros};

const TASKS: usize = 16;
const WINDOWS: usize = 5;
const LOOP: Duration = Duration::from_millis(800);

pub(crate) fn run(report: &mut Report) {
    let runtime = crate::runtime();
    let server = RedisServer::start();
    runtime.block_on(async {
        let contenders: Vec<_> = Contender::all(&server.address())
            .await
            .into_iter()
            .map(Arc::new)
            .collect();
        let (mut pairs, mut bursts, mut loops) =
            (Vec::new(), vec![Vec::new(); contenders.len()], Vec::new());
        for _ in 0..WINDOWS {
            for (index, contender) in contenders.iter().enumerate() {
                if let Contender::Floor(_) = **contender {
                    pairs.push(raw_pair(contender).await);
                    continue;
                }
                if let Some(bursts) = bursts.get_mut(index) {
                    bursts.push(micros(burst(contender).await));
                }
                if let Contender::Guard(_) | Contender::Attribute(_) = **contender {
                    loops.push((contender.name(), round(contender).await));
                }
            }
        }
        let pair = median(pairs);
        for (contender, bursts) in contenders.iter().zip(bursts) {
            if bursts.is_empty() {
                continue;
            }
            let ours = matches!(**contender, Contender::Attribute(_));
            let burst = median(bursts);
            let goal = ours.then_some(Goal::at_most(18.0, 25.0));
            let detail = format!("{:.2} ms for all 16", burst / 1e3);
            report.row(
                "burst of 16, raw pairs",
                contender.name(),
                burst / pair,
                detail,
                goal,
            );
        }
        for name in ["guard", "attribute"] {
            let of = |figure: fn(&Round) -> f64| {
                let rounds = loops.iter().filter(|(of, _)| *of == name);
                median(rounds.map(|(_, round)| figure(round)).collect())
            };
            let goal = |goal| (name == "attribute").then_some(goal);
            let detail = format!(
                "{:.1} us, p99 {:.1} us; raw pair {pair:.1} us",
                of(|round| round.p50),
                of(|round| round.p99)
            );
            let p50 = of(|round| round.p50) / pair;
            report.row(
                "hand-over of 16 waiters, p50, raw pairs",
                name,
                p50,
                detail,
                goal(Goal::at_most(1.0, 1.3)),
            );
            let waits = of(|round| round.longest_to_mean);
            report.row(
                "longest / mean wait",
                name,
                waits,
                String::new(),
                goal(Goal::at_most(3.0, 4.0)),
            );
            let jain = of(|round| round.jain);
            report.row(
                "Jain's index",
                name,
                jain,
                String::new(),
                goal(Goal::at_least(0.99, 0.99)),
            );
        }
    });
}

async fn raw_pair(contender: &Arc<Contender>) -> f64 {
    let contender = Arc::clone(contender);
    let task = tokio::spawn(async move {
        let mut times = Samples::default();
        for _ in 0..2_000 {
            let begin = Instant::now();
            contender.pair("bench:raw").await;
            times.push(begin.elapsed());
        }
        times.at(50)
    });
    task.await.expect("it doesn't panic")
}

/// All ask at once, each once.
async fn burst(contender: &Arc<Contender>) -> Duration {
    let start = Arc::new(Barrier::new(TASKS + 1));
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (contender, start) = (Arc::clone(contender), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                contender.pair("bench:burst").await;
            })
        })
        .collect();
    start.wait().await;
    let begin = Instant::now();
    for task in tasks {
        task.await.expect("it doesn't panic");
    }
    begin.elapsed()
}

/// Figures of one window of the loop.
struct Round {
    p50: f64,
    p99: f64,
    longest_to_mean: f64,
    jain: f64,
}

/// All take and give it back, as fast as they can.
async fn round(contender: &Arc<Contender>) -> Round {
    let epoch = Instant::now();
    // who left last, and when
    let (left, who) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicUsize::new(TASKS)),
    );
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (contender, left, who) =
                (Arc::clone(contender), Arc::clone(&left), Arc::clone(&who));
            tokio::spawn(async move {
                let (mut overs, mut waits) = (Samples::default(), Samples::default());
                while epoch.elapsed() < LOOP {
                    let begin = Instant::now();
                    let entered = || {
                        waits.push(begin.elapsed());
                        let since = Duration::from_nanos(left.load(Ordering::Relaxed));
                        if who.load(Ordering::Relaxed) != task {
                            overs.push(epoch.elapsed().saturating_sub(since));
                        }
                    };
                    let leaving = || {
                        who.store(task, Ordering::Relaxed);
                        let now = u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
                        left.store(now, Ordering::Relaxed);
                    };
                    contender.locked("bench:loop", entered, leaving).await;
                }
                (overs, waits)
            })
        })
        .collect();
    let (mut overs, mut waits, mut shares) = (Samples::default(), Samples::default(), Vec::new());
    for task in tasks {
        let (over, wait) = task.await.expect("it doesn't panic");
        shares.push(count(wait.len()));
        overs.append(over);
        waits.append(wait);
    }
    let (sum, squares): (f64, f64) = (
        shares.iter().sum(),
        shares.iter().map(|share| share * share).sum(),
    );
    Round {
        p50: overs.at(50),
        p99: overs.at(99),
        longest_to_mean: waits.longest() / waits.mean(),
        jain: sum * sum / (count(shares.len()) * squares),
    }
}
