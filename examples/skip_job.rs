//! A job that every replica starts at each tick, and one runs.
//!
//! ```text
//! cargo run -p examples --example skip_job
//! LOCK_URL=redis://127.0.0.1:6379 cargo run -p examples --example skip_job
//! ```
//!
//! Three replicas start the same job once a second, by clocks that differ by up to 400 ms. `mode = "skip"` makes a start that finds
//! the lock taken a no-op instead of an error; `min_hold` keeps the lock taken for longer than the clocks differ, however short
//! the job is, so that the late ones find it taken. With `LOCK_URL` the lock is on that Redis, as it is where replicas are
//! processes of different machines.

use std::error::Error;
use std::time::Duration;

use lockruntime::{LockManager, distributed_lock};
use tokio::time::{Instant, sleep, sleep_until};

const TICKS: u32 = 3;
const EVERY: Duration = Duration::from_secs(1);

/// `None` where another replica runs this tick's job, or has run it.
#[distributed_lock(key = "job:<name>", mode = "skip", min_hold = "600ms")]
async fn run_once(name: &str, replica: &str, tick: u32) -> Option<u32> {
    say(&format!("tick {tick}: {replica} runs {name}"));
    sleep(Duration::from_millis(50)).await;
    Some(tick)
}

/// What a scheduler does in each replica. Answers the ticks that it ran.
async fn replica(name: &str, locks: LockManager, midnight: Instant) -> Vec<u32> {
    let job = async {
        let mut ran = Vec::new();
        for tick in 1..=TICKS {
            sleep_until(midnight + EVERY * tick).await;
            ran.extend(run_once("report", name, tick).await);
        }
        ran
    };
    locks.scope(job).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let locks = match std::env::var_os("LOCK_URL") {
        Some(_) => LockManager::from_env()?,
        None => LockManager::memory(),
    };
    let now = Instant::now();
    let late = |millis| now + Duration::from_millis(millis);
    let (a, b, c) = tokio::join!(
        replica("replica A", locks.clone(), late(200)),
        replica("replica B", locks.clone(), late(0)),
        replica("replica C", locks.clone(), late(400)),
    );
    let mut ran = [a, b, c].concat();
    ran.sort_unstable();
    if ran != (1..=TICKS).collect::<Vec<_>>() {
        return Err(format!("each tick must be run once, but these were: {ran:?}").into());
    }
    locks.shutdown(Duration::from_secs(2)).await;
    say("each tick was run once");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the program shows what happens")]
fn say(line: &str) {
    println!("{line}");
}
