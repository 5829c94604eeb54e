//! The program `lockctl`, as a library: tests run it in their own process. Not an interface for applications.

mod args;
mod bench;
mod doctor;
#[cfg(feature = "dashboard")]
mod hosts;
mod locks;
mod release;
mod render;
mod serve;
mod show;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};

use clap::{CommandFactory, Parser};

use crate::error::ConfigError;
use crate::manager::LockManager;
use args::{Line, Place, Verb};

/// Done.
pub const DONE: u8 = 0;
/// The storage, or a server of it, could not be asked.
pub const NO_ANSWER: u8 = 1;
/// The command line can't be used.
pub const MISUSED: u8 = 2;
/// Nobody has the lock; it is not this owner's.
pub const NOT_SO: u8 = 3;
/// Something needs a look.
pub const UNWELL: u8 = 4;

/// Where the program writes.
pub struct Screen<'a> {
    out: &'a mut dyn Write,
    complaints: &'a mut dyn Write,
    /// It is a terminal, which may be cleared.
    pub redraws: bool,
    /// It shows colours.
    pub colored: bool,
    json: bool,
}

impl fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}

impl<'a> Screen<'a> {
    /// No terminal: neither cleared nor coloured.
    pub fn new(out: &'a mut dyn Write, complaints: &'a mut dyn Write) -> Self {
        Self {
            out,
            complaints,
            redraws: false,
            colored: false,
            json: false,
        }
    }
}

/// Why a verb ended early.
enum Stop {
    /// Nobody reads any more.
    Closed,
    /// What to say, and the exit code.
    Failed(String, u8),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Failed(format!("can't write or start: {error}"), NO_ANSWER)
        }
    }
}

impl From<ConfigError> for Stop {
    fn from(error: ConfigError) -> Self {
        Self::Failed(error.to_string(), MISUSED)
    }
}

impl From<crate::error::BackendError> for Stop {
    fn from(error: crate::error::BackendError) -> Self {
        Self::Failed(error.to_string(), NO_ANSWER)
    }
}

impl From<crate::error::LockError> for Stop {
    fn from(error: crate::error::LockError) -> Self {
        let misused = matches!(error, crate::error::LockError::InvalidKey { .. });
        Self::Failed(error.to_string(), if misused { MISUSED } else { NO_ANSWER })
    }
}

type Outcome = Result<u8, Stop>;

/// Runs the program; the first argument is its name. Answers its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>, mut screen: Screen<'_>) -> u8 {
    let line = match Line::try_parse_from(args) {
        Ok(line) => line,
        Err(error) => {
            let text = error.render();
            let to: &mut dyn Write = if error.use_stderr() {
                screen.complaints
            } else {
                screen.out
            };
            // whoever asked may have closed it
            drop(write!(to, "{text}"));
            return if error.use_stderr() { MISUSED } else { DONE };
        }
    };
    screen.json = line.json;
    match act(line, &mut screen) {
        Ok(code) => code,
        Err(Stop::Closed) => DONE,
        Err(Stop::Failed(says, code)) => {
            drop(writeln!(
                screen.complaints,
                "lockctl: {}",
                render::clean(&says)
            ));
            code
        }
    }
}

fn act(line: Line, screen: &mut Screen<'_>) -> Outcome {
    if let Verb::Completions { shell } = line.verb {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Line::command(), "lockctl", &mut script);
        screen.out.write_all(&script)?;
        return Ok(DONE);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let code = runtime.block_on(async {
        let locks = manager(&line.place)?;
        match line.verb {
            Verb::Ls { pattern } => locks::list(&locks, &pattern, screen).await,
            Verb::Watch {
                pattern,
                every,
                times,
            } => locks::watch(&locks, &pattern, every, times, screen).await,
            Verb::Show { key } => show::show(&locks, &key, screen).await,
            Verb::Release { key, owner } => release::release(&locks, &key, &owner, screen).await,
            Verb::Doctor => doctor::doctor(&locks, screen).await,
            Verb::Bench { count } => {
                bench::bench([&locks, &manager(&line.place)?], count, screen).await
            }
            Verb::Serve(page) => serve::serve(locks, page, screen).await,
            Verb::Completions { .. } => Ok(DONE),
        }
    })?;
    screen.out.flush()?;
    Ok(code)
}

fn manager(place: &Place) -> Result<LockManager, Stop> {
    let Some(url) = &place.url else {
        let says = "where are the locks? Give --url redis://host:6379, or set LOCK_URL";
        return Err(Stop::Failed(says.to_owned(), MISUSED));
    };
    let mut builder = LockManager::builder().url(url);
    if let Some(app) = &place.app {
        builder = builder.app(app);
    }
    if let Some(environment) = &place.env {
        builder = builder.environment(environment);
    }
    Ok(builder.build()?)
}

/// Ready when the program is told to end.
async fn told_to_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            let interrupted = std::pin::pin!(tokio::signal::ctrl_c());
            let terminated = std::pin::pin!(terminated.recv());
            futures_util::future::select(interrupted, terminated).await;
            return;
        }
    }
    // where there are no signals, nothing but the end of the process ends it
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
