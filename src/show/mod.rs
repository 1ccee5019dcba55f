//! Answers as text for people: 80 columns, readable without color.

mod barriers;
mod beside;
mod claims;
mod compare;
mod critical;
mod faults;
mod plan;
mod roles;
mod schedule;
mod summary;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
mod verdict;
mod whatif;

pub(crate) use barriers::barriers;
pub(crate) use beside::beside;
pub(crate) use claims::claims;
pub(crate) use compare::compare;
pub(crate) use faults::outcome;
pub(crate) use plan::plan;
pub(crate) use summary::{certainty, grid, padding, scaled};
pub(crate) use sweep::sweep;
pub(crate) use table::{Align, Table, wrap};
pub(crate) use verdict::{fault, sentence, suggestion, verdict, violation};
pub(crate) use warpline_sim::words::{bytes, count, of, percent, plain, short, ungrouped};
pub(crate) use whatif::whatif;

use crate::console::Paint;
use warpline_api::CriticalPath;
use warpline_api::Simulation;

/// Columns of a line.
pub(crate) const WIDTH: usize = 80;

/// A run that follows a schedule: its end and its findings. Its times are those of the schedule.
pub(crate) fn scheduled(simulation: &Simulation, paint: Paint) -> String {
    let n = simulation.subject.schedule.as_ref().map_or(0, |s| s.moves.len());
    let mut text = summary::head(&simulation.subject, paint);
    let cycles = plain(simulation.report.cycles);
    text += &summary::field("Schedule", &format!("{} of one cluster, in {cycles} cycles", of(n as i64, "move")));
    text += "\n";
    text += &faults::outcome(simulation, paint);
    text + &faults::findings(simulation, paint)
}

/// All sections of one run.
pub(crate) fn run(simulation: &Simulation, path: Option<&CriticalPath>, paint: Paint) -> String {
    let mut text = summary::head(&simulation.subject, paint);
    text += &faults::outcome(simulation, paint);
    text += &summary::numbers(simulation, paint);
    text += &roles::table(simulation, paint);
    text += &roles::waits(simulation, paint);
    text += &roles::conflicts(simulation, paint);
    text += &critical::path(simulation, path, paint);
    text += &faults::findings(simulation, paint);
    text += &summary::basis(simulation, paint);
    text + "\n"
}
