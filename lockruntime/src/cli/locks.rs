//! `ls` and `watch`: all locks in a table.

use std::time::Duration;

use futures_util::future::{Either, select};
use serde_json::json;

use super::render::{Cell, Tone, cell, clean, function, process, table, toned};
use super::{DONE, NO_ANSWER, Outcome, Screen, told_to_end};
use crate::backend::{Held, Inventory, Listed, Pulse, RECORD_VERSION, Standing};
use crate::clock;
use crate::manager::LockManager;
use crate::report::{self, time};

const HEAD: [&str; 9] = [
    "KEY",
    "AGE",
    "LEFT",
    "WAIT",
    "HOST",
    "PROCESS",
    "FUNCTION",
    "FENCING TOKEN",
    "OWNER",
];

/// `lockctl ls`.
pub(super) async fn list(locks: &LockManager, pattern: &str, screen: &mut Screen<'_>) -> Outcome {
    let listed = locks.list(pattern).await?;
    write(&listed, screen)?;
    Ok(if listed.gaps.is_empty() {
        DONE
    } else {
        NO_ANSWER
    })
}

/// `lockctl watch`.
pub(super) async fn watch(
    locks: &LockManager,
    pattern: &str,
    every: Duration,
    times: Option<u64>,
    screen: &mut Screen<'_>,
) -> Outcome {
    let mut end = Box::pin(told_to_end());
    let mut looks = 0;
    // good as soon as one look had an answer
    let mut code = NO_ANSWER;
    loop {
        let look = Box::pin(locks.list(pattern));
        let listed = match select(look, end.as_mut()).await {
            Either::Left((listed, _)) => listed,
            Either::Right(_) => return Ok(DONE),
        };
        if screen.redraws {
            // home, and everything below it cleared
            write!(screen.out, "\x1b[H\x1b[2J")?;
        }
        match listed {
            Ok(listed) => {
                write(&listed, screen)?;
                code = DONE;
            }
            // it may be back with the next look
            Err(error) if screen.json => {
                writeln!(screen.out, "{}", json!({ "error": error.to_string() }))?;
            }
            Err(error) => writeln!(screen.out, "{}", clean(&error.to_string()))?,
        }
        screen.out.flush()?;
        looks += 1;
        if times.is_some_and(|times| looks >= times) {
            return Ok(code);
        }
        if let Either::Right(_) = select(Box::pin(clock::sleep(every)), end.as_mut()).await {
            return Ok(DONE);
        }
    }
}

fn write(inventory: &Inventory, screen: &mut Screen<'_>) -> std::io::Result<()> {
    if screen.json {
        return writeln!(screen.out, "{}", report::list(inventory));
    }
    let Inventory { locks, gaps } = inventory;
    for gap in gaps {
        writeln!(screen.complaints, "lockctl: not all locks: {}", clean(gap))?;
    }
    if locks.is_empty() && !gaps.is_empty() {
        return Ok(());
    }
    if locks.is_empty() {
        return writeln!(screen.out, "no lock is held or waited for");
    }
    let rows: Vec<_> = locks.iter().map(row).collect();
    table(screen.out, screen.colored, &HEAD, &rows)?;
    let held = locks
        .iter()
        .filter(|lock| matches!(lock.standing, Standing::Held(_)));
    let waiting: u64 = locks.iter().map(|lock| lock.waiting).sum();
    writeln!(screen.out, "{} held, {waiting} waiting", held.count())
}

fn row(lock: &Listed) -> Vec<Cell> {
    let waiting = match lock.waiting {
        0 => toned("-", Tone::Faint),
        waiting => toned(waiting.to_string(), Tone::Warning),
    };
    match &lock.standing {
        Standing::Held(held) => held_row(&lock.key, held, waiting),
        Standing::Free => {
            let says = toned(
                "nobody holds it; the first in line enters with its next ask",
                Tone::Warning,
            );
            vec![cell(&lock.key), cell("-"), cell("-"), waiting, says]
        }
        Standing::Broken { what, left } => {
            let left = left.map_or_else(|| "for ever".to_owned(), time);
            vec![
                cell(&lock.key),
                cell("?"),
                cell(left),
                waiting,
                toned(format!("broken: {what}"), Tone::Bad),
            ]
        }
    }
}

fn held_row(key: &str, held: &Held, waiting: Cell) -> Vec<Cell> {
    let left = match held.pulse() {
        Pulse::Overdue { .. } => toned(format!("{} overdue", time(held.left)), Tone::Bad),
        Pulse::Renewed | Pulse::Unknown => cell(time(held.left)),
    };
    let mut row = vec![cell(key), cell(time(held.age)), left, waiting];
    match &held.holder {
        _ if held.is_of_several() => {
            let says = format!("several, by {}; lockctl show names each", held.sharing);
            row.push(cell(says));
            return row;
        }
        Some(holder) => row.extend([
            cell(&holder.host_name),
            cell(process(holder)),
            cell(function(holder)),
        ]),
        None => row.extend([cell("?"), cell("?"), cell("?")]),
    }
    row.push(cell(held.token.to_string()));
    let owner = held.owner.to_string();
    row.push(if held.version > RECORD_VERSION {
        toned(
            format!("{owner}  (record of a newer version, {})", held.version),
            Tone::Warning,
        )
    } else {
        toned(owner, Tone::Faint)
    });
    row
}
