//! The spans of each row side by side, with the fields that building a model needs. In a timeline the spans of a row
//! lie far apart, so that visiting them one by one waits for memory.

use rayon::prelude::*;
use warpline_sim::timeline::{Row, RowKind, SpanKind, Timeline};

use super::class::{self, Class};
use super::index::{BEGINS, Edge, edge};
use super::model::ModelError;

/// A span with a duration.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowSpan {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Its index in the timeline.
    pub(super) span: u32,
    pub(super) what: SpanKind,
    /// Number of its class.
    pub(super) class: u8,
}

impl RowSpan {
    pub(super) fn edges(&self) -> [Edge; 2] {
        [edge(self.start, self.class | BEGINS), edge(self.end, self.class)]
    }
}

/// The spans of each row with a duration, by start, and the end of the last one.
pub(super) fn by_row(t: &Timeline) -> Result<(Vec<Vec<RowSpan>>, u64), ModelError> {
    // Room for equally many on each row, to begin with.
    let mut rows: Vec<Vec<RowSpan>> = Vec::new();
    rows.resize_with(t.rows.len(), || Vec::with_capacity(t.spans.len() / t.rows.len()));
    let mut last = 0;
    for (i, s) in t.spans.iter().enumerate() {
        let bad = ModelError::BadRow { span: i, row: s.row, rows: t.rows.len() };
        let row = rows.get_mut(s.row as usize).ok_or(bad)?;
        last = last.max(s.end);
        if s.start < s.end {
            row.push(RowSpan { start: s.start, end: s.end, span: i as u32, what: s.what, class: 0 });
        }
    }
    rows.par_iter_mut().zip(&t.rows).for_each(|(spans, row)| {
        if !spans.is_sorted_by_key(|s| s.start) {
            spans.sort_by_key(|s| s.start);
        }
        for (nth, s) in spans.iter_mut().enumerate() {
            s.class = class::number(Class::of(&row.kind, s.what, nth));
        }
    });
    Ok((rows, last))
}

/// The ends of a row's spans, each with its span.
pub(super) fn ends(row: &[RowSpan]) -> Vec<(u64, u32)> {
    row.iter().map(|s| (s.end, s.span)).collect()
}

/// The spans of the warps.
pub(super) fn of_warps<'r>(rows: &'r [Vec<RowSpan>], all: &'r [Row]) -> impl Iterator<Item = &'r Vec<RowSpan>> {
    rows.iter().zip(all).filter(|(_, row)| matches!(row.kind, RowKind::Agent { .. })).map(|(spans, _)| spans)
}
