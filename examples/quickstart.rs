//! Concurrent payments, one at a time per boleto.
//!
//! ```text
//! cargo run -p examples --example quickstart
//! LOCK_URL=redis://127.0.0.1:6379 cargo run -p examples --example quickstart
//! ```
//!
//! Without `LOCK_URL` the locks live in this process. With it, copies of this program that run at the same time take turns:
//! start two of them in two terminals.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use lockruntime::{LockError, LockManager, distributed_lock};

/// At most one call per boleto runs at a time, over all processes that use the same Redis; the others wait in the order in
/// which they came.
#[distributed_lock(key = "boleto:<boleto>", lease = "30s", mode = "queue")]
async fn pay(boleto: u64, payer: &str, start: Instant) -> Result<(), LockError> {
    let token = lockruntime::current()
        .map(|hold| hold.fencing_token().get())
        .unwrap_or_default();
    say(
        start,
        &format!("boleto {boleto:>2}  {payer:<5} enters  fencing token {token}"),
    );
    // the payment itself; a store that keeps the token refuses a late writer with a smaller one
    tokio::time::sleep(Duration::from_millis(150)).await;
    say(start, &format!("boleto {boleto:>2}  {payer:<5} leaves"));
    Ok(())
}

/// The same lock, for callers that would rather be told than wait.
#[distributed_lock(key = "boleto:<boleto>", lease = "30s", mode = "reject")]
async fn pay_now_or_never(boleto: u64, payer: &str, start: Instant) -> Result<(), LockError> {
    say(
        start,
        &format!("boleto {boleto:>2}  {payer:<5} finds it free"),
    );
    Ok(())
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "the program says why it ends")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let locks = if std::env::var_os("LOCK_URL").is_some() {
        say_line("locks on the Redis of LOCK_URL, shared with every copy of this program");
        LockManager::from_env()?
    } else {
        say_line(
            "locks in memory; set LOCK_URL=redis://127.0.0.1:6379 to share them with other processes",
        );
        LockManager::memory()
    };
    // annotated functions find it from now on
    locks.install()?;

    let start = Instant::now();
    let dora = async {
        // by now Anna pays boleto 42, and Bruno and Carla wait for it
        tokio::time::sleep(Duration::from_millis(75)).await;
        match pay_now_or_never(42, "Dora", start).await {
            Err(error) if error.is_busy() => {
                say(start, &format!("boleto 42  Dora  is refused: {error}"))
            }
            outcome => outcome?,
        }
        Ok(())
    };
    tokio::try_join!(
        pay(42, "Anna", start),
        pay(42, "Bruno", start),
        pay(42, "Carla", start),
        pay(7, "Elias", start),
        dora,
    )?;

    // gives back what is left; here nothing is
    locks.shutdown(Duration::from_secs(5)).await;
    say(start, "shut down, nothing left behind");
    Ok(())
}

fn say(start: Instant, line: &str) {
    say_line(&format!("{:>4} ms  {line}", start.elapsed().as_millis()));
}

#[expect(clippy::print_stdout, reason = "the program shows what happens")]
fn say_line(line: &str) {
    println!("{line}");
}
