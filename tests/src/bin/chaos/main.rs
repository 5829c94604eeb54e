//! A long run of real processes under faults, and its judgement. `tests/run-chaos` starts it; it starts itself as its workers.

mod arguments;
mod clock;
mod driver;
mod lookout;
mod nemesis;
mod stage;
mod worker;

use std::path::Path;
use std::process::ExitCode;

use arguments::{Arguments, Task};
use tests::chaos::evidence::Evidence;
use tests::chaos::judge::{judge, overlaps};
use tests::chaos::report;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, setup] = &words[..]
        && word == "worker"
    {
        worker::main(setup);
        return ExitCode::SUCCESS;
    }
    match arguments::read(&words) {
        Err(sentence) => {
            complain(&format!("run-chaos: {sentence}"));
            ExitCode::from(2)
        }
        Ok(Task::Replay(folder)) => verdict_on(&folder),
        Ok(Task::Run(arguments)) => {
            tests::fault::enter_own_network();
            run(&arguments)
        }
    }
}

fn run(arguments: &Arguments) -> ExitCode {
    let folder = &arguments.folder;
    if let Err(error) = std::fs::create_dir_all(folder) {
        complain(&format!(
            "run-chaos: {}: {error}; name another with --folder",
            folder.display()
        ));
        return ExitCode::from(2);
    }
    driver::run(arguments);
    let code = verdict_on(folder);
    if code == ExitCode::SUCCESS && !arguments.keep {
        drop(std::fs::remove_dir_all(folder));
    } else {
        say(&format!(
            "history and schedule: {}\njudge them again: ./tests/run-chaos --replay {}",
            folder.display(),
            folder.display()
        ));
    }
    code
}

/// Reads, judges, prints; the control run without locks must be found out.
fn verdict_on(folder: &Path) -> ExitCode {
    let evidence = match Evidence::read(folder) {
        Ok(evidence) => evidence,
        Err(sentence) => {
            complain(&format!("run-chaos: {sentence}"));
            return ExitCode::from(2);
        }
    };
    let verdicts = judge(&evidence);
    say(&report::page(&evidence, &verdicts));
    let wrong: usize = verdicts.iter().map(|verdict| verdict.wrong.len()).sum();
    if !evidence.run.locked {
        let found = overlaps(&evidence).len();
        let lost = verdicts
            .iter()
            .any(|verdict| verdict.promise.starts_with("R2") && !verdict.wrong.is_empty());
        say(&format!(
            "control run: {found} overlaps, updates {}",
            if lost { "lost" } else { "all kept" }
        ));
        return if found > 0 && lost {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    say(if wrong == 0 {
        "all promises held"
    } else {
        "PROMISES BROKEN"
    });
    if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[expect(
    clippy::print_stdout,
    reason = "the report is what this program is for"
)]
fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "progress and errors of a program")]
fn complain(text: &str) {
    eprintln!("{text}");
}
