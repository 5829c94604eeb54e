//! Nobody is left waiting, and nothing is left over.

use super::{MILLI, SECOND, Verdict, bodies, millis, stalled};
use crate::chaos::evidence::{Body, Call, Evidence};
use crate::chaos::plan::Kind;

/// The longest lease of a call, and a second: after that much quiet nothing of a fault is left.
fn settled(evidence: &Evidence) -> u64 {
    let lease = evidence
        .calls
        .iter()
        .map(|call| call.wish.lease * MILLI)
        .max()
        .unwrap_or(0);
    evidence.run.healed + lease + SECOND
}

/// A lock that went from one body to the next, which was waiting.
#[derive(Clone, Copy, Debug)]
pub struct HandOver {
    /// How long nobody had it.
    pub idle: u64,
    /// There was a fault at some time between the two.
    pub during_a_fault: bool,
}

/// When the keys had been used last, and by whom they were taken next.
fn turns(evidence: &Evidence) -> Vec<(u64, (&Call, &Body))> {
    let mut turns = Vec::new();
    for bodies in bodies(evidence).into_values() {
        let mut free = 0;
        for next in bodies {
            turns.push((free, next));
            free = free.max(next.1.last_sign);
        }
    }
    turns
}

/// All hand-overs.
#[must_use]
pub fn hand_overs(evidence: &Evidence) -> Vec<HandOver> {
    turns(evidence)
        .into_iter()
        .filter(|(free, (call, body))| call.wish.queues && call.want < *free && *free < body.begin)
        .map(|(free, (_, body))| HandOver {
            idle: body.begin - free,
            during_a_fault: evidence
                .faults
                .iter()
                .any(|fault| fault.touches(free, body.begin)),
        })
        .collect()
}

/// R5: once everything is healed, a lock that is free goes to whoever waits for it within a heartbeat and a moment, and all
/// calls come to an end; and at no time a call fails for the storage's sake without a fault.
pub(super) fn nobody_is_left_waiting(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::new("R5 nobody is left waiting");
    let quiet = settled(evidence);
    let bound = evidence.run.heartbeat + evidence.run.moment;
    let end = evidence
        .calls
        .iter()
        .filter_map(|call| call.left.as_ref())
        .map(|(at, _)| *at)
        .max()
        .unwrap_or(0);
    let ends = last_uses(evidence);
    let last = ends.iter().map(|(key, free)| (*key, *free, end));
    let idle: Vec<_> = turns(evidence)
        .into_iter()
        .map(|(free, (call, body))| (call.wish.key.as_str(), free, body.begin))
        .chain(last)
        .filter(|(_, _, next)| *next > quiet)
        .collect();
    let mut departures: Vec<(u64, &str)> = evidence
        .calls
        .iter()
        .filter(|call| call.body.is_none())
        .filter_map(|call| Some((call.left.as_ref()?.0, call.wish.key.as_str())))
        .collect();
    departures.sort_unstable();
    for call in &evidence.calls {
        let ended = gone(evidence, call).min(end);
        if let Some((at, how)) = &call.left
            && !OWN_ENDS.contains(&how.as_str())
            && !disturbed(evidence, call.worker, call.want.saturating_sub(SECOND), *at)
        {
            verdict.wrong.push(format!(
                "{}: {} failed at {at} without a fault: {how}",
                call.wish.key, call.id
            ));
        }
        if ended < quiet {
            continue;
        }
        verdict.checked += 1;
        if !call.wish.queues {
            continue;
        }
        let waits_until = call.body.as_ref().map_or(ended, |body| body.begin);
        for (key, free, next) in &idle {
            let from = (*free).max(call.want).max(quiet);
            let to = (*next).min(waits_until);
            if *key != call.wish.key
                || to <= from
                || longest_wait(&departures, key, from, to) <= bound
            {
                continue;
            }
            if evidence
                .stalls
                .iter()
                .any(|stall| stall.from <= to && from <= stall.to)
            {
                verdict.excused += 1;
            } else {
                verdict.wrong.push(format!(
                    "{key}: {} waited from {from} for {} ms, and nobody had the lock",
                    call.id,
                    millis(to - from)
                ));
            }
        }
    }
    verdict.wrong.extend(
        evidence
            .outcome
            .iter()
            .filter(|line| line.starts_with("hung "))
            .cloned(),
    );
    verdict
}

/// How a call may end without any fault.
const OWN_ENDS: [&str; 6] = [
    "ok",
    "early",
    "cancelled",
    "panicked",
    "Busy",
    "WaitTimedOut",
];

/// Whether there was any fault or stall that a worker may have felt.
fn disturbed(evidence: &Evidence, worker: usize, from: u64, to: u64) -> bool {
    let mut faults = evidence.faults.iter();
    faults.any(|fault| fault.concerns(worker) && fault.touches(from, to))
        || stalled(evidence, worker, from, to)
}

/// When a call was over, for its process may have been killed; `u64::MAX` if it never was.
fn gone(evidence: &Evidence, call: &Call) -> u64 {
    if let Some((at, _)) = call.left {
        return at;
    }
    let deaths = evidence.faults.iter().filter(|fault| {
        fault.kind == Kind::WorkerKilled
            && fault.worker == Some(call.worker)
            && fault.from >= call.want
    });
    deaths.map(|death| death.from).min().unwrap_or(u64::MAX)
}

/// The longest time between two moments without a departure: each may pass the lock on to a waiter who doesn't know yet.
fn longest_wait(departures: &[(u64, &str)], key: &str, from: u64, to: u64) -> u64 {
    let first = departures.partition_point(|(at, _)| *at <= from);
    let (mut longest, mut last) = (0, from);
    for (at, of) in departures.iter().skip(first) {
        if *at >= to {
            break;
        }
        if *of == key {
            longest = longest.max(at - last);
            last = *at;
        }
    }
    longest.max(to - last)
}

fn last_uses(evidence: &Evidence) -> Vec<(&str, u64)> {
    bodies(evidence)
        .into_iter()
        .map(|(key, bodies)| {
            (
                key,
                bodies
                    .iter()
                    .map(|(_, body)| body.last_sign)
                    .max()
                    .unwrap_or(0),
            )
        })
        .collect()
}

/// R6: when a holder was killed, somebody who waited has entered a lease and a second later; a fault that keeps it from asking
/// puts that off by its length and a second for the way back.
pub(super) fn freed_after_a_death(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::new("R6 freed after a death");
    let bodies = bodies(evidence);
    for death in evidence
        .faults
        .iter()
        .filter(|fault| fault.kind == Kind::WorkerKilled)
    {
        let dead = evidence
            .calls
            .iter()
            .filter_map(|call| Some((call, call.body.as_ref()?)))
            .filter(|(call, body)| {
                death.worker == Some(call.worker)
                    && call.left.is_none()
                    && !body.ended
                    && gone(evidence, call) == death.from
            });
        for (call, body) in dead {
            let until = |worker| {
                put_off(
                    evidence,
                    worker,
                    death.from,
                    death.from + call.wish.lease * MILLI + SECOND,
                )
            };
            let waits = evidence
                .calls
                .iter()
                .filter(|other| {
                    other.wish.key == call.wish.key
                        && other.wish.queues
                        && other.want < death.from
                        && (gone(evidence, other) > until(other.worker)
                            || other
                                .body
                                .as_ref()
                                .is_some_and(|next| next.begin > death.from))
                })
                .min_by_key(|other| until(other.worker));
            let Some(waits) = waits else {
                verdict.excused += 1;
                continue;
            };
            verdict.checked += 1;
            let until = until(waits.worker);
            let entered = bodies.get(call.wish.key.as_str()).is_some_and(|bodies| {
                bodies
                    .iter()
                    .any(|(_, next)| next.begin > body.begin && next.begin <= until)
            });
            if !entered {
                verdict.wrong.push(format!(
                    "{}: {} was killed at {} and nobody had entered by {until}, though {} waited",
                    call.wish.key, call.id, death.from, waits.id
                ));
            }
        }
    }
    verdict
}

fn put_off(evidence: &Evidence, worker: usize, from: u64, mut until: u64) -> u64 {
    for fault in &evidence.faults {
        if fault.kind.costs_places() && fault.concerns(worker) && fault.touches(from, until) {
            until += fault.to - fault.from.max(from).min(fault.to) + SECOND;
        }
    }
    until
}

/// R8: no lock, ticket or queue is left, and nothing stays for ever.
pub(super) fn nothing_is_left(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::new("R8 nothing is left");
    verdict.checked = 1;
    verdict.wrong.extend(
        evidence
            .outcome
            .iter()
            .filter(|line| !line.starts_with("hung "))
            .cloned(),
    );
    verdict
}
