//! The promises, checked over the evidence of one run. Pure: evidence goes in, verdicts come out.

mod exclusion;
mod fencing;
mod floor;
mod liveness;
mod order;
#[cfg(test)]
mod planted;

use std::collections::BTreeMap;

use super::evidence::{Body, Call, Evidence};
use super::plan::Kind;

pub use exclusion::overlaps;
pub use liveness::{HandOver, hand_overs};

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLI;

/// What became of one promise.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The promise.
    pub promise: &'static str,
    /// How many cases it was checked on.
    pub checked: usize,
    /// How many cases a fault excuses, as the table of faults has it.
    pub excused: usize,
    /// What is wrong, a sentence each.
    pub wrong: Vec<String>,
}

impl Verdict {
    fn new(promise: &'static str) -> Self {
        Self {
            promise,
            checked: 0,
            excused: 0,
            wrong: Vec::new(),
        }
    }
}

/// Judges a run.
#[must_use]
pub fn judge(evidence: &Evidence) -> Vec<Verdict> {
    let mut verdicts = vec![
        exclusion::one_body_at_a_time(evidence),
        fencing::no_stale_write(evidence),
        fencing::tokens_grow(evidence),
        liveness::nobody_is_left_waiting(evidence),
        liveness::freed_after_a_death(evidence),
        exclusion::no_poll_after_the_deadline(evidence),
        liveness::nothing_is_left(evidence),
        floor::something_happened(evidence),
    ];
    if evidence.run.topology.keeps_order() {
        verdicts.push(order::first_come_first_served(evidence));
        verdicts.push(order::the_dead_are_passed_over(evidence));
    }
    verdicts.sort_by_key(|verdict| verdict.promise);
    verdicts
}

/// The calls whose bodies ran, by key, in the order in which they began.
fn bodies(evidence: &Evidence) -> BTreeMap<&str, Vec<(&Call, &Body)>> {
    let mut keys: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for call in &evidence.calls {
        if let Some(body) = &call.body {
            keys.entry(&call.wish.key).or_default().push((call, body));
        }
    }
    for bodies in keys.values_mut() {
        bodies.sort_by_key(|(_, body)| body.begin);
    }
    keys
}

/// Whether the lock of `old` may have been forgotten, so that `new` could enter beside it for as long as `old` didn't know.
fn forgotten(evidence: &Evidence, (old, old_body): (&Call, &Body), new: &Body) -> bool {
    let topology = evidence.run.topology;
    evidence.faults.iter().any(|fault| {
        let known = fault.to + old.wish.lease * MILLI;
        let mut others = evidence.faults.iter().filter(|other| *other != fault);
        topology.forgets(fault.kind)
            && (topology.forgets_alone() || others.any(|other| other.touches(old.want, new.begin)))
            && old.want <= fault.to
            && new.begin >= fault.from
            && old_body.last_poll <= known
    })
}

/// Whether a process stood still, by a fault or because the machine was busy, at some time between two moments.
fn stood_still(evidence: &Evidence, worker: usize, from: u64, to: u64) -> bool {
    let pauses = [Kind::WorkerPausedShort, Kind::WorkerPausedLong];
    evidence.faults.iter().any(|fault| {
        fault.worker == Some(worker) && pauses.contains(&fault.kind) && fault.touches(from, to)
    }) || evidence
        .stalls
        .iter()
        .any(|stall| stall.worker == Some(worker) && stall.touches(from, to))
}

/// Whether a process, or the server, was kept from its work by a busy machine.
fn stalled(evidence: &Evidence, worker: usize, from: u64, to: u64) -> bool {
    evidence
        .stalls
        .iter()
        .any(|stall| stall.worker.is_none_or(|of| of == worker) && stall.touches(from, to))
}

fn millis(nanos: u64) -> u64 {
    nanos / MILLI
}
