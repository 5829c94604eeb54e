//! Tokens grow, and a store that looks at them loses no update.

use std::collections::{BTreeMap, HashMap};

use super::{Verdict, bodies, forgotten, stood_still};
use crate::chaos::evidence::{Body, Call, Deed, Evidence};

/// R2: the store took nothing from a stale holder, lost no addition, and refused nobody whose lock was in order.
pub(super) fn no_stale_write(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::new("R2 no stale write, no lost update");
    verdict.checked = evidence.store.len();
    let calls: HashMap<&str, &Call> = evidence
        .calls
        .iter()
        .map(|call| (call.id.as_str(), call))
        .collect();
    let mut newest: BTreeMap<&str, u64> = BTreeMap::new();
    let mut value: BTreeMap<&str, u64> = BTreeMap::new();
    for deed in &evidence.store {
        let Deed {
            key, token, call, ..
        } = deed;
        let newest = newest.entry(key).or_default();
        if !deed.accepted {
            if refusal_is_due(evidence, calls.get(call.as_str()).copied()) {
                verdict.excused += 1;
            } else {
                verdict.wrong.push(format!(
                    "{key}: {call} (token {token}) was refused, and never lost its lock"
                ));
            }
            continue;
        }
        if *token < *newest {
            verdict.wrong.push(format!(
                "{key}: {call} was let in with token {token} after {newest}"
            ));
        }
        *newest = (*newest).max(*token);
        if deed.write {
            let value = value.entry(key).or_default();
            if deed.value != *value + 1 {
                verdict.wrong.push(format!(
                    "{key}: {call} (token {token}) wrote {} upon {value}",
                    deed.value
                ));
            }
            *value = deed.value;
        }
    }
    verdict
}

/// Whether this call was no longer alone: its body was stopped, the lock was forgotten, or its process stood still in a poll.
fn refusal_is_due(evidence: &Evidence, call: Option<&Call>) -> bool {
    let Some((call, body)) = call.and_then(|call| Some((call, call.body.as_ref()?))) else {
        return false;
    };
    !body.ended
        || stood_still(evidence, call.worker, body.last_poll, body.last_sign)
        || evidence.calls.iter().any(|other| {
            other.wish.key == call.wish.key
                && other.body.as_ref().is_some_and(|newer| {
                    newer.token > body.token && forgotten(evidence, (call, body), newer)
                })
        })
}

/// R3: no token twice, and a later body has a greater one. One whose grant the server forgot may begin after the next, for as
/// long as it doesn't know; its token is the smaller one all the same.
pub(super) fn tokens_grow(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::new("R3 tokens grow");
    for (key, bodies) in bodies(evidence) {
        let mut last: Option<(&Call, &Body)> = None;
        for (call, body) in bodies {
            verdict.checked += 1;
            if let Some((before, newest)) = last
                && body.token <= newest.token
            {
                let shares = call.wish.share.shares_with(before.wish.share);
                if shares && body.token < newest.token {
                    // given before it, or beside it, and noticed later
                } else if body.token < newest.token && forgotten(evidence, (call, body), newest) {
                    verdict.excused += 1;
                } else {
                    verdict.wrong.push(format!(
                        "{key}: {} began at {} with token {}, after {} with {}",
                        call.id, body.begin, body.token, before.id, newest.token
                    ));
                }
                continue;
            }
            last = Some((call, body));
        }
    }
    verdict
}
