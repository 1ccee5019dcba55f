//! Classes of what a row shows, each with one color, one pattern, and one entry in the legend.

use warpline_sim::timeline::{RowKind, SpanKind, Stall, Work};

use super::hatch::{self, Pattern};
use super::theme::{self, Rgb, Theme};
use warpline_sim::words;

/// A class, in the order of the legend. Shares are stacked in this order from the bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    Work(Work),
    Stall(Stall),
    Filling,
    Full,
    /// A barrier's phase, even or odd.
    Phase(bool),
}

impl Class {
    /// The class of the `nth` span of a row.
    pub(crate) fn of(kind: &RowKind, what: SpanKind, nth: usize) -> Class {
        match (what, kind) {
            (SpanKind::Work(w), _) => Class::Work(w),
            (SpanKind::Stall(s), _) => Class::Stall(s),
            (SpanKind::Hold { .. }, RowKind::Barrier(_)) => Class::Phase(nth % 2 == 1),
            (SpanKind::Hold { filling: true }, _) => Class::Filling,
            (SpanKind::Hold { filling: false }, _) => Class::Full,
        }
    }

    pub(crate) fn what(self) -> SpanKind {
        match self {
            Class::Work(w) => SpanKind::Work(w),
            Class::Stall(s) => SpanKind::Stall(s),
            Class::Filling => SpanKind::Hold { filling: true },
            Class::Full | Class::Phase(_) => SpanKind::Hold { filling: false },
        }
    }

    pub(crate) fn fill(self, theme: Theme) -> Rgb {
        match self {
            Class::Phase(odd) => theme::phase(theme, odd),
            _ => theme::fill(theme, self.what()),
        }
    }

    pub(crate) fn hatch(self, theme: Theme) -> Option<(Pattern, Rgb)> {
        Some((hatch::pattern(self.what())?, theme::hatch(theme, self.what())))
    }

    /// A word for a bar without a label.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Class::Work(w) => words::work(w),
            Class::Stall(s) => words::stall(s),
            Class::Filling => "filling",
            Class::Full | Class::Phase(_) => "",
        }
    }

    pub(crate) fn legend(self) -> &'static str {
        match self {
            Class::Work(w) => words::work_long(w),
            Class::Stall(s) => words::stall_long(s),
            Class::Filling => "slot filling",
            Class::Full => "slot full",
            Class::Phase(_) => "barrier phases",
        }
    }
}
