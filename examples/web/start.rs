//! Command line, lock manager and the end of the program.

use std::env;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use lockruntime::LockManager;

use crate::demo;

/// How long running bodies may go on once the program is told to stop: 10 s, or `BUDGET_MS`.
#[must_use]
pub fn budget() -> Duration {
    millis("BUDGET_MS", 10_000)
}

/// How long a charge takes: 200 ms, or `CHARGE_MS`.
#[must_use]
pub fn charge_time() -> Duration {
    millis("CHARGE_MS", 200)
}

fn millis(name: &str, default: u64) -> Duration {
    let given = env::var(name).ok().and_then(|text| text.parse().ok());
    Duration::from_millis(given.unwrap_or(default))
}

const USAGE: &str = "usage: [ADDRESS:PORT] [--demo], for example 127.0.0.1:3000; PORT in the environment works, too";

/// The command line.
#[derive(Debug)]
pub struct Start {
    /// Where to listen.
    pub address: SocketAddr,
    demo: bool,
}

impl Start {
    /// Reads arguments and `PORT`.
    ///
    /// # Errors
    /// When there is something else than an address and `--demo`.
    pub fn from_args() -> Result<Self, Box<dyn Error>> {
        let mut demo = false;
        let mut address = None;
        for argument in env::args().skip(1) {
            if argument == "--demo" {
                demo = true;
            } else {
                address = Some(
                    argument
                        .parse()
                        .map_err(|error| format!("{argument:?}: {error}; {USAGE}"))?,
                );
            }
        }
        let address = match (address, env::var("PORT")) {
            (Some(address), _) => address,
            (None, Ok(port)) => {
                let port: u16 = port
                    .parse()
                    .map_err(|error| format!("PORT={port:?}: {error}; {USAGE}"))?;
                SocketAddr::from(([127, 0, 0, 1], port))
            }
            // the demonstration knows its own port
            (None, Err(_)) => SocketAddr::from(([127, 0, 0, 1], if demo { 0 } else { 3000 })),
        };
        Ok(Self { address, demo })
    }

    /// Ends when the program shall end: at a signal, or after the demonstration.
    ///
    /// # Errors
    /// When the demonstration got an answer that it should not get.
    pub async fn until_stopped(&self, address: SocketAddr) -> Result<(), Box<dyn Error>> {
        if self.demo {
            demo::run(address).await
        } else {
            Ok(signal().await?)
        }
    }
}

/// Locks that hold over all copies of this program if `LOCK_URL` is set, else within this process.
///
/// # Errors
/// When `LOCK_URL` is no URL of a lock server.
pub fn locks() -> Result<LockManager, Box<dyn Error>> {
    match env::var_os("LOCK_URL") {
        Some(_) => Ok(LockManager::from_env()?),
        None => Ok(LockManager::memory()),
    }
}

/// Ctrl-C, or what a container is told to stop with.
#[cfg(unix)]
async fn signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed,
        _ = terminate.recv() => Ok(()),
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
async fn signal() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
