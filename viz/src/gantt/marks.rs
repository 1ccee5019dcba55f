//! Marks over the rows: where a barrier opens, and who woke whom.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::timeline::{Stall, What};

use super::bars::Drawing;
use super::layout::Frame;
use super::rows::{Ends, Place};
use super::scene::{Area, Layer, Scene};
use super::select::{Section, Track};
use super::theme::Rgb;

/// What is marked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// A column, and the first and last track that leave a barrier there.
    pub(crate) releases: Vec<(i32, usize, usize)>,
    /// The waker's span and the woken's.
    pub(crate) wakes: Vec<(u32, u32)>,
}

/// Chooses the marks. Too many to follow are worse than none: arrows and lines each appear only while they keep a few
/// ems apart on average.
pub(crate) fn plan(frame: &Frame<'_>, tracks: &[Track<'_>], drawings: &[Vec<Drawing>], wakes: bool) -> Marks {
    let spans = &frame.t.spans;
    let scale = &frame.scale;
    let mut row_of = BTreeMap::new();
    for (track, lanes) in tracks.iter().zip(drawings) {
        for bar in lanes.iter().flat_map(|lane| &lane.bars) {
            row_of.insert(bar.span, track.index);
        }
    }
    let mut releases: BTreeMap<(i32, u32, Option<&str>), (usize, usize, usize)> = BTreeMap::new();
    let mut arrows = Vec::new();
    for (i, (track, lanes)) in tracks.iter().zip(drawings).enumerate() {
        let mut seen = None;
        for bar in lanes.iter().flat_map(|lane| &lane.bars) {
            let span = &spans[bar.span as usize];
            let What::Stall(stall) = span.what else { continue };
            if seen == Some(bar.span) || span.end > scale.window.to {
                continue;
            }
            seen = Some(bar.span);
            let everyone = matches!(stall, Stall::Barrier | Stall::Cluster);
            if everyone || stall == Stall::Named {
                // Named barriers are told apart by what they are called.
                let name = (!everyone).then_some(span.label.as_str());
                let at = releases.entry((scale.x(span.end), track.row.cta, name)).or_insert((i, i, 0));
                *at = (at.0.min(i), at.1.max(i), at.2 + 1);
            }
            let Some(waker) = span.woken_by.filter(|w| row_of.get(w).is_some_and(|&r| r != track.index)) else {
                continue;
            };
            let end = spans[waker as usize].end;
            if wakes && end >= scale.window.from && end <= span.end {
                arrows.push((waker, bar.span));
            }
        }
    }
    // A barrier of the CTA holds all its agents, the last to arrive too, which did not wait.
    let whole = |cta: u32| {
        let of = |(_, t): &(usize, &Track<'_>)| t.row.cta == cta && t.section == Section::Agents;
        let mut agents = tracks.iter().enumerate().filter(of).map(|(i, _)| i);
        let first = agents.next();
        (first, agents.next_back().or(first))
    };
    let mut lines = Vec::new();
    for ((x, cta, name), (first, last, _)) in releases {
        match (name, whole(cta)) {
            (None, (Some(first), Some(last))) => lines.push((x, first, last)),
            _ => lines.push((x, first, last)),
        }
    }
    let columns: BTreeSet<i32> = lines.iter().map(|l| l.0).collect();
    let room = |per_em: i32| (scale.w / (frame.em * per_em).max(1)).max(1) as usize;
    Marks {
        releases: if columns.len() <= room(2) { lines } else { Vec::new() },
        wakes: if arrows.len() <= room(1) { arrows } else { Vec::new() },
    }
}

/// Draws the marks, clear of all texts.
pub(crate) fn draw(
    frame: &Frame<'_>,
    scene: &mut Scene,
    marks: &Marks,
    tracks: &[Track<'_>],
    places: &[Place],
    ends: &Ends,
) {
    let plot = scene.plot;
    for &(x, first, last) in &marks.releases {
        let (Some(a), Some(b)) = (places.get(first), places.get(last)) else { continue };
        let reach = (frame.em / 4).min(a.gap);
        let (top, bottom) = ((a.y - reach).max(plot.y), (b.y + b.h + reach).min(plot.bottom()));
        let x = x.min(plot.right() - 2).max(plot.x + 1);
        let blocks = texts(scene, Area::new(x - 3, top, 7, bottom - top));
        release(frame, scene, x, top, bottom, &blocks);
    }
    debug_assert_eq!(tracks.len(), places.len());
    for &(waker, woken) in &marks.wakes {
        let (Some(from), Some(to)) = (ends.get(&waker), ends.get(&woken)) else { continue };
        let column = |tick: u64| frame.scale.x(tick).clamp(plot.x + frame.em / 2, plot.right() - 1 - frame.em / 2);
        let spans = &frame.t.spans;
        let (x0, x1) = (column(spans[waker as usize].end), column(spans[woken as usize].end));
        // From the edge of the one bar to the facing edge of the other.
        let down = from.y < to.y;
        let (y0, y1) = if down { (from.bottom(), to.y) } else { (from.y - 1, to.bottom() - 1) };
        let reach = if down { y0.min(y1) } else { y1.min(y0) };
        let around = Area::new(x0.min(x1) - 3, reach, (x1 - x0).abs() + 7, (y1 - y0).abs() + 1);
        let blocks = texts(scene, around);
        arrow(frame, scene, (x0, y0), (x1, y1), &blocks);
    }
}

/// Texts near a box, with the margin that marks keep from them.
fn texts(scene: &Scene, near: Area) -> Vec<Area> {
    scene.texts_near(&near).map(|t| t.grown(2)).filter(|t| t.meets(&near)).collect()
}

/// A barrier line: two pixels of ink between two of paper, interrupted by `blocks`.
pub(crate) fn release(frame: &Frame<'_>, scene: &mut Scene, x: i32, top: i32, bottom: i32, blocks: &[Area]) {
    let mut cuts: Vec<(i32, i32)> = blocks.iter().map(|b| (b.y, b.bottom())).collect();
    cuts.sort_unstable();
    cuts.push((bottom, bottom));
    let mut y = top;
    for (start, end) in cuts {
        if start.min(bottom) > y {
            scene.fill(Layer::Marks, Area::new(x - 2, y, 4, start.min(bottom) - y), frame.theme.paper());
            scene.fill(Layer::Marks, Area::new(x - 1, y, 2, start.min(bottom) - y), frame.theme.ink());
        }
        y = y.max(end);
    }
}

/// An arrow with a light edge, interrupted by `blocks`; its head is left away if it would lie on one.
pub(crate) fn arrow(frame: &Frame<'_>, scene: &mut Scene, from: (i32, i32), to: (i32, i32), blocks: &[Area]) {
    let (ink, paper) = (frame.theme.ink(), frame.theme.paper());
    let head = (frame.em / 4).max(2);
    let down = to.1 >= from.1;
    let tip = to.1;
    let back = if down { tip - head * 3 / 2 } else { tip + head * 3 / 2 };
    let points = [(to.0, tip), (to.0 - head, back), (to.0 + head, back)];
    stroke(scene, (from.0 - 1, from.1), (to.0 - 1, back), paper, blocks);
    stroke(scene, (from.0 + 1, from.1), (to.0 + 1, back), paper, blocks);
    stroke(scene, from, (to.0, back), ink, blocks);
    let box_ = super::scene::Item::Triangle(points).area();
    if !blocks.iter().any(|b| b.meets(&box_)) && scene.canvas().holds(&box_) {
        scene.triangle(Layer::Marks, points, ink);
    }
    let dot = Area::new(from.0 - 1, from.1 - 1, 3, 3);
    if !blocks.iter().any(|b| b.meets(&dot)) {
        scene.fill(Layer::Marks, dot, ink);
    }
}

/// A line without its parts that lie in `blocks`.
fn stroke(scene: &mut Scene, from: (i32, i32), to: (i32, i32), color: Rgb, blocks: &[Area]) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let steps = dx.abs().max(dy.abs()).max(1);
    let at = |i: i32| (from.0 + dx * i / steps, from.1 + dy * i / steps);
    let free = |i: i32| {
        let (x, y) = at(i);
        !blocks.iter().any(|b| b.meets(&Area::new(x, y, 1, 1)))
    };
    let mut start = None;
    for i in 0..=steps + 1 {
        match (i <= steps && free(i), start) {
            (true, None) => start = Some(i),
            (false, Some(first)) => {
                let ((x0, y0), (x1, y1)) = (at(first), at(i - 1));
                if x0 == x1 || y0 == y1 {
                    let (x, y) = (x0.min(x1), y0.min(y1));
                    scene.fill(Layer::Marks, Area::new(x, y, (x1 - x0).abs() + 1, (y1 - y0).abs() + 1), color);
                } else {
                    scene.line(Layer::Marks, [x0, y0, x1, y1], color);
                }
                start = None;
            }
            _ => {}
        }
    }
}
