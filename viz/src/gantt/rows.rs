//! The rows: heights, bars, columns and labels.

use super::bars::{Bar, Column, Drawing};
use super::hatch;
use super::labels::label;
use super::layout::{Frame, LabelColumn, lay_out_lane, unrecorded};
use super::scene::{Align, Area, Layer, Scene};
use super::select::{Section, Track};

/// The pixels of every lane of every track.
pub(crate) fn lay_out(frame: &Frame<'_>, tracks: &[Track<'_>]) -> Vec<Vec<Drawing>> {
    let spans = &frame.t.spans;
    let lane = |track: &Track<'_>, lane| lay_out_lane(spans, lane, &track.row.kind, &frame.scale);
    tracks.iter().map(|track| track.lanes.iter().map(|l| lane(track, l)).collect()).collect()
}

/// Heights of the rows before they are fitted to a page, in pixels.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    /// Heading of a track (0 for none), gap above it, height of its bars.
    parts: Vec<(i32, i32, i32)>,
}

/// The place of a track.
#[derive(Clone, Debug)]
pub(crate) struct RowPlace {
    /// The heading of its CTA, if it is the first of several.
    pub(crate) heading: Option<(i32, i32)>,
    /// Top and height of its bars.
    pub(crate) y: i32,
    pub(crate) h: i32,
    /// Gap to the next track, which labels share.
    pub(crate) gap: i32,
}

/// Rows shrink to this share of their natural height, in percent, before any is left out, and grow to the next.
const SHRINK: i32 = 50;
const GROW: i32 = 220;

/// Space above the heading of a CTA that is not the first, in tenths of an em.
const ABOVE_HEADING: i32 = 7;

impl Stack {
    pub(crate) fn new(tracks: &[Track<'_>], headed: bool, em: i32) -> Stack {
        let several = headed || tracks.iter().any(|t| t.row.cta != tracks[0].row.cta);
        let parts = tracks.iter().enumerate().map(|(i, track)| {
            let before = i.checked_sub(1).map(|i| &tracks[i]);
            let new_cta = before.is_none_or(|b| b.row.cta != track.row.cta);
            let new_group = before.is_some_and(|b| b.section != track.section || b.group != track.group);
            let heading = match (several && new_cta, i) {
                (false, _) => 0,
                (true, 0) => em * 15 / 10,
                (true, _) => em * 15 / 10 + ABOVE_HEADING * em / 10,
            };
            let gap = match () {
                () if new_cta => em * 4 / 10,
                () if new_group => em * 9 / 10,
                () => em * 3 / 10,
            };
            let lanes = track.lanes.len() as i32;
            let bars = match track.section {
                Section::Agents => em * 16 / 10,
                Section::Engines => em * 15 / 10,
                Section::Slots => em * 14 / 10,
                Section::Barriers => em * 12 / 10,
            };
            // Many lanes share the height of a few.
            let lane = if lanes > 4 { em * 9 / 10 } else { em * 11 / 10 };
            (heading, gap, if lanes > 1 { lanes * lane } else { bars })
        });
        Stack { parts: parts.collect() }
    }

    fn natural(&self) -> i32 {
        self.parts.iter().map(|(heading, gap, bars)| heading + gap + bars).sum::<i32>() + self.tail()
    }

    /// Space below the last row.
    fn tail(&self) -> i32 {
        self.parts.first().map_or(0, |p| p.1)
    }

    /// The smallest height for all rows.
    pub(crate) fn least(&self) -> i32 {
        (i64::from(self.natural()) * i64::from(SHRINK) / 100) as i32
    }

    /// How many rows fit, from the top.
    pub(crate) fn fit(&self, room: Option<i32>) -> usize {
        let Some(room) = room else { return self.parts.len() };
        let mut used = self.tail();
        for (i, (heading, gap, bars)) in self.parts.iter().enumerate() {
            used += heading + gap + bars;
            // One row is always shown, however thin.
            if i > 0 && i64::from(used) * i64::from(SHRINK) / 100 > i64::from(room) {
                return i;
            }
        }
        self.parts.len()
    }

    /// The height used.
    pub(crate) fn height(&self, room: Option<i32>) -> i32 {
        let natural = self.natural();
        room.map_or(natural, |room| room.min(natural.saturating_mul(GROW) / 100))
    }

    pub(crate) fn places(&self, top: i32, room: Option<i32>, em: i32) -> Vec<RowPlace> {
        let (natural, height) = (i64::from(self.natural().max(1)), i64::from(self.height(room)));
        let at = |y: i32| top + (i64::from(y) * height / natural) as i32;
        let mut y = 0;
        let place = |&(heading, gap, bars): &(i32, i32, i32)| {
            let start = y;
            let first = y + heading + gap;
            y = first + bars;
            RowPlace {
                heading: (heading > 0).then(|| {
                    let above = if start > 0 { ABOVE_HEADING * em / 10 } else { 0 };
                    (at(start + above), at(start + heading) - at(start + above))
                }),
                y: at(first),
                h: (at(y) - at(first)).max(1),
                gap: at(first) - at(first - gap),
            }
        };
        self.parts.iter().map(place).collect()
    }
}

/// Boxes of the bars by span index, for arrows.
pub(crate) type Ends = std::collections::BTreeMap<u32, Area>;

/// Draws the rows.
pub(crate) fn draw(
    frame: &Frame<'_>,
    scene: &mut Scene,
    tracks: &[Track<'_>],
    drawings: &[Vec<Drawing>],
    places: &[RowPlace],
    column: &LabelColumn,
) -> Ends {
    let mut ends = Ends::new();
    let (em, theme) = (frame.em, frame.theme);
    let plot = scene.plot;
    // Rows of one section may differ by a pixel after scaling; their text should not.
    let text_size = |of: &Track<'_>| {
        let alike =
            tracks.iter().zip(places).filter(|(t, _)| t.section == of.section && t.lanes.len() == of.lanes.len());
        let height = alike.map(|(t, p)| p.h / t.lanes.len().max(1) as i32).min().unwrap_or(0);
        (em * 85 / 100).min(height - 2)
    };
    for ((track, place), drawing) in tracks.iter().zip(places).zip(drawings) {
        if let Some((y, h)) = place.heading {
            scene.fill(Layer::Bands, Area::new(em / 2, y, scene.width - em, h), theme.band());
            let named = frame.headings.get(track.row.cta as usize);
            let text = named.cloned().unwrap_or_else(|| format!("CTA {}", track.row.cta));
            scene.text(Area::new(em, y, scene.width - 2 * em, h), &text, (em).min(h), Align::Left, theme.ink(), 3);
        }
        scene.fill(Layer::Bands, Area::new(plot.x, place.y, plot.w, place.h), theme.track());
        let lanes = drawing.len().max(1) as i32;
        for (i, lane) in drawing.iter().enumerate() {
            let (top, bottom) = (place.h * i as i32 / lanes, place.h * (i as i32 + 1) / lanes);
            let gap = i32::from(lanes > 1 && bottom - top > 4);
            let area = Area::new(plot.x, place.y + top, plot.w, (bottom - top - gap).max(1)).cut(&plot);
            for column in &lane.dense {
                dense(frame, scene, column, area);
            }
            // The tile of a slot without other spans has the whole row.
            let whole = Area::new(plot.x, place.y, plot.w, place.h).cut(&plot);
            let lane_of =
                |bar: &Bar| if track.section == Section::Slots && alone(drawing, i, bar) { whole } else { area };
            bars(frame, scene, &lane.bars, &lane_of, text_size(track), &mut ends);
        }
    }
    unrecorded(frame, scene);
    names(frame, scene, tracks, places, column);
    ends
}

/// Group and row names, as large as the rows allow.
fn names(frame: &Frame<'_>, scene: &mut Scene, tracks: &[Track<'_>], places: &[RowPlace], column: &LabelColumn) {
    let (em, theme) = (frame.em, frame.theme);
    let centre = |p: &RowPlace| p.y + p.h / 2;
    let pitch = places.windows(2).map(|two| centre(&two[1]) - centre(&two[0])).min();
    let lowest = places.iter().map(|p| p.h + p.gap.min(em / 2)).min().unwrap_or(em);
    let size = em.min(pitch.unwrap_or(lowest)).min(lowest);
    let mut last: Option<&Track<'_>> = None;
    for (track, place) in tracks.iter().zip(places) {
        let y = centre(place) - size / 2;
        let name = Area::new(em + column.group + column.gap, y, column.name, size);
        scene.text(name, &track.name, size, Align::Right, theme.ink(), 2);
        if last.is_none_or(|l| l.group != track.group || l.section != track.section || l.row.cta != track.row.cta) {
            scene.text(Area::new(em, y, column.group, size), &track.group, size, Align::Left, theme.muted(), 2);
        }
        last = Some(track);
    }
}

/// A column of shares, stacked from the bottom.
fn dense(frame: &Frame<'_>, scene: &mut Scene, column: &Column, area: Area) {
    let mut sum = 0;
    let mut bottom = area.bottom();
    for &(class, share) in &column.shares {
        sum += share;
        let top = area.bottom() - (area.h as u32 * sum).div_ceil(256).min(area.h as u32) as i32;
        let part = Area::new(column.x0, top, column.x1 - column.x0, bottom - top);
        scene.fill(Layer::Bars, part, class.fill(frame.theme));
        if let (Some((pattern, color)), true) = (class.hatch(frame.theme), part.h > 0) {
            hatch::draw(scene, part, pattern, frame.em, color);
        }
        bottom = top;
    }
}

/// Whether no other lane has anything at the place of a bar.
fn alone(lanes: &[Drawing], lane: usize, bar: &Bar) -> bool {
    let meets = |x0: i32, x1: i32| x0 < bar.x1 && bar.x0 < x1;
    lanes.iter().enumerate().all(|(i, other)| {
        i == lane || !(other.bars.iter().any(|b| meets(b.x0, b.x1)) || other.dense.iter().any(|c| meets(c.x0, c.x1)))
    })
}

fn bars(frame: &Frame<'_>, scene: &mut Scene, bars: &[Bar], lane_of: &dyn Fn(&Bar) -> Area, em: i32, ends: &mut Ends) {
    for (i, bar) in bars.iter().enumerate() {
        let area = lane_of(bar);
        // A pixel of background separates neighbors, where there are pixels to spare.
        let next = bars.get(i + 1).is_some_and(|n| n.x0 == bar.x1);
        let gap = i32::from(next && bar.x1 - bar.x0 > 4);
        let box_ = Area::new(bar.x0, area.y, bar.x1 - bar.x0 - gap, area.h);
        scene.fill(Layer::Bars, box_, bar.class.fill(frame.theme));
        if let Some((pattern, color)) = bar.class.hatch(frame.theme) {
            hatch::draw(scene, box_, pattern, frame.em, color);
        }
        // Of a span in pieces, the last piece contains its end.
        ends.insert(bar.span, box_);
        label(frame, scene, bar, box_, em);
    }
}
