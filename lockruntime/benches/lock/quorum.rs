//! Five masters: what an outage of two of them costs, one dead and one that says nothing.

use std::time::{Duration, Instant};

use lockruntime::LockManager;
use tests::masters::Masters;

use crate::report::{Goal, Report};
use crate::samples::{Samples, median};

const WINDOWS: usize = 5;
const PAIRS: usize = 300;
const TURNS: usize = 200;

pub(crate) fn run(report: &mut Report) {
    let runtime = crate::runtime();
    let (all, mut rest) = (Masters::start(5), Masters::start(5));
    let managers = [all.proxied_url(), rest.proxied_url()]
        .map(|url| LockManager::from_url(&url).expect("the kit's URLs are valid"));
    let [up, down] = &managers;
    runtime.block_on(async {
        // in use before two fail
        for manager in &managers {
            pairs(manager).await;
        }
        let turn = median(vec![turns(up).await, turns(up).await, turns(up).await]);
        if let [dead, silent, ..] = &mut rest.servers[..] {
            dead.kill();
            silent.pause();
        }
        let (mut whole, mut partial) = (Vec::new(), Vec::new());
        for _ in 0..WINDOWS {
            whole.push(pairs(up).await);
            partial.push(pairs(down).await);
        }
        let of = |windows: &mut [Samples], percent| {
            median(windows.iter_mut().map(|times| times.at(percent)).collect())
        };
        let (p50, p99) = (of(&mut whole, 50), of(&mut whole, 99));
        let detail = format!("{p50:.0} us, p99 {p99:.0} us, hand-over p50 {turn:.0} us");
        report.row(
            "quorum of 5, acquire, p99 / p50",
            "all up",
            p99 / p50,
            detail,
            None,
        );
        let (least, most) = (of(&mut partial, 50), of(&mut partial, 99));
        let detail = format!("{least:.0} us, p99 {most:.0} us");
        let goal = Some(Goal::at_most(2.0, 2.0));
        report.row(
            "acquire, p99, two down / all up",
            "quorum",
            most / p99,
            detail,
            goal,
        );
    });
}

/// Times of acquiring a free lock.
async fn pairs(manager: &LockManager) -> Samples {
    let mut times = Samples::default();
    for pair in 0..PAIRS {
        let key = format!("bench:quorum:{}", pair % 7);
        let begin = Instant::now();
        let guard = manager
            .lock(&key)
            .acquire()
            .await
            .expect("a majority is there");
        times.push(begin.elapsed());
        guard.release().await.expect("it is ours");
    }
    times
}

/// The middle time from a release to the entry of the next, of two that take turns, in microseconds.
async fn turns(manager: &LockManager) -> f64 {
    let mut times = Samples::default();
    for _ in 0..TURNS {
        let key = "bench:quorum:turns";
        let guard = manager
            .lock(key)
            .acquire()
            .await
            .expect("a majority is there");
        let next = manager.clone();
        let waiting = tokio::spawn(async move {
            let guard = next.lock(key).acquire().await.expect("its turn comes");
            let entered = Instant::now();
            guard.release().await.expect("it is ours");
            entered
        });
        while manager
            .snapshot(key)
            .await
            .expect("a majority is there")
            .waiting
            .is_empty()
        {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        let left = Instant::now();
        guard.release().await.expect("it is ours");
        times.push(waiting.await.expect("it doesn't panic") - left);
    }
    times.at(50)
}
