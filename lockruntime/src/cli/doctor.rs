//! `doctor`: whether the storage is fit for locks.

use super::render::{cell, clean, state, table};
use super::{DONE, Outcome, Screen, UNWELL};
use crate::backend::{State, Survey};
use crate::manager::LockManager;
use crate::report;

/// `lockctl doctor`.
pub(super) async fn doctor(locks: &LockManager, screen: &mut Screen<'_>) -> Outcome {
    let surveys = locks.survey().await?;
    if screen.json {
        writeln!(screen.out, "{}", report::surveys(&surveys))?;
    } else {
        surveys
            .iter()
            .try_for_each(|survey| write(survey, screen))?;
    }
    let points = surveys.iter().flat_map(|survey| &survey.points);
    let well = points.clone().all(|point| point.state == State::Good);
    if !screen.json {
        let looks = points.filter(|point| point.state != State::Good).count();
        match looks {
            0 => writeln!(screen.out, "all well")?,
            looks => writeln!(screen.out, "{looks} to look at")?,
        }
    }
    Ok(if well { DONE } else { UNWELL })
}

fn write(survey: &Survey, screen: &mut Screen<'_>) -> std::io::Result<()> {
    writeln!(screen.out, "{}", clean(&survey.address))?;
    let row = |point: &crate::backend::Point| {
        vec![
            cell("  "),
            state(point.state),
            cell(point.topic),
            cell(&point.says),
        ]
    };
    let rows: Vec<_> = survey.points.iter().map(row).collect();
    table(screen.out, screen.colored, &[], &rows)
}
