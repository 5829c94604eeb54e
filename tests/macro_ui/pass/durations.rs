//! Leases and waits: literals, and expressions that see the arguments.

#[path = "../rival.rs"]
mod rival;

use std::time::Duration;

use lockruntime::{LockError, distributed_lock};

const LEASE: Duration = Duration::from_secs(5);

struct Limits {
    wait: Duration,
}

type Answer = Result<(), LockError>;

#[distributed_lock(key = "a", lease = "100ms", wait = "0s")]
async fn shortest() -> Answer {
    rival::refused("a").await;
    Ok(())
}

#[distributed_lock(key = "a", lease = "24h", wait = "1h")]
async fn longest() -> Answer {
    rival::refused("a").await;
    Ok(())
}

#[distributed_lock(key = "a", lease = LEASE, wait = LEASE / 2)]
async fn constants() -> Answer {
    rival::refused("a").await;
    Ok(())
}

#[distributed_lock(key = "a", lease = Duration::from_secs(seconds), wait = limits.wait)]
async fn arguments(seconds: u64, limits: &Limits) -> Answer {
    rival::refused("a").await;
    Ok(())
}

#[distributed_lock(key = "a:<id>", lease = Duration::from_secs(seconds), wait = { let half = seconds / 2; Duration::from_secs(half) })]
async fn bound_by_patterns((id, seconds): (String, u64)) -> Answer {
    rival::refused("a:x").await;
    Ok(())
}

#[distributed_lock(key = "a", lease = pick::<u8, u16>(seconds))]
async fn with_commas(seconds: u64) -> Answer {
    rival::refused("a").await;
    Ok(())
}

fn pick<A, B>(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

async fn case() -> Answer {
    shortest().await?;
    longest().await?;
    constants().await?;
    arguments(3, &Limits { wait: LEASE }).await?;
    bound_by_patterns(("x".to_owned(), 3)).await?;
    with_commas(3).await
}

fn main() {
    rival::run(case()).unwrap();
}
