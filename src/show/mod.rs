//! The text of a run, for people. It reads well without colour and fits 80 columns.

mod barriers;
mod beside;
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
pub(crate) use beside::{Neighbour, beside};
pub(crate) use compare::compare;
pub(crate) use plan::plan;
pub(crate) use summary::scaled;
pub(crate) use sweep::sweep;
pub(crate) use table::{Align, Table, wrap};
pub(crate) use verdict::{fault, sentence, suggestion, verdict, violation};
pub(crate) use warpline_sim::words::{bytes, count, exact, of, percent, plain, short};
pub(crate) use whatif::whatif;

use crate::console::Paint;
use crate::critical::Path;
use crate::simulate::Ran;

/// Columns of a line.
pub(crate) const WIDTH: usize = 80;

/// A run that kept to a schedule: how it ended, and what showed. Its times are those of that order.
pub(crate) fn kept(ran: &Ran, paint: Paint) -> String {
    let n = ran.subject.schedule.as_ref().map_or(0, |s| s.moves.len());
    let mut text = summary::head(&ran.subject, paint);
    let cycles = plain(ran.report.cycles);
    text += &summary::field("Schedule", &format!("{} of one cluster, in {cycles} cycles", of(n as i64, "move")));
    text += "\n";
    text += &faults::outcome(ran, paint);
    text + &faults::findings(ran, paint)
}

/// Everything about one run.
pub(crate) fn run(ran: &Ran, path: Option<&Path>, paint: Paint) -> String {
    let mut text = summary::head(&ran.subject, paint);
    text += &faults::outcome(ran, paint);
    text += &summary::numbers(ran, paint);
    text += &roles::table(ran, paint);
    text += &roles::waits(ran, paint);
    text += &critical::path(ran, path, paint);
    text += &faults::findings(ran, paint);
    text += &summary::basis(ran, paint);
    text + "\n"
}
