//! A run in which nothing happened proves nothing.

use std::collections::HashMap;

use super::{SECOND, Verdict};
use crate::chaos::evidence::Evidence;
use crate::chaos::plan::Kind;

/// From this length on, in seconds, a run has to show every kind of fault ten times and stale writes as well.
const LONG: u64 = 600;

/// R9: enough bodies ran, every kind of fault was there, and the lock worked after each.
pub(super) fn something_happened(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::new("R9 enough happened");
    let run = &evidence.run;
    let mut begins: Vec<u64> = evidence
        .calls
        .iter()
        .filter_map(|call| Some(call.body.as_ref()?.begin))
        .collect();
    begins.sort_unstable();
    verdict.checked = begins.len();
    let least = usize::try_from(run.seconds * 2).unwrap_or(usize::MAX);
    if begins.len() < least {
        verdict.wrong.push(format!(
            "only {} bodies ran; {least} are the least that says something",
            begins.len()
        ));
    }
    let mut counts: HashMap<Kind, usize> = HashMap::new();
    for fault in &evidence.faults {
        *counts.entry(fault.kind).or_default() += 1;
    }
    for kind in run.topology.kinds() {
        let rare = run.topology.rare().contains(&kind);
        let each = match (run.seconds >= LONG, rare) {
            (true, false) => 10,
            (true, true) => 3,
            (false, false) => 1,
            (false, true) => 0,
        };
        if evidence.skipped.contains(&kind) {
            continue;
        }
        let count = counts.get(&kind).copied().unwrap_or(0);
        if count < each {
            verdict.wrong.push(format!(
                "{} was there {count} times; {each} are the least",
                kind.name()
            ));
        }
    }
    // one lease of the dead, and the way back
    let patience = 6 * SECOND;
    for fault in evidence
        .faults
        .iter()
        .filter(|fault| fault.to < run.stopped)
    {
        let next = begins.get(begins.partition_point(|begin| *begin < fault.to));
        if next.is_none_or(|next| *next > fault.to + patience) {
            verdict.wrong.push(format!(
                "no body began within 6 s after {} at {}",
                fault.kind.name(),
                fault.to
            ));
        }
    }
    let refused = evidence.store.iter().filter(|deed| !deed.accepted).count();
    if run.seconds >= LONG && refused == 0 {
        verdict
            .wrong
            .push("the store had nothing to refuse: no stale holder ever came to it".to_owned());
    }
    verdict
}
