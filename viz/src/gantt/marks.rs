//! Marks over the rows: barrier releases, and arrows of wakes.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::timeline::{SpanKind, Stall};

use super::bars::Drawing;
use super::layout::Frame;
use super::rows::{Ends, RowPlace};
use super::scene::{Area, Layer, Scene};
use super::select::{Section, Track};
use super::theme::Rgb;

/// The marks of a picture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// A column, with the first and last track that leave a barrier there.
    pub(crate) releases: Vec<(i32, usize, usize)>,
    /// The span of the waker and the woken span.
    pub(crate) wakes: Vec<(u32, u32)>,
}

/// Chooses the marks. Arrows and lines appear only if they are an em and a half or two apart on average; more would
/// be unreadable.
pub(crate) fn plan(frame: &Frame<'_>, tracks: &[Track<'_>], drawings: &[Vec<Drawing>], wakes: bool) -> Marks {
    let releases = releases(frame, tracks, drawings);
    let wakes = if wakes { arrows(frame, tracks, drawings) } else { Vec::new() };
    let columns: BTreeSet<i32> = releases.iter().map(|r| r.0).collect();
    let few = |count: usize, tenths: i32| count as i64 * i64::from(frame.em * tenths) <= i64::from(frame.scale.w) * 10;
    Marks {
        releases: if few(columns.len(), 20) { releases } else { Vec::new() },
        wakes: if few(wakes.len(), 15) { wakes } else { Vec::new() },
    }
}

/// The stalls that are bars and end in the window: track, span and cause. Crowded stalls have no place to point at.
fn stalls<'a>(
    frame: &'a Frame<'_>,
    tracks: &'a [Track<'_>],
    drawings: &'a [Vec<Drawing>],
) -> impl Iterator<Item = (usize, u32, Stall)> + 'a {
    let of = move |(i, _): (usize, &Track<'_>)| {
        let mut spans: Vec<u32> = drawings[i].iter().flat_map(|lane| &lane.bars).map(|bar| bar.span).collect();
        // A bar in pieces counts once.
        spans.dedup();
        spans.into_iter().map(move |span| (i, span))
    };
    tracks.iter().enumerate().flat_map(of).filter_map(|(i, index)| {
        let span = &frame.t.spans[index as usize];
        match span.what {
            SpanKind::Stall(stall) if span.end <= frame.scale.window.to => Some((i, index, stall)),
            _ => None,
        }
    })
}

/// Barrier releases. A CTA barrier releases all agents, including the last to arrive, which did not wait. A named
/// barrier releases those that were seen to wait for it.
fn releases(frame: &Frame<'_>, tracks: &[Track<'_>], drawings: &[Vec<Drawing>]) -> Vec<(i32, usize, usize)> {
    let mut agents: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for (i, track) in tracks.iter().enumerate().filter(|(_, t)| t.section == Section::Agents) {
        agents.entry(track.row.cta).or_insert((i, i)).1 = i;
    }
    // By column, CTA and, for a named barrier, its name.
    type Key<'t> = (i32, u32, Option<&'t str>);
    let mut found: BTreeMap<Key<'_>, (usize, usize)> = BTreeMap::new();
    for (i, index, stall) in stalls(frame, tracks, drawings) {
        let span = &frame.t.spans[index as usize];
        let (x, cta) = (frame.scale.x(span.end), tracks[i].row.cta);
        let (name, reach) = match stall {
            Stall::Barrier | Stall::Cluster => (None, agents.get(&cta).copied().unwrap_or((i, i))),
            Stall::Named => (Some(span.label.as_str()), (i, i)),
            _ => continue,
        };
        let rows = found.entry((x, cta, name)).or_insert(reach);
        *rows = (rows.0.min(reach.0), rows.1.max(reach.1));
    }
    found.into_iter().map(|((x, ..), (first, last))| (x, first, last)).collect()
}

/// Wakes between bars on different rows.
fn arrows(frame: &Frame<'_>, tracks: &[Track<'_>], drawings: &[Vec<Drawing>]) -> Vec<(u32, u32)> {
    let mut track_of = BTreeMap::new();
    for (i, lanes) in drawings.iter().enumerate() {
        track_of.extend(lanes.iter().flat_map(|lane| &lane.bars).map(|bar| (bar.span, i)));
    }
    let spans = &frame.t.spans;
    let arrow = |(i, woken, stall)| {
        // The line of a barrier release shows it already.
        if matches!(stall, Stall::Barrier | Stall::Cluster | Stall::Named) {
            return None;
        }
        let waker = spans[woken as usize].woken_by?;
        let other_row = track_of.get(&waker).is_some_and(|&track| track != i);
        let end = spans.get(waker as usize)?.end;
        let in_time = end >= frame.scale.window.from && end <= spans[woken as usize].end;
        (other_row && in_time).then_some((waker, woken))
    };
    stalls(frame, tracks, drawings).filter_map(arrow).collect()
}

/// Draws the marks, clear of all texts.
pub(crate) fn draw(frame: &Frame<'_>, scene: &mut Scene, marks: &Marks, places: &[RowPlace], ends: &Ends) {
    let plot = scene.plot;
    for &(x, first, last) in &marks.releases {
        let (Some(a), Some(b)) = (places.get(first), places.get(last)) else { continue };
        let reach = (frame.em / 4).min(a.gap);
        let (top, bottom) = ((a.y - reach).max(plot.y), (b.y + b.h + reach).min(plot.bottom()));
        let x = x.clamp(plot.x + 2, (plot.right() - 2).max(plot.x + 2));
        let blocks = texts(scene, Area::new(x - 3, top, 7, bottom - top));
        release(frame, scene, x, top, bottom, &blocks);
    }
    for &(waker, woken) in &marks.wakes {
        let (Some(from), Some(to)) = (ends.get(&waker), ends.get(&woken)) else { continue };
        let column = |tick: u64| frame.scale.x(tick).clamp(plot.x + frame.em / 2, plot.right() - 1 - frame.em / 2);
        let spans = &frame.t.spans;
        let (x0, x1) = (column(spans[waker as usize].end), column(spans[woken as usize].end));
        // From the edge of one bar to the facing edge of the other.
        let down = from.y < to.y;
        let (y0, y1) = if down { (from.bottom(), to.y) } else { (from.y - 1, to.bottom() - 1) };
        let reach = if down { y0.min(y1) } else { y1.min(y0) };
        let around = Area::new(x0.min(x1) - 3, reach, (x1 - x0).abs() + 7, (y1 - y0).abs() + 1);
        let blocks = texts(scene, around);
        arrow(frame, scene, (x0, y0), (x1, y1), &blocks);
    }
}

/// A line through all rows where a fault occurred, clear of all texts.
pub(crate) fn faults(frame: &Frame<'_>, scene: &mut Scene) {
    let (plot, window) = (scene.plot, frame.scale.window);
    let ticks: BTreeSet<u64> = frame.t.faults.iter().map(|m| m.tick).collect();
    for tick in ticks.into_iter().filter(|t| (window.from..=window.to).contains(t)) {
        let x = frame.scale.x(tick).clamp(plot.x + 2, (plot.right() - 2).max(plot.x + 2));
        let blocks = texts(scene, Area::new(x - 3, plot.y, 7, plot.h));
        line(frame, scene, (x, plot.y, plot.bottom()), &blocks, frame.theme.fault());
    }
}

/// Texts near a box, with the margin that marks keep from them.
pub(crate) fn texts(scene: &Scene, near: Area) -> Vec<Area> {
    scene.texts_near(&near).map(|t| t.grown(2)).filter(|t| t.meets(&near)).collect()
}

/// A barrier line, two pixels on and two off, interrupted by `blocks`.
pub(crate) fn release(frame: &Frame<'_>, scene: &mut Scene, x: i32, top: i32, bottom: i32, blocks: &[Area]) {
    line(frame, scene, (x, top, bottom), blocks, frame.theme.ink());
}

pub(crate) fn line(
    frame: &Frame<'_>,
    scene: &mut Scene,
    (x, top, bottom): (i32, i32, i32),
    blocks: &[Area],
    color: Rgb,
) {
    let mut cuts: Vec<(i32, i32)> = blocks.iter().map(|b| (b.y, b.bottom())).collect();
    cuts.sort_unstable();
    cuts.push((bottom, bottom));
    let mut y = top;
    for (start, end) in cuts {
        if start.min(bottom) > y {
            scene.fill(Layer::Marks, Area::new(x - 2, y, 4, start.min(bottom) - y), frame.theme.paper());
            scene.fill(Layer::Marks, Area::new(x - 1, y, 2, start.min(bottom) - y), color);
        }
        y = y.max(end);
    }
}

/// An arrow with a light edge, interrupted by `blocks`. The head is left out if it would lie on a block.
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

/// A line without its parts in `blocks`.
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
