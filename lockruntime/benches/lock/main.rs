//! What the lock costs: beside the raw commands, which are the floor, in one interleaved run.
//!
//! `cargo bench -p lockruntime --features quorum` starts its own servers, prints a table, and writes `target/bench/lock.json`;
//! with `-- uncontended` it runs the sections whose names contain the word. Ratios are what counts; a row beyond its gate
//! ends the program with an error.
#![expect(
    clippy::disallowed_methods,
    reason = "a caller's tasks and stopwatches, as any application has them"
)]

mod contender;
mod floor;
mod hand_over;
mod quorum;
mod report;
mod samples;
mod uncontended;

use std::process::ExitCode;

use report::Report;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| {
        let mut words = words
            .iter()
            .filter(|word| !word.starts_with('-'))
            .peekable();
        words.peek().is_none() || words.any(|word| name.contains(word.as_str()))
    };
    let mut report = Report::default();
    let sections: [Section; 3] = [
        ("uncontended", uncontended::run),
        ("hand_over", hand_over::run),
        ("quorum", quorum::run),
    ];
    for (name, run) in sections {
        if wanted(name) {
            run(&mut report);
        }
    }
    report.finish()
}

/// A part of the run, and its name.
type Section = (&'static str, fn(&mut Report));

/// The runtime of callers: multi-threaded, as in most services.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be made")
}
