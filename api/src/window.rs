//! The part of a run that a chart, the viewer and the page show first.

use std::collections::BTreeMap;
use std::ops::Range;

use warpline_sim::Report;
use warpline_sim::timeline::{RowKind, SpanKind, TICKS, Timeline, Work};

/// Steps of the main loop in a window, at most and at least.
const STEPS: Range<u64> = 2..9;
/// The most spans of a row that can still be told apart on a page.
const READABLE: usize = 140;

/// Cycles that show how a run gets going, where the run is longer.
///
/// The window begins at the start of the run. Warps that multiply for the first time only later, as the second warpgroup of a
/// ping-pong kernel does, move the window to that time: a chart shows everybody at work.
pub(crate) fn default_window(report: &Report, timeline: &Timeline, ctas: u32) -> Option<Range<u64>> {
    let end = report.cycles.ceil() as u64;
    let working = all_at_work(timeline, ctas);
    let Some(step) = report.cycles_per_tile else { return readable(timeline, ctas, working.unwrap_or(0), end) };
    let step = (step.ceil() as u64).max(1);
    let fits = |window: &Range<u64>| busiest(timeline, ctas, window) <= READABLE;
    let around = |steps: u64| match working {
        Some(at) if at > steps * step => {
            let from = at.saturating_sub(steps * step / 3);
            from..from + steps * step
        }
        _ => 0..steps * step,
    };
    let windows = || STEPS.rev().map(around);
    let window = windows().find(fits).unwrap_or_else(|| around(STEPS.start));
    (window.end < end).then_some(window)
}

/// The window of a run without steps of a main loop, such as that of a compiled kernel: as long as its rows can be read.
fn readable(timeline: &Timeline, ctas: u32, at: u64, end: u64) -> Option<Range<u64>> {
    let fits = |window: &Range<u64>| busiest(timeline, ctas, window) <= 2 * READABLE;
    if fits(&(0..end)) {
        return None;
    }
    // Halves of the run, from a little before everybody is at work.
    let halves = std::iter::successors(Some(end / 2), |cycles| Some(cycles / 2)).take_while(|cycles| *cycles > 0);
    let windows = halves.map(|cycles| at.saturating_sub(cycles / 3)..at.saturating_sub(cycles / 3) + cycles);
    windows.into_iter().find(fits)
}

/// The same for a saved trace, which does not know the steps.
pub(crate) fn saved_window(timeline: &Timeline) -> Option<Range<u64>> {
    let end = timeline.truncated_at.unwrap_or(timeline.end) / TICKS;
    readable(timeline, 1, all_at_work(timeline, 1).unwrap_or(0), end)
}

/// Whether a row is a warp of the first CTAs.
fn is_warp(timeline: &Timeline, ctas: u32, row: u32) -> bool {
    let row = timeline.rows.get(row as usize);
    row.is_some_and(|r| r.cta < ctas && matches!(r.kind, RowKind::Agent { .. }))
}

/// The cycle from which every warp that multiplies has multiplied.
fn all_at_work(timeline: &Timeline, ctas: u32) -> Option<u64> {
    let mut first: BTreeMap<u32, u64> = BTreeMap::new();
    for span in timeline.spans.iter().filter(|s| s.what == SpanKind::Work(Work::Mma)) {
        if is_warp(timeline, ctas, span.row) {
            first.entry(span.row).or_insert(span.start);
        }
    }
    first.values().max().map(|tick| tick / TICKS)
}

/// Spans of the busiest warp in a window.
fn busiest(timeline: &Timeline, ctas: u32, window: &Range<u64>) -> usize {
    let (from, to) = (window.start * TICKS, window.end * TICKS);
    let mut spans: BTreeMap<u32, usize> = BTreeMap::new();
    // Spans are ordered by their starts.
    let later = timeline.spans.partition_point(|s| s.start < to);
    for span in timeline.spans[..later].iter().filter(|s| s.end > from) {
        if is_warp(timeline, ctas, span.row) {
            *spans.entry(span.row).or_default() += 1;
        }
    }
    spans.into_values().max().unwrap_or(0)
}
