//! Short runs of the program `chaos`: every kind of fault once, and the control run that the judge must find out.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

fn chaos(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_chaos"))
        .args(arguments)
        .output()
        .expect("the program was built with this test");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.success(), text.concat())
}

/// One run at a time: they are about time.
static MACHINE: Mutex<()> = Mutex::new(());

fn promises_hold(topology: &str, seconds: &str) {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let (held, report) = chaos(&["--topology", topology, "--seconds", seconds, "--seed", "1"]);
    assert!(held, "{report}");
}

#[test]
fn promises_hold_under_a_short_schedule_of_faults() {
    promises_hold("standalone", "40");
}

#[test]
fn promises_hold_on_a_quorum() {
    promises_hold("quorum", "35");
}

#[test]
fn promises_hold_under_sentinels() {
    promises_hold("sentinel", "40");
}

#[test]
fn promises_hold_in_a_cluster() {
    promises_hold("cluster", "40");
}

/// The counter-proof: the same work without locks overlaps and loses updates, and the same judge sees it.
#[test]
fn without_locks_the_judge_finds_overlaps() {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let (found, report) = chaos(&["--unlocked", "--seconds", "3", "--seed", "1"]);
    assert!(found, "{report}");
    assert!(report.contains("control run: "), "{report}");
}

#[test]
fn bad_arguments_get_one_clear_sentence() {
    for (arguments, sentence) in [
        (
            &["--topology", "moon"][..],
            "there is no topology moon; give --topology standalone or quorum or sentinel or cluster",
        ),
        (
            &["--minutes", "soon"],
            "--minutes soon: give a number such as 0.5",
        ),
        (&["--seed"], "--seed needs a value"),
        (
            &["--workers", "1"],
            "--workers 1: give a number from 2 to 16",
        ),
        (&["--hours"], "unknown argument --hours"),
        (&["--replay", "no-such-folder"], "no-such-folder/run.txt"),
    ] {
        let (accepted, text) = chaos(arguments);
        assert!(
            !accepted && text.contains(sentence),
            "{arguments:?}: {text}"
        );
    }
}

/// The planted bugs of `mutants/` fit the code as it is: what a patch takes away or leaves stands there.
#[test]
fn planted_bugs_still_fit() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace");
    let mut hunks = 0;
    for patch in std::fs::read_dir(top.join("tests/chaos/mutants")).expect("the patches are here") {
        let patch = patch.expect("the folder can be read").path();
        if patch
            .extension()
            .is_none_or(|extension| extension != "patch")
        {
            continue;
        }
        let text = std::fs::read_to_string(&patch).expect("a patch is text");
        for file in text.split("\n--- a/").skip(1) {
            let (name, rest) = file.split_once('\n').expect("a file has hunks");
            let code = std::fs::read_to_string(top.join(name)).expect("a patch names a file");
            for hunk in rest.split("\n@@ ").skip(1) {
                let old: String = (hunk.lines().skip(1))
                    .filter_map(|line| line.strip_prefix(['-', ' ']))
                    .map(|line| format!("{line}\n"))
                    .collect();
                assert!(
                    code.contains(&old),
                    "{}: {name} has no\n{old}",
                    patch.display()
                );
                hunks += 1;
            }
        }
    }
    assert!(hunks >= 10, "{hunks} hunks were looked at");
}
