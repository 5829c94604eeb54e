//! Tables, times and colours for people.

use std::io::{self, Write};

use crate::backend::{Holder, State};

/// What a cell's colour says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Faint,
    Good,
    Warning,
    Bad,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Faint => "\x1b[2m",
            Self::Good => "\x1b[32m",
            Self::Warning => "\x1b[33m",
            Self::Bad => "\x1b[31m",
        }
    }
}

/// One cell of a table.
pub(super) struct Cell {
    text: String,
    tone: Tone,
}

pub(super) fn cell(text: impl Into<String>) -> Cell {
    toned(text, Tone::Plain)
}

pub(super) fn toned(text: impl Into<String>, tone: Tone) -> Cell {
    let text = clean(&text.into());
    Cell { text, tone }
}

/// Text from elsewhere as it may be written: a record may hold anything, and nothing of it may steer the terminal.
pub(super) fn clean(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace(steers, "\u{fffd}")
}

/// Writes rows in columns as wide as they need; the last one is open.
pub(super) fn table(
    out: &mut dyn Write,
    colored: bool,
    head: &[&str],
    rows: &[Vec<Cell>],
) -> io::Result<()> {
    let width_of = |index: usize| {
        let cells = rows.iter().filter_map(|row| row.get(index));
        let widths = cells.map(|cell| cell.text.chars().count());
        let title = head.get(index).map_or(0, |title| title.chars().count());
        widths.max().unwrap_or(0).max(title)
    };
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(head.len());
    let widths: Vec<usize> = (0..columns).map(width_of).collect();
    let head: Vec<Cell> = head
        .iter()
        .map(|title| toned(*title, Tone::Faint))
        .collect();
    let head = Some(&head).filter(|head| !head.is_empty());
    for row in head.into_iter().chain(rows) {
        let mut line = String::new();
        for (index, (Cell { text, tone }, width)) in row.iter().zip(&widths).enumerate() {
            if index > 0 {
                line.push_str("  ");
            }
            let last = index + 1 == row.len();
            let pad = if last {
                0
            } else {
                width.saturating_sub(text.chars().count())
            };
            line.push_str(&painted(text, *tone, colored));
            line.extend(std::iter::repeat_n(' ', pad));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

pub(super) fn painted(text: &str, tone: Tone, colored: bool) -> String {
    match tone.code() {
        code if colored && !code.is_empty() => format!("{code}{text}\x1b[0m"),
        _ => text.to_owned(),
    }
}

/// How one point of a survey is, in a word.
pub(super) fn state(state: State) -> Cell {
    match state {
        State::Good => toned("ok", Tone::Good),
        State::Warning => toned("look", Tone::Warning),
        State::Bad => toned("bad", Tone::Bad),
        State::Unknown => toned("?", Tone::Warning),
    }
}

/// The process of a holder or waiter.
pub(super) fn process(holder: &Holder) -> String {
    let name = if holder.process_name.is_empty() {
        "?"
    } else {
        &holder.process_name
    };
    format!("{name} ({})", holder.process_id)
}

/// The function of a holder or waiter.
pub(super) fn function(holder: &Holder) -> String {
    if holder.name_of.is_empty() {
        "-".to_owned()
    } else {
        holder.name_of.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_records_steer_no_terminal() {
        let mut out = Vec::new();
        let rows = [
            vec![cell("a"), cell("b")],
            vec![cell("é\x1b[2Jé"), toned("c\u{202e}", Tone::Bad)],
        ];
        table(&mut out, false, &["KEY", "X"], &rows).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "KEY     X\na       b\né\u{fffd}[2Jé  c\u{fffd}\n");
    }
}
