//! What the program is told.

use std::path::PathBuf;
use std::time::Duration;

use tests::chaos::topology::Topology;

/// What to do.
#[derive(Debug)]
pub(crate) enum Task {
    Run(Arguments),
    Replay(PathBuf),
}

/// How to run.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    pub(crate) topology: Topology,
    pub(crate) time: Duration,
    pub(crate) seed: u64,
    pub(crate) workers: usize,
    pub(crate) locked: bool,
    pub(crate) folder: PathBuf,
    pub(crate) keep: bool,
}

const USAGE: &str = "give --topology standalone, quorum, sentinel or cluster, --minutes N (such as 0.5) or --seconds N, --seed S, and if wanted --workers N, \
                     --unlocked, --folder F, --keep; or --replay FOLDER alone";

/// Reads the arguments.
///
/// # Errors
/// A sentence that says what is wrong and what to give.
pub(crate) fn read(words: &[String]) -> Result<Task, String> {
    let mut topology = Topology::default();
    let mut time = Duration::from_secs(120);
    let mut seed = None;
    let mut workers = 4;
    let (mut locked, mut keep) = (true, false);
    let mut folder = None;
    let mut words = words.iter();
    while let Some(name) = words.next() {
        let mut value = || {
            words
                .next()
                .ok_or_else(|| format!("{name} needs a value; {USAGE}"))
        };
        match name.as_str() {
            "--unlocked" => locked = false,
            "--keep" => keep = true,
            "--topology" => {
                let name = value()?;
                topology = Topology::named(name).ok_or_else(|| {
                    let names = Topology::ALL.map(Topology::name).join(" or ");
                    format!("there is no topology {name}; give --topology {names}")
                })?;
            }
            "--minutes" => time = Duration::from_secs_f64(number(name, value()?)? * 60.0),
            "--seconds" => time = Duration::from_secs_f64(number(name, value()?)?),
            "--seed" => {
                let text = value()?;
                seed = Some(
                    text.parse()
                        .map_err(|error| format!("--seed {text}: {error}; give a whole number"))?,
                );
            }
            "--workers" => {
                let text = value()?;
                workers = text
                    .parse()
                    .ok()
                    .filter(|workers| (2..=16).contains(workers))
                    .ok_or_else(|| format!("--workers {text}: give a number from 2 to 16"))?;
            }
            "--folder" => folder = Some(PathBuf::from(value()?)),
            "--replay" => return Ok(Task::Replay(PathBuf::from(value()?))),
            _ => return Err(format!("unknown argument {name}; {USAGE}")),
        }
    }
    let seed = seed.unwrap_or_else(rand::random);
    keep |= folder.is_some();
    let folder = folder.unwrap_or_else(|| {
        std::env::temp_dir().join(format!("lock-chaos-{seed}-{}", std::process::id()))
    });
    Ok(Task::Run(Arguments {
        topology,
        time,
        seed,
        workers,
        locked,
        folder,
        keep,
    }))
}

fn number(name: &str, text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number| (0.001..=100_000.0).contains(number))
        .ok_or_else(|| format!("{name} {text}: give a number such as 0.5"))
}
