//! Short runs of the program `chaos`: every kind of fault once, and the control run that the judge must find out.

use std::process::Command;

fn chaos(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_chaos"))
        .args(arguments)
        .output()
        .expect("the program was built with this test");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.success(), text.concat())
}

#[test]
fn promises_hold_under_a_short_schedule_of_faults() {
    let (held, report) = chaos(&["--topology", "standalone", "--seconds", "30", "--seed", "1"]);
    assert!(held, "{report}");
}
