//! Hatching: a pattern for every cause of waiting, so that color is not the only difference.

use warpline_sim::timeline::{SpanKind, Stall};

use super::scene::{Area, Layer, Scene};
use super::theme::Rgb;

/// Families of parallel lines, each with its distance in tenths of an em; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pattern {
    /// Rising to the right.
    up: u8,
    /// Falling to the right.
    down: u8,
    /// Vertical.
    stand: u8,
    /// Horizontal.
    level: u8,
}

impl Pattern {
    /// Distances of the rising, falling, vertical and horizontal lines, in tenths of an em; 0 for none.
    pub(crate) fn lines(self) -> [u8; 4] {
        [self.up, self.down, self.stand, self.level]
    }
}

const TIGHT: u8 = 4;
const WIDE: u8 = 8;

/// The pattern of a class; `None` for work, which is solid.
pub(crate) fn pattern(what: SpanKind) -> Option<Pattern> {
    let p = |up, down, stand, level| Some(Pattern { up, down, stand, level });
    match what {
        SpanKind::Work(_) | SpanKind::Stall(Stall::Ended) | SpanKind::Hold { filling: false } => None,
        SpanKind::Hold { filling: true } => p(TIGHT, 0, 0, 0),
        SpanKind::Stall(s) => match s {
            Stall::Global => p(WIDE, 0, 0, 0),
            Stall::Mbarrier => p(TIGHT, 0, 0, 0),
            Stall::Shared => p(0, WIDE, 0, 0),
            Stall::Group => p(0, TIGHT, 0, 0),
            Stall::Tensor => p(WIDE, WIDE, 0, 0),
            Stall::Counter => p(TIGHT, TIGHT, 0, 0),
            Stall::Barrier => p(0, 0, WIDE, 0),
            Stall::Issue => p(0, 0, TIGHT, 0),
            Stall::Launch => p(0, 0, 0, WIDE),
            Stall::Alu => p(0, 0, 0, TIGHT),
            Stall::Named => p(0, 0, WIDE, WIDE),
            Stall::Join => p(0, 0, TIGHT, TIGHT),
            Stall::Cluster => p(WIDE, 0, WIDE, 0),
            Stall::Pool => p(0, WIDE, 0, WIDE),
            Stall::Held => p(WIDE, 0, 0, WIDE),
            Stall::Ended => None,
        },
    }
}

/// Draws a pattern over a box. Lines are counted from the corner of the picture, so that adjacent boxes continue each
/// other.
pub(crate) fn draw(scene: &mut Scene, area: Area, pattern: Pattern, em: i32, color: Rgb) {
    let area = area.cut(&scene.canvas());
    if area.w <= 0 || area.h <= 0 {
        return;
    }
    let step = |tenths: u8| (i32::from(tenths) * em / 10).max(3);
    let Area { x, y, .. } = area;
    let (right, bottom) = (area.right() - 1, area.bottom() - 1);
    if pattern.stand > 0 {
        for x in multiples(x, right, step(pattern.stand)) {
            scene.fill(Layer::Hatch, Area::new(x, y, 1, area.h), color);
        }
    }
    if pattern.level > 0 {
        // Counted from the middle of the box: bars of a row have one height, and a line should not be on their edge.
        let (step, middle) = (step(pattern.level), y + area.h / 2);
        for dy in multiples(y - middle, bottom - middle, step) {
            scene.fill(Layer::Hatch, Area::new(x, middle + dy, area.w, 1), color);
        }
    }
    if pattern.up > 0 {
        // x + y is constant along a rising line.
        for sum in multiples(x + y, right + bottom, step(pattern.up) * 14 / 10) {
            let (x0, x1) = ((sum - bottom).max(x), (sum - y).min(right));
            if x0 < x1 {
                scene.line(Layer::Hatch, [x0, sum - x0, x1, sum - x1], color);
            }
        }
    }
    if pattern.down > 0 {
        for diff in multiples(y - right, bottom - x, step(pattern.down) * 14 / 10) {
            let (x0, x1) = ((y - diff).max(x), (bottom - diff).min(right));
            if x0 < x1 {
                scene.line(Layer::Hatch, [x0, diff + x0, x1, diff + x1], color);
            }
        }
    }
}

/// The multiples of `step` from `first` to `last`.
fn multiples(first: i32, last: i32, step: i32) -> impl Iterator<Item = i32> {
    let start = first + (-first).rem_euclid(step);
    (start..=last).step_by(step as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_cause_has_its_own_pattern() {
        let patterns: HashSet<_> = Stall::ALL.iter().map(|&s| pattern(SpanKind::Stall(s))).collect();
        assert_eq!(patterns.len(), Stall::ALL.len());
    }

    #[test]
    fn multiples_cover_negative_ranges() {
        assert_eq!(multiples(-7, 7, 3).collect::<Vec<_>>(), [-6, -3, 0, 3, 6]);
    }
}
