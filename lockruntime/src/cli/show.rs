//! `show`: one lock, its queue, and why the first in line isn't running.

use super::render::{Tone, cell, clean, function, painted, process, table, toned};
use super::{DONE, NOT_SO, Outcome, Screen};
use crate::backend::{Held, Pulse, RECORD_VERSION, WaitingTicket};
use crate::error::{BackendErrorKind, LockError};
use crate::manager::LockManager;
use crate::report::{self, time};

/// `lockctl show`.
pub(super) async fn show(locks: &LockManager, key: &str, screen: &mut Screen<'_>) -> Outcome {
    let snapshot = match locks.snapshot(key).await {
        Ok(snapshot) => snapshot,
        Err(LockError::Backend { source, .. }) if source.kind() == BackendErrorKind::Foreign => {
            if screen.json {
                let value = serde_json::json!({ "key": key, "state": "broken", "what": source.to_string() });
                writeln!(screen.out, "{value}")?;
            } else {
                writeln!(
                    screen.out,
                    "{}  broken: {}",
                    clean(key),
                    clean(&source.to_string())
                )?;
            }
            return Ok(DONE);
        }
        Err(error) => return Err(error.into()),
    };
    let code = if snapshot.held.is_none() && snapshot.waiting.is_empty() {
        NOT_SO
    } else {
        DONE
    };
    if screen.json {
        writeln!(screen.out, "{}", report::snapshot(key, &snapshot))?;
        return Ok(code);
    }
    let (word, tone) = match (&snapshot.held, code) {
        (Some(_), _) => ("held", Tone::Warning),
        (None, NOT_SO) => ("free, and nobody waits", Tone::Good),
        (None, _) => ("free, and waited for", Tone::Warning),
    };
    writeln!(
        screen.out,
        "{}  {}",
        clean(key),
        painted(word, tone, screen.colored)
    )?;
    for held in snapshot.held.iter().chain(&snapshot.beside) {
        write_held(held, screen)?;
    }
    write_queue(&snapshot.waiting, screen)?;
    let why = report::why(&snapshot);
    if !why.is_empty() {
        writeln!(screen.out, "\n{why}")?;
    }
    let holders = snapshot.held.iter().chain(&snapshot.beside);
    for held in holders.filter(|held| !matches!(held.pulse(), Pulse::Renewed)) {
        writeln!(
            screen.out,
            "To free it now: lockctl release {} --owner {}",
            clean(key),
            held.owner
        )?;
    }
    Ok(code)
}

fn write_held(held: &Held, screen: &mut Screen<'_>) -> std::io::Result<()> {
    let mut rows = Vec::new();
    let mut add = |name: &str, value| rows.push(vec![cell("  "), toned(name, Tone::Faint), value]);
    if let Some(holder) = &held.holder {
        add("host", cell(&holder.host_name));
        add(
            "process",
            cell(format!("{}, task {}", process(holder), holder.thread_id)),
        );
        add("function", cell(function(holder)));
        add(
            "asked",
            cell(format!("{} (by its own clock)", holder.created)),
        );
    }
    add(
        "since",
        cell(format!("{} ({} ago)", held.since(), time(held.age))),
    );
    let lease = held
        .lease
        .map_or_else(|| "of unknown length".to_owned(), time);
    add("lease", cell(format!("{lease}, {} left", time(held.left))));
    add(
        "holder",
        match held.pulse() {
            Pulse::Renewed => toned("alive: its lease is renewed in time", Tone::Good),
            Pulse::Overdue { unrenewed } => toned(
                format!(
                    "no renewal for {}: dead, stopped or cut off, or its lease is not renewed by choice (watchdog = false, min_hold); the lock ends by itself in {}",
                    time(unrenewed),
                    time(held.left)
                ),
                Tone::Bad,
            ),
            Pulse::Unknown => cell("unknown: its record doesn't say how long its lease is"),
        },
    );
    if !held.sharing.is_alone() {
        add("beside", cell(format!("others, by {}", held.sharing)));
    }
    add("fencing", cell(held.token.to_string()));
    add("owner", cell(held.owner.to_string()));
    if held.version > RECORD_VERSION {
        add(
            "record",
            toned(
                format!("of a newer version, {}", held.version),
                Tone::Warning,
            ),
        );
    }
    table(screen.out, screen.colored, &[], &rows)
}

fn write_queue(waiting: &[WaitingTicket], screen: &mut Screen<'_>) -> std::io::Result<()> {
    if waiting.is_empty() {
        return Ok(());
    }
    writeln!(screen.out)?;
    let rows: Vec<_> = waiting
        .iter()
        .enumerate()
        .map(|(rank, ticket)| {
            let alive = match ticket.alive_for {
                Some(left) => toned(format!("yes, good for {}", time(left)), Tone::Good),
                None => toned("dead", Tone::Bad),
            };
            let mut row = vec![cell(rank.to_string()), cell(time(ticket.waited)), alive];
            match &ticket.holder {
                Some(holder) => row.extend([
                    cell(&holder.host_name),
                    cell(process(holder)),
                    cell(function(holder)),
                ]),
                None => row.extend([cell(&ticket.member), cell("?"), cell("?")]),
            }
            row
        })
        .collect();
    table(
        screen.out,
        screen.colored,
        &["RANK", "WAITED", "ALIVE", "HOST", "PROCESS", "FUNCTION"],
        &rows,
    )
}
