//! The pixels of one lane: bars where spans are wide enough, shares of time where they are not.

use std::collections::BTreeMap;

use warpline_sim::timeline::{RowKind, Span};

use super::class::Class;
use super::select::{Lane, Window};

/// The time scale from left to right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) window: Window,
    pub(crate) x: i32,
    pub(crate) w: i32,
}

impl Scale {
    /// The pixel column of a tick, clamped to the plot.
    pub(crate) fn x(&self, tick: u64) -> i32 {
        let from_left = tick.clamp(self.window.from, self.window.to) - self.window.from;
        let x = u128::from(from_left) * self.w as u128 / u128::from(self.window.ticks().max(1));
        self.x + x as i32
    }

    /// The tick at the left edge of a column.
    fn tick(&self, x: i32) -> u64 {
        let t = (x - self.x) as u128 * u128::from(self.window.ticks()) / self.w.max(1) as u128;
        self.window.from + t as u64
    }
}

/// A span, or the part of a span beside dense columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    pub(crate) span: u32,
    pub(crate) class: Class,
    pub(crate) x0: i32,
    pub(crate) x1: i32,
}

/// A column with several spans: the share of time of each class, in 256ths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) x0: i32,
    pub(crate) x1: i32,
    pub(crate) shares: Vec<(Class, u32)>,
}

/// A lane's pixels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawing {
    pub(crate) bars: Vec<Bar>,
    pub(crate) dense: Vec<Column>,
}

/// Pixels of a column.
const BIN: i32 = 3;

/// Lays out a lane.
///
/// A span narrower than a column is tiny. A column in which two tiny spans start is dense: it shows shares of
/// everything in it, and bars that reach into it are cut. A single tiny span is drawn at least a pixel wide.
pub(crate) fn lay_out(spans: &[Span], lane: &Lane, kind: &RowKind, scale: &Scale) -> Drawing {
    let bins = (scale.w.max(0) / BIN) as usize + 1;
    let mut tiny = vec![0u8; bins];
    let place: Vec<_> = lane
        .spans
        .iter()
        .map(|shown| {
            let span = &spans[shown.span as usize];
            let bar = Bar {
                span: shown.span,
                class: Class::of(kind, span.what, shown.nth),
                x0: scale.x(span.start),
                x1: scale.x(span.end),
            };
            if bar.x1 - bar.x0 < BIN {
                let bin = &mut tiny[((bar.x0 - scale.x) / BIN) as usize];
                *bin = bin.saturating_add(1);
            }
            bar
        })
        .collect();
    let dense: Vec<bool> = tiny.iter().map(|&n| lane.piled || n > 1).collect();
    let edge = |bin: usize| (scale.x + bin as i32 * BIN).min(scale.x + scale.w);
    let mut sums: BTreeMap<(usize, Class), u64> = BTreeMap::new();
    let mut drawing = Drawing::default();
    let mut drawn_to = scale.x;
    for bar in place {
        let span = &spans[bar.span as usize];
        let bin_of = |x: i32| ((x - scale.x) / BIN) as usize;
        let (first, last) = (bin_of(bar.x0), bin_of(bar.x1).min(bins - 1));
        let mut x = bar.x0.max(drawn_to);
        for (bin, _) in dense.iter().enumerate().take(last + 1).skip(first).filter(|(_, dense)| **dense) {
            let (from, to) = (scale.tick(edge(bin)).max(span.start), scale.tick(edge(bin + 1)).min(span.end));
            if from < to {
                *sums.entry((bin, bar.class)).or_insert(0) += to - from;
            }
            if edge(bin) > x {
                drawing.bars.push(Bar { x0: x, x1: edge(bin).min(bar.x1), ..bar });
            }
            x = x.max(edge(bin + 1));
        }
        // A span without width is still shown, if the next pixel is free.
        let x1 = if dense[first] { bar.x1 } else { bar.x1.max(bar.x0 + 1).min(scale.x + scale.w) };
        if x < x1 {
            drawing.bars.push(Bar { x0: x, x1, ..bar });
        }
        drawn_to = drawn_to.max(x1).max(x);
    }
    drawing.dense = columns(sums, &edge, scale);
    drawing
}

fn columns(sums: BTreeMap<(usize, Class), u64>, edge: &impl Fn(usize) -> i32, scale: &Scale) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let mut sums = sums.into_iter().peekable();
    while let Some(&((bin, _), _)) = sums.peek() {
        let (x0, x1) = (edge(bin), edge(bin + 1));
        let mut parts = Vec::new();
        while let Some(((_, class), ticks)) = sums.next_if(|((b, _), _)| *b == bin) {
            parts.push((class, ticks));
        }
        // Where spans overlap, their times add up to more than the column has.
        let there: u64 = scale.tick(x1) - scale.tick(x0);
        let whole = there.max(parts.iter().map(|p| p.1).sum()).max(1);
        let shares: Vec<_> =
            parts.into_iter().map(|(c, t)| (c, (u128::from(t) * 256 / u128::from(whole)) as u32)).collect();
        match columns.last_mut() {
            Some(last) if last.x1 == x0 && last.shares == shares => last.x1 = x1,
            _ if x0 < x1 => columns.push(Column { x0, x1, shares }),
            _ => {}
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::super::select::ShownSpan;
    use super::*;
    use warpline_sim::timeline::{SpanKind, Work};

    fn drawing(spans: &[(u64, u64)], w: i32, to: u64) -> Drawing {
        let spans: Vec<_> = spans.iter().map(|&times| Span::new(0, times, SpanKind::Work(Work::Mma))).collect();
        let shown = (0..spans.len()).map(|i| ShownSpan { span: i as u32, nth: i }).collect();
        let lane = Lane { spans: shown, piled: false };
        let kind = RowKind::Slot("a".into());
        lay_out(&spans, &lane, &kind, &Scale { window: Window { from: 0, to }, x: 100, w })
    }

    #[test]
    fn wide_spans_are_bars() {
        let d = drawing(&[(0, 50), (50, 100)], 200, 100);
        let edges: Vec<_> = d.bars.iter().map(|b| (b.x0, b.x1)).collect();
        assert_eq!((edges, d.dense.len()), (vec![(100, 200), (200, 300)], 0));
    }

    #[test]
    fn crowded_spans_are_shares() {
        let many: Vec<_> = (0..600).map(|i| (i * 10, i * 10 + 5)).collect();
        let d = drawing(&many, 60, 6000);
        assert!(d.bars.is_empty(), "{:?}", d.bars);
        assert_eq!(d.dense.len(), 1);
        assert_eq!(d.dense[0].shares, [(Class::Work(Work::Mma), 128)]);
    }

    #[test]
    fn a_lone_tiny_span_is_a_pixel() {
        let d = drawing(&[(500, 501)], 100, 1000);
        assert_eq!(d.bars.len(), 1);
        assert_eq!(d.bars[0].x1 - d.bars[0].x0, 1);
    }
}
