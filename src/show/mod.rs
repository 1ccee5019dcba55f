//! The text of a run, for people. It reads well without colour and fits 80 columns.

mod barriers;
mod beside;
mod faults;
mod numbers;
mod roles;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod verdict;

pub(crate) use barriers::barriers;
pub(crate) use beside::{Neighbour, beside};
pub(crate) use numbers::{exact, of, plain};
pub(crate) use table::{Align, Table, wrap};
pub(crate) use verdict::verdict;

use crate::console::Paint;
use crate::simulate::Ran;

/// Columns of a line.
pub(crate) const WIDTH: usize = 80;

/// Everything about one run.
pub(crate) fn run(ran: &Ran, paint: Paint) -> String {
    let mut text = summary::head(&ran.subject, paint);
    text += &faults::outcome(ran, paint);
    text += &summary::numbers(ran, paint);
    text += &roles::table(ran, paint);
    text += &roles::waits(ran, paint);
    text += &faults::findings(ran, paint);
    text += &summary::basis(ran, paint);
    text + "\n"
}
