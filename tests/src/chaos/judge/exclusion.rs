//! At most one body, and none after its deadline.

use super::{Verdict, bodies, forgotten, millis, stood_still};
use crate::chaos::evidence::{Body, Call, Evidence};

/// What a poll may be late: the clock is read once by the lock and once by the journal.
const RAZOR: u64 = 1_000;

/// Two bodies of one key at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Overlap<'a> {
    /// The one that began first.
    pub first: (&'a Call, &'a Body),
    /// The one that began while it ran.
    pub second: (&'a Call, &'a Body),
    /// The first one began no poll after the second had begun; it was in the midst of one.
    pub within_a_poll: bool,
}

/// All overlaps, those that a fault excuses as well.
#[must_use]
pub fn overlaps(evidence: &Evidence) -> Vec<Overlap<'_>> {
    let mut found = Vec::new();
    for bodies in bodies(evidence).into_values() {
        let mut running: Vec<(&Call, &Body)> = Vec::new();
        for second in bodies {
            running.retain(|(_, body)| body.last_sign > second.1.begin);
            found.extend(in_its_way(&running, second.0).map(|first| Overlap {
                first,
                second,
                within_a_poll: first.1.last_poll <= second.1.begin,
            }));
            running.push(second);
        }
    }
    found
}

/// Those that run and should not, beside one that begins: all that don't share the lock with it, and of those that do as many as
/// are too many, those that polled longest ago.
fn in_its_way<'a>(
    running: &[(&'a Call, &'a Body)],
    second: &Call,
) -> impl Iterator<Item = (&'a Call, &'a Body)> {
    let share = second.wish.share;
    let (mut beside, apart): (Vec<_>, Vec<_>) =
        (running.iter()).partition(|(call, _)| call.wish.share.shares_with(share));
    beside.sort_by_key(|(_, body)| body.last_poll);
    let over = (beside.len() + 1).saturating_sub(share.most());
    let too_many = beside.into_iter().take(over);
    apart.into_iter().chain(too_many)
}

/// R1: no two bodies of a key at once but such as share it, unless the lock was forgotten; and a body whose process stood still is in its last poll
/// at the most.
pub(super) fn one_body_at_a_time(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::new("R1 one body at a time");
    verdict.checked = bodies(evidence).values().map(Vec::len).sum();
    for overlap in overlaps(evidence) {
        let ((first, a), (second, b)) = (overlap.first, overlap.second);
        let (older, newer) = if a.token <= b.token {
            (overlap.first, b)
        } else {
            (overlap.second, a)
        };
        let in_its_poll = overlap.within_a_poll
            && (stood_still(evidence, first.worker, a.last_poll, a.last_sign)
                || a.last_sign - b.begin <= evidence.run.moment);
        if in_its_poll || forgotten(evidence, older, newer) {
            verdict.excused += 1;
        } else {
            verdict.wrong.push(format!(
                "{}: {} (token {}) began at {} while {} (token {}) ran, which went on for {} ms",
                first.wish.key,
                second.id,
                b.token,
                b.begin,
                first.id,
                a.token,
                millis(a.last_sign - b.begin)
            ));
        }
    }
    verdict
}

/// R7: no poll of a body begins after its deadline.
pub(super) fn no_poll_after_the_deadline(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::new("R7 no poll after the deadline");
    for call in &evidence.calls {
        let Some(body) = &call.body else { continue };
        verdict.checked += 1;
        for (at, late) in &body.late {
            if *late > RAZOR {
                verdict.wrong.push(format!(
                    "{}: a poll of {} began at {at}, {late} us after the deadline",
                    call.wish.key, call.id
                ));
            } else {
                verdict.excused += 1;
            }
        }
    }
    verdict
}
