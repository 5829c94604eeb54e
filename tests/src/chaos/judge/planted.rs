//! Histories that are right, and the same with one thing wrong: the judge has to find it, and nothing else.

use proptest::prelude::*;

use super::*;
use crate::chaos::evidence::{Deed, Fault, Run, Stall};
use crate::chaos::journal::{Share, Wish};
use crate::chaos::topology::Topology;

/// A body: its key, how long it takes, how long the lock was free before it, in milliseconds.
type Turn = (u64, u64, u64);

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    prop::collection::vec((1_u64..=3, 1_u64..400, 1_u64..50), 12..60)
}

/// A run of the lock in which `turns` came one after the other, each of them waiting from the beginning of the one before.
fn history(turns: &[Turn]) -> Evidence {
    let run = Run {
        topology: Topology::Standalone,
        seed: 1,
        seconds: 0,
        workers: 4,
        locked: true,
        heartbeat: 120 * MILLI,
        moment: 100 * MILLI,
        start: SECOND,
        healed: SECOND,
        stopped: u64::MAX,
    };
    let mut evidence = Evidence {
        run,
        ..Evidence::default()
    };
    let mut free: BTreeMap<u64, u64> = BTreeMap::new();
    let mut before: BTreeMap<u64, u64> = BTreeMap::new();
    let mut values: BTreeMap<u64, u64> = BTreeMap::new();
    for (number, (key, length, idle)) in turns.iter().enumerate() {
        // late enough that the faults' last traces are gone
        let free = free.entry(*key).or_insert(10 * SECOND);
        let begin = *free + idle * MILLI;
        let end = begin + length * MILLI;
        // the one before was still running, and had been for a while
        let want = before.insert(*key, begin).unwrap_or(begin - MILLI);
        let owner = format!("{number:032x}");
        let token = 1_000 + u64::try_from(number).unwrap();
        let id = format!("{}.0/c{number}", number % 4);
        let name = format!("chaos:{key}");
        let value = values.entry(*key).or_default();
        for write in [false, true] {
            *value += u64::from(write);
            evidence.store.push(Deed {
                key: name.clone(),
                token,
                call: id.clone(),
                write,
                accepted: true,
                value: *value,
            });
        }
        evidence.arrivals.push((want, name.clone(), owner.clone()));
        evidence.calls.push(Call {
            id,
            worker: number % 4,
            wish: Wish {
                key: name,
                queues: true,
                lease: 600,
                body: "plain".to_owned(),
                share: Share::Alone,
            },
            want,
            body: Some(Body {
                token,
                owner,
                begin,
                last_poll: end - MILLI / 2,
                last_sign: end,
                ended: true,
                late: Vec::new(),
            }),
            left: Some((end + MILLI / 4, "ok".to_owned())),
        });
        *free = end;
    }
    evidence.calls.sort_by_key(|call| call.want);
    evidence
}

/// The rules that found something, R9 left out: these runs are short.
fn found(evidence: &Evidence) -> Vec<&'static str> {
    judge(evidence)
        .into_iter()
        .filter(|verdict| !verdict.wrong.is_empty() && !verdict.promise.starts_with("R9"))
        .map(|verdict| verdict.promise.get(..2).unwrap())
        .collect()
}

/// Two bodies that followed each other on a key, as places in the list of calls; the `pick`th such pair.
fn neighbours(evidence: &Evidence, pick: usize) -> (usize, usize) {
    let mut pairs = Vec::new();
    for bodies in bodies(evidence).into_values() {
        for pair in bodies.windows(2) {
            let place = |(call, _): (&Call, &Body)| {
                evidence
                    .calls
                    .iter()
                    .position(|other| other.id == call.id)
                    .unwrap()
            };
            pairs.push((place(pair[0]), place(pair[1])));
        }
    }
    pairs[pick % pairs.len()]
}

fn body(evidence: &mut Evidence, place: usize) -> &mut Body {
    evidence.calls[place].body.as_mut().unwrap()
}

fn fault(kind: Kind, worker: Option<usize>, from: u64, to: u64) -> Fault {
    Fault {
        from,
        to,
        kind,
        worker,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_right_history_is_right(turns in turns()) {
        prop_assert_eq!(found(&history(&turns)), Vec::<&str>::new());
    }

    #[test]
    fn an_overlap_is_found(turns in turns(), pick in any::<usize>(), by in 1_u64..300) {
        let mut evidence = history(&turns);
        let (first, second) = neighbours(&evidence, pick);
        let late = body(&mut evidence, second).begin + by * 1_000;
        let old = body(&mut evidence, first);
        (old.last_poll, old.last_sign) = (late, late + 1);
        prop_assert!(found(&evidence).contains(&"R1"));
    }

    #[test]
    fn an_overlap_is_excused_only_by_a_loss_of_data_at_the_time(turns in turns(), pick in any::<usize>(), empty in any::<bool>()) {
        let mut evidence = history(&turns);
        let (first, second) = neighbours(&evidence, pick);
        let entered = body(&mut evidence, second).begin;
        let old = body(&mut evidence, first);
        (old.last_poll, old.last_sign) = (entered + 10 * MILLI, entered + 10 * MILLI + 1);
        let kind = if empty { Kind::ServerRestartedEmpty } else { Kind::DataFlushed };
        let excused = |kind, at| {
            let mut evidence = evidence.clone();
            evidence.faults.push(fault(kind, None, at, at + 1));
            !found(&evidence).contains(&"R1")
        };
        prop_assert!(excused(kind, entered - MILLI / 2));
        prop_assert!(!excused(Kind::ServerRestarted, entered - MILLI / 2), "the data was kept");
        prop_assert!(!excused(kind, entered + MILLI), "it was lost later");
        prop_assert!(!excused(kind, entered - 700 * MILLI), "the lease was over by then");
    }

    #[test]
    fn a_pause_excuses_the_running_poll_and_no_further_one(turns in turns(), pick in any::<usize>()) {
        let mut evidence = history(&turns);
        let (first, second) = neighbours(&evidence, pick);
        let entered = body(&mut evidence, second).begin;
        let worker = evidence.calls[first].worker;
        let old = body(&mut evidence, first);
        old.last_sign = entered + SECOND;
        let from = old.last_poll;
        prop_assert!(found(&evidence).contains(&"R1"), "nothing stood still");
        evidence.stalls.push(Stall { worker: Some(worker), from, to: entered + SECOND });
        prop_assert!(!found(&evidence).contains(&"R1"));
        body(&mut evidence, first).last_poll = entered + 1;
        prop_assert!(found(&evidence).contains(&"R1"));
    }

    #[test]
    fn a_repeated_token_is_found(turns in turns(), pick in any::<usize>(), less in 0_u64..3) {
        let mut evidence = history(&turns);
        let (first, second) = neighbours(&evidence, pick);
        let token = body(&mut evidence, first).token;
        body(&mut evidence, second).token = token - less;
        prop_assert!(found(&evidence).contains(&"R3"));
    }

    #[test]
    fn a_smaller_token_is_excused_by_a_loss_of_data_and_a_repeated_one_never(turns in turns(), pick in any::<usize>(), repeated in any::<bool>()) {
        let mut evidence = history(&turns);
        let (first, second) = neighbours(&evidence, pick);
        let (newer, at) = (body(&mut evidence, first).token, body(&mut evidence, first).begin);
        body(&mut evidence, second).token = if repeated { newer } else { newer - 1 };
        evidence.faults.push(fault(Kind::DataFlushed, None, at - 1, at));
        // it had asked before, and was stopped a lease later
        evidence.calls[second].want = at - MILLI;
        let end = at + 600 * MILLI;
        let late = body(&mut evidence, second);
        late.last_poll = late.last_poll.min(end);
        prop_assert_eq!(found(&evidence).contains(&"R3"), repeated);
    }

    #[test]
    fn an_order_inversion_is_found(turns in turns(), pick in any::<usize>()) {
        let mut evidence = history(&turns);
        let (first, second) = neighbours(&evidence, pick);
        let (earlier, later) = (body(&mut evidence, first).owner.clone(), body(&mut evidence, second).owner.clone());
        let at = |owner: &str, evidence: &Evidence| evidence.arrivals.iter().position(|(_, _, ticket)| ticket == owner).unwrap();
        let (a, b) = (at(&earlier, &evidence), at(&later, &evidence));
        evidence.arrivals[a].2 = later;
        evidence.arrivals[b].2 = earlier;
        prop_assert_eq!(found(&evidence), ["R4"]);
        // a fault of the one that was overtaken explains it, one of another worker doesn't
        let worker = evidence.calls[second].worker;
        let when = body(&mut evidence, first).begin - MILLI / 2;
        let mut paused = evidence.clone();
        paused.faults.push(fault(Kind::WorkerPausedLong, Some(worker), when, when + 1));
        prop_assert_eq!(found(&paused), Vec::<&str>::new());
        evidence.faults.push(fault(Kind::WorkerPausedLong, Some(worker + 1), when, when + 1));
        evidence.faults.push(fault(Kind::ScriptsFlushed, None, when, when + 1));
        prop_assert_eq!(found(&evidence), ["R4"]);
    }

    #[test]
    fn a_lost_wake_up_is_found(turns in turns(), pick in any::<usize>(), by in 221_u64..5_000) {
        let mut evidence = history(&turns);
        let (first, second) = neighbours(&evidence, pick);
        let free = body(&mut evidence, first).last_sign;
        let key = evidence.calls[first].wish.key.clone();
        let delay = free + by * MILLI - body(&mut evidence, second).begin;
        // everything of this key comes later by so much
        for call in evidence.calls.iter_mut().filter(|call| call.wish.key == key) {
            let body = call.body.as_mut().unwrap();
            if body.begin >= free {
                body.begin += delay;
                body.last_poll += delay;
                body.last_sign += delay;
                call.left.as_mut().unwrap().0 += delay;
            }
        }
        prop_assert_eq!(found(&evidence), ["R5"]);
    }

    #[test]
    fn a_waiter_that_never_enters_is_found(turns in turns(), pick in any::<usize>(), how in prop::sample::select(vec!["WaitTimedOut", "Backend"])) {
        let mut evidence = history(&turns);
        let end = evidence.calls.iter().filter_map(|call| Some(call.left.as_ref()?.0)).max().unwrap();
        let like = evidence.calls[pick % evidence.calls.len()].clone();
        let left = Some((end + SECOND, how.to_owned()));
        evidence.calls.push(Call { id: "9.0/c9".to_owned(), body: None, left, ..like });
        prop_assert_eq!(found(&evidence), ["R5"]);
    }

    #[test]
    fn a_stale_write_is_found(turns in turns(), pick in any::<usize>()) {
        let mut evidence = history(&turns);
        let (first, second) = neighbours(&evidence, pick);
        let (stale, newer) = (body(&mut evidence, first).token, evidence.calls[second].id.clone());
        let mut deed = evidence.store.iter().rfind(|deed| deed.token == stale).unwrap().clone();
        // after the newer holder's write, as the next addition
        let place = evidence.store.iter().rposition(|deed| deed.call == newer).unwrap();
        deed.value += 2;
        evidence.store.insert(place + 1, deed);
        prop_assert_eq!(found(&evidence), ["R2"]);
    }

    #[test]
    fn a_lost_update_and_an_undue_refusal_are_found(turns in turns(), pick in any::<usize>(), lost in any::<bool>()) {
        let mut evidence = history(&turns);
        let (_, second) = neighbours(&evidence, pick);
        let call = evidence.calls[second].id.clone();
        let deed = evidence.store.iter_mut().rfind(|deed| deed.call == call).unwrap();
        if lost {
            deed.value -= 1;
        } else {
            deed.accepted = false;
        }
        prop_assert!(found(&evidence).contains(&"R2"));
    }

    #[test]
    fn a_poll_after_the_deadline_is_found(turns in turns(), pick in any::<usize>(), late in 1_001_u64..1_000_000) {
        let mut evidence = history(&turns);
        let (first, _) = neighbours(&evidence, pick);
        let at = body(&mut evidence, first).last_poll;
        body(&mut evidence, first).late.push((at, late));
        prop_assert_eq!(found(&evidence), ["R7"]);
    }

    #[test]
    fn a_lock_that_a_dead_holder_keeps_is_found(turns in turns(), pick in any::<usize>(), over in 1_u64..500) {
        let mut evidence = history(&turns);
        // long before everything is healed: R5 says nothing yet
        evidence.run.healed = 1_000 * SECOND;
        let (first, second) = neighbours(&evidence, pick);
        let key = evidence.calls[first].wish.key.clone();
        let (begin, death) = (body(&mut evidence, first).begin, body(&mut evidence, first).last_sign);
        // nobody else of this key, so that one waits
        let (dead, waits) = (evidence.calls[first].id.clone(), evidence.calls[second].id.clone());
        evidence.calls.retain(|call| call.wish.key != key || call.id == dead || call.id == waits);
        let free = death + 600 * MILLI + SECOND;
        for call in evidence.calls.iter_mut() {
            let body = call.body.as_mut().unwrap();
            if call.id == dead {
                call.left = None;
                body.ended = false;
                call.worker = 0;
            } else if call.id == waits {
                call.worker = 1;
                call.want = begin;
                body.begin = free + over * MILLI;
                body.last_poll = body.begin + MILLI;
                body.last_sign = body.begin + MILLI;
                call.left = Some((body.begin + 2 * MILLI, "ok".to_owned()));
            }
        }
        evidence.faults.push(fault(Kind::WorkerKilled, Some(0), death, death + 1));
        prop_assert!(found(&evidence).contains(&"R6"));
        for call in evidence.calls.iter_mut().filter(|call| call.id == waits) {
            call.body.as_mut().unwrap().begin = free;
        }
        prop_assert!(!found(&evidence).contains(&"R6"));
    }
}

#[test]
fn a_grant_to_the_dead_is_found() {
    let mut evidence = history(&[(1, 5, 5)]);
    evidence.deaths = vec![(5 * SECOND, 77)];
    evidence.grants = vec![
        (5_500 * MILLI, "chaos:1".to_owned(), 77),
        (9 * SECOND, "chaos:1".to_owned(), 78),
    ];
    assert_eq!(found(&evidence), Vec::<&str>::new());
    evidence
        .grants
        .push((5_600 * MILLI, "chaos:1".to_owned(), 77));
    assert_eq!(found(&evidence), ["R4"]);
    let step = fault(Kind::ServerClockBack, None, 5_200 * MILLI, 5_300 * MILLI);
    evidence.faults.push(step);
    assert_eq!(found(&evidence), Vec::<&str>::new());
}

#[test]
fn what_is_left_in_the_end_is_found() {
    let mut evidence = history(&[(1, 5, 5), (2, 5, 5)]);
    evidence
        .outcome
        .push("left behind: lib_lock:tests:kit:chaos:1".to_owned());
    assert_eq!(found(&evidence), ["R8"]);
    evidence.outcome = vec!["hung worker 1: not all calls came to an end".to_owned()];
    assert_eq!(found(&evidence), ["R5"]);
}

#[test]
fn a_run_in_which_nothing_happened_proves_nothing() {
    let mut evidence = history(&[(1, 5, 5)]);
    evidence.run.seconds = 20;
    let floor = judge(&evidence).pop().unwrap();
    assert_eq!(floor.promise, "R9 enough happened");
    // too few bodies, and none of the faults
    assert_eq!(floor.wrong.len(), 1 + Topology::Standalone.kinds().count());
    evidence.faults.extend(
        Topology::Standalone
            .kinds()
            .map(|kind| fault(kind, None, 9 * SECOND, 9 * SECOND + 1)),
    );
    assert_eq!(judge(&evidence).pop().unwrap().wrong.len(), 1);
    // no body after it
    evidence
        .faults
        .push(fault(Kind::Cut, Some(1), 20 * SECOND, 20 * SECOND + 1));
    assert_eq!(judge(&evidence).pop().unwrap().wrong.len(), 2);
}

/// Bodies of one key that run beside each other: who shares how, from, to, in tenths of a second.
fn beside(bodies: &[(Share, u64, u64)]) -> Evidence {
    let mut evidence = history(&vec![(1, 5, 5); bodies.len()]);
    evidence.store.clear();
    for (call, (share, from, to)) in evidence.calls.iter_mut().zip(bodies) {
        let at = |tenths: u64| 10 * SECOND + tenths * 100 * MILLI;
        call.wish.share = *share;
        call.want = at(*from) - MILLI;
        call.left = Some((at(*to) + 1, "ok".to_owned()));
        let body = call.body.as_mut().unwrap();
        (body.begin, body.last_poll, body.last_sign) = (at(*from), at(*to) - MILLI, at(*to));
    }
    evidence
}

#[test]
fn readers_share_and_writers_do_not() {
    let (reads, writes) = (Share::Readers, Share::Alone);
    let right = [
        (reads, 0, 5),
        (reads, 1, 4),
        (reads, 2, 6),
        (writes, 7, 8),
        (reads, 9, 10),
    ];
    assert_eq!(found(&beside(&right)), Vec::<&str>::new());
    // a writer that comes while one still reads, and a reader that comes while one writes
    for wrong in [
        [(reads, 0, 5), (reads, 1, 4), (writes, 4, 6)],
        [(writes, 0, 5), (reads, 3, 6), (reads, 7, 8)],
        [(reads, 0, 5), (writes, 6, 9), (writes, 8, 10)],
    ] {
        assert_eq!(found(&beside(&wrong)), ["R1"], "{wrong:?}");
    }
}

#[test]
fn one_permit_too_many_is_found() {
    let two = Share::Permits(2);
    let right = [(two, 0, 5), (two, 1, 3), (two, 4, 8), (two, 6, 9)];
    assert_eq!(found(&beside(&right)), Vec::<&str>::new());
    let wrong = [(two, 0, 5), (two, 1, 5), (two, 4, 8)];
    assert_eq!(found(&beside(&wrong)), ["R1"]);
    // the data was lost while both ran: a lease later they have to know
    let mut excused = beside(&wrong);
    let at = 10 * SECOND + 300 * MILLI;
    excused
        .faults
        .push(fault(Kind::DataFlushed, None, at, at + 1));
    assert_eq!(found(&excused), Vec::<&str>::new());
    let mixed = [(two, 0, 5), (Share::Alone, 3, 6), (two, 7, 8)];
    assert_eq!(found(&beside(&mixed)), ["R1"]);
}

/// Two that are given the lock together may begin in either order, but not with one token, nor out of their turn.
#[test]
fn those_who_share_have_tokens_in_the_order_of_their_turns() {
    let reads = Share::Readers;
    let mut evidence = beside(&[(reads, 0, 5), (reads, 1, 6), (reads, 2, 7)]);
    let token = |evidence: &mut Evidence, of: usize| body(evidence, of).token;
    let (first, second) = (token(&mut evidence, 0), token(&mut evidence, 1));
    let mut swapped = evidence.clone();
    (body(&mut swapped, 0).token, body(&mut swapped, 1).token) = (second, first);
    assert_eq!(
        found(&swapped),
        ["R4"],
        "the first in line was given it second"
    );
    swapped.arrivals.swap(0, 1);
    assert_eq!(found(&swapped), Vec::<&str>::new());
    body(&mut evidence, 1).token = first;
    assert!(found(&evidence).contains(&"R3"));
}
