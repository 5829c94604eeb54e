//! One page for people.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use super::evidence::Evidence;
use super::judge::{Verdict, hand_overs, overlaps};
use super::plan::Kind;

const SHOWN: usize = 5;

/// The page.
#[must_use]
pub fn page(evidence: &Evidence, verdicts: &[Verdict]) -> String {
    let mut page = String::new();
    write_page(&mut page, evidence, verdicts).expect("writing to a string never fails");
    page
}

fn write_page(page: &mut String, evidence: &Evidence, verdicts: &[Verdict]) -> std::fmt::Result {
    let run = &evidence.run;
    writeln!(
        page,
        "chaos: {}, seed {}, {} s, {} workers{}",
        run.topology.name(),
        run.seed,
        run.seconds,
        run.workers,
        if run.locked { "" } else { ", WITHOUT LOCKS" }
    )?;
    let mut faults: BTreeMap<Kind, usize> = BTreeMap::new();
    for fault in &evidence.faults {
        *faults.entry(fault.kind).or_default() += 1;
    }
    writeln!(page, "\nfaults: {}", evidence.faults.len())?;
    let cells: Vec<_> = faults
        .iter()
        .map(|(kind, count)| format!("{:<21}{count:>4}", kind.name()))
        .collect();
    for row in cells.chunks(3) {
        writeln!(page, "  {}", row.join("    "))?;
    }
    if !evidence.skipped.is_empty() {
        writeln!(
            page,
            "  skipped: {} partitions of packets; they need a network of the run's own: unshare, ip (iproute2), nft (nftables)",
            evidence.skipped.len()
        )?;
    }

    let began = evidence
        .calls
        .iter()
        .filter_map(|call| Some(call.body.as_ref()?.begin));
    let bodies = began.clone().count();
    let during = began
        .filter(|begin| {
            evidence
                .faults
                .iter()
                .any(|fault| fault.touches(*begin, *begin))
        })
        .count();
    writeln!(
        page,
        "\ncalls: {}, sections: {bodies}, of which {during} began during a fault",
        evidence.calls.len()
    )?;
    let mut ways: HashMap<&str, usize> = HashMap::new();
    for call in &evidence.calls {
        *ways
            .entry(call.left.as_ref().map_or("killed", |(_, how)| how))
            .or_default() += 1;
    }
    let mut ways: Vec<_> = ways.into_iter().collect();
    ways.sort_by_key(|(how, count)| (usize::MAX - count, *how));
    let ways: Vec<_> = ways
        .iter()
        .map(|(how, count)| format!("{how} {count}"))
        .collect();
    writeln!(page, "  ended: {}", ways.join(", "))?;
    let accepted = evidence
        .store
        .iter()
        .filter(|deed| deed.accepted && deed.write)
        .count();
    let refused = evidence.store.iter().filter(|deed| !deed.accepted).count();
    writeln!(
        page,
        "  guarded store: {accepted} writes accepted, {refused} stale reads and writes refused"
    )?;
    let within = overlaps(evidence)
        .iter()
        .filter(|overlap| overlap.within_a_poll)
        .count();
    writeln!(
        page,
        "  overlaps: {} seen, {within} of them within the last poll of a process that stood still; stalls of the machine: {}",
        overlaps(evidence).len(),
        evidence.stalls.len()
    )?;
    for (name, during) in [("during faults", true), ("after and between faults", false)] {
        let mut idle: Vec<_> = hand_overs(evidence)
            .iter()
            .filter(|turn| turn.during_a_fault == during)
            .map(|turn| turn.idle)
            .collect();
        idle.sort_unstable();
        let at = |percent: usize| {
            idle.get(idle.len() * percent / 100)
                .or(idle.last())
                .map_or(0, |idle| idle / 1_000)
        };
        writeln!(
            page,
            "  hand-overs {name}: {}, p50 {} us, p99 {} us",
            idle.len(),
            at(50),
            at(99)
        )?;
    }

    writeln!(
        page,
        "\n{:<36}{:>9}{:>9}{:>7}",
        "promise", "checked", "excused", "wrong"
    )?;
    for verdict in verdicts {
        writeln!(
            page,
            "{:<36}{:>9}{:>9}{:>7}",
            verdict.promise,
            verdict.checked,
            verdict.excused,
            verdict.wrong.len()
        )?;
    }
    for verdict in verdicts.iter().filter(|verdict| !verdict.wrong.is_empty()) {
        writeln!(page, "\n{}:", verdict.promise)?;
        for sentence in verdict.wrong.iter().take(SHOWN) {
            writeln!(page, "  {sentence}")?;
        }
        if verdict.wrong.len() > SHOWN {
            writeln!(page, "  and {} more", verdict.wrong.len() - SHOWN)?;
        }
    }
    Ok(())
}
