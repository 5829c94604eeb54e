//! The table, for people and for machines.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use crate::samples::median;
use crate::uncontended::Speeds;

/// What a ratio should be, and what it has to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    goal: f64,
    gate: f64,
    more_is_better: bool,
}

impl Goal {
    pub(crate) fn at_least(goal: f64, gate: f64) -> Self {
        Self {
            goal,
            gate,
            more_is_better: true,
        }
    }

    pub(crate) fn at_most(goal: f64, gate: f64) -> Self {
        Self {
            goal,
            gate,
            more_is_better: false,
        }
    }

    fn is_met(self, value: f64, bound: f64) -> bool {
        if self.more_is_better {
            value >= bound
        } else {
            value <= bound
        }
    }
}

/// One figure.
struct Row {
    what: String,
    who: String,
    value: f64,
    detail: String,
    goal: Option<Goal>,
}

/// All figures of a run.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// A figure of ours with its goal, or a peer's without one.
    pub(crate) fn row(
        &mut self,
        what: &str,
        who: &str,
        value: f64,
        detail: String,
        goal: Option<Goal>,
    ) {
        let row = Row {
            what: what.to_owned(),
            who: who.to_owned(),
            value,
            detail,
            goal,
        };
        say(&row.line());
        self.rows.push(row);
    }

    /// Speeds beside the first, which is the floor. The goal is the attribute's.
    pub(crate) fn rows(&mut self, what: &str, speeds: &[Speeds], goal: Goal) {
        let Some(floor) = speeds.first() else { return };
        for of in speeds {
            let ratios = (of.windows.iter().zip(&floor.windows)).map(|(ours, floor)| ours / floor);
            let middle = 1e6 / median(of.windows.clone());
            let goal = (of.name == "attribute").then_some(goal);
            let detail = format!("{middle:.1} us a pair");
            self.row(what, of.name, median(ratios.collect()), detail, goal);
        }
    }

    /// Writes the files; fails where a gate wasn't met.
    pub(crate) fn finish(self) -> ExitCode {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
        let rows: Vec<_> = (self.rows.iter())
            .map(|row| {
                json!({ "what": row.what, "who": row.who, "ratio": row.value, "detail": row.detail,
                    "goal": row.goal.map(|goal| goal.goal), "gate": row.goal.map(|goal| goal.gate) })
            })
            .collect();
        std::fs::create_dir_all(&folder).expect("the target folder is writable");
        std::fs::write(folder.join("lock.json"), format!("{:#}\n", json!(rows)))
            .expect("the target folder is writable");
        let missed: Vec<_> = (self.rows.iter())
            .filter(|row| {
                row.goal
                    .is_some_and(|goal| !goal.is_met(row.value, goal.gate))
            })
            .collect();
        for row in &missed {
            say(&format!("below its gate: {}", row.line()));
        }
        if missed.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

impl Row {
    fn line(&self) -> String {
        let mut line = format!("{:<42} {:<18} {:>8.2}", self.what, self.who, self.value);
        if let Some(goal) = self.goal {
            let sign = if goal.more_is_better { ">=" } else { "<=" };
            let verdict = match (
                goal.is_met(self.value, goal.goal),
                goal.is_met(self.value, goal.gate),
            ) {
                (true, _) => "met",
                (false, true) => "within the gate",
                (false, false) => "MISSED",
            };
            write!(
                line,
                "  goal {sign} {} ({}): {verdict}",
                goal.goal, goal.gate
            )
            .expect("writing to a string never fails");
        }
        line + "  " + &self.detail
    }
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
pub(crate) fn say(text: &str) {
    println!("{text}");
}
