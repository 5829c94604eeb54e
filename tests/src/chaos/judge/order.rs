//! First come, first served.

use std::collections::HashMap;

use super::{SECOND, Verdict, bodies, millis, stalled};
use crate::chaos::evidence::{Evidence, Fault};
use crate::chaos::journal::Share;
use crate::chaos::plan::Kind;

/// R4: who arrived first enters first, unless something that costs places happened to the one that was overtaken.
///
/// A call that never entered is no matter here: its ticket is unknown.
pub(super) fn first_come_first_served(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::new("R4 first come, first served");
    let mut places: HashMap<&str, (usize, u64)> = HashMap::new();
    for (place, (at, _, ticket)) in evidence.arrivals.iter().enumerate() {
        places.entry(ticket).or_insert((place, *at));
    }
    for (key, mut bodies) in bodies(evidence) {
        // those who share a lock may begin in another order than that in which they were given it
        if bodies
            .iter()
            .any(|(call, _)| call.wish.share != Share::Alone)
        {
            bodies.sort_by_key(|(_, body)| body.token);
        }
        let arrived: Vec<_> = bodies
            .into_iter()
            .filter_map(|(call, body)| Some((call, body, *places.get(body.owner.as_str())?)))
            .collect();
        let mut last = 0;
        for (index, (call, body, (place, at))) in arrived.iter().enumerate() {
            verdict.checked += 1;
            if *place >= last {
                last = *place;
                continue;
            }
            // the first that overtook it: the shortest time in which something could have cost it its place
            let overtook = arrived
                .iter()
                .take(index)
                .find(|(_, other, (later, _))| other.begin >= *at && later > place);
            let Some((other, entered, _)) = overtook else {
                continue;
            };
            // an ask that was answered before the fault keeps the place for a while
            let (from, to) = (at.saturating_sub(SECOND), entered.begin);
            let cost = evidence.faults.iter().any(|fault| {
                fault.kind.costs_places() && fault.concerns(call.worker) && fault.touches(from, to)
            });
            if cost || stalled(evidence, call.worker, from, to) {
                verdict.excused += 1;
            } else {
                verdict.wrong.push(format!(
                    "{key}: {} entered at {} before {}, which had arrived before it and entered at {}",
                    other.id, entered.begin, call.id, body.begin
                ));
            }
        }
    }
    verdict
}

/// R4b: a ticket lives for four heartbeats of its process; the lock isn't given to one that is long dead.
pub(super) fn the_dead_are_passed_over(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::new("R4b the dead are passed over");
    let life = evidence.run.heartbeat * 4 + evidence.run.moment;
    let deaths: HashMap<u32, u64> = evidence
        .deaths
        .iter()
        .map(|(at, process)| (*process, *at))
        .collect();
    for (at, key, process) in &evidence.grants {
        verdict.checked += 1;
        if let Some(death) = deaths.get(process)
            && *at > death + life
        {
            // a clock that was set back lets tickets live longer
            let clock = |fault: &&Fault| fault.kind == Kind::ServerClockBack;
            let mut steps = evidence.faults.iter().filter(clock);
            if steps.any(|step| step.touches(*death, *at)) {
                verdict.excused += 1;
                continue;
            }
            verdict.wrong.push(format!(
                "{key}: given to a ticket of process {process}, which had been dead for {} ms",
                millis(at - death)
            ));
        }
    }
    verdict
}
