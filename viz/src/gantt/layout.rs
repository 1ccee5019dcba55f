//! The layout: a [`Scene`] from a timeline.

use std::collections::BTreeSet;

use warpline_sim::timeline::Timeline;

use super::bars::{self, Drawing, Scale};
use super::below::{lines, notes, total, wrap};
use super::class::Class;
use super::font::Measure;
use super::labels::Steps;
use super::notes::Strip;
use super::options::{GanttError, GanttOptions, MAX_SIZE, MIN_SIZE, Size};
use super::rows::{self, Stack};
use super::scene::{Align, Area, Layer, Scene};
use super::select::{self, RowCounts, Track, Window};
use super::theme::Theme;
use super::{axis, legend, marks};

/// State that the parts of the layout share.
pub(crate) struct Frame<'t> {
    pub(crate) t: &'t Timeline,
    pub(crate) theme: Theme,
    /// Size of the text, and unit of all distances.
    pub(crate) em: i32,
    pub(crate) scale: Scale,
    pub(crate) steps: Steps,
    /// Headings of the CTAs, if they are not only numbered.
    pub(crate) headings: &'t [String],
}

/// Lays out a chart.
pub fn layout<'t>(t: &'t Timeline, options: &'t GanttOptions) -> Result<Scene, GanttError> {
    let (width, height) = size(options)?;
    let em = em(options.size, width, height);
    let mut tracks = select::tracks(t, options)?;
    let window = Window::new(t, options, &tracks)?;
    select::place(t, window, &mut tracks)?;
    let counts = select::leave_out(t, window, &mut tracks, !options.rows.is_empty());
    let measure = Measure::new().ok_or(GanttError::Font)?;
    let column = LabelColumn::new(&tracks, &measure, em, width);
    let x = em + column.width();
    let scale = Scale { window, x, w: (width - x - em).max(1) };
    let steps = Steps::new(t, &tracks);
    let frame = Frame { t, theme: options.theme, em, scale, steps, headings: &options.headings };
    let mut drawings = rows::lay_out(&frame, &tracks);

    // Rows that do not fit are left out, which can only shrink the legend; so the loop ends.
    let mut plan = loop {
        let marks = marks::plan(&frame, &tracks, &drawings, options.wakes);
        let plan = Plan::new(&frame, options, (width, height), &tracks, &drawings, marks, counts, &measure);
        let fit = plan.stack.fit(plan.room);
        if fit == tracks.len() {
            break plan;
        }
        let stay = select::that_fit(&tracks, fit);
        let mut stays = stay.iter();
        tracks.retain(|_| stays.next() == Some(&true));
        let mut stays = stay.iter();
        drawings.retain(|_| stays.next() == Some(&true));
    };

    let stack = plan.stack.clone();
    let used = stack.height(plan.room);
    let height = height.unwrap_or(plan.above + used + plan.below).clamp(MIN_SIZE.1 as i32, MAX_SIZE.1 as i32);
    // Space that few rows leave on a slide goes above and below them equally.
    plan.above += (height - plan.above - used - plan.below).max(0) * 2 / 5;
    let mut scene = Scene::new(width, height, options.theme.paper(), measure);
    scene.plot = Area::new(scale.x, plan.above, scale.w, used).cut(&scene.canvas());
    plan.titles(&frame, &mut scene);
    let places = stack.places(plan.above, plan.room, em);
    axis::draw(&frame, &mut scene, plan.axis_lines);
    let ends = rows::draw(&frame, &mut scene, &tracks, &drawings, &places, &column);
    marks::draw(&frame, &mut scene, &plan.marks, &places, &ends);
    marks::faults(&frame, &mut scene);
    plan.strip.draw(&frame, &mut scene);
    let mut y = scene.plot.bottom() + axis::height(em, plan.axis_lines);
    if let Some(legend) = &plan.legend {
        legend.draw(&frame, &mut scene, y + em / 2);
        y += legend.height() + em / 2;
    }
    for line in &plan.notes {
        let room = Area::new(em, y + em / 4, width - 2 * em, em);
        scene.text(room, line, em * 8 / 10, Align::Left, options.theme.muted(), 1);
        y += em * 5 / 4;
    }
    scene.finish();
    Ok(scene)
}

fn size(options: &GanttOptions) -> Result<(i32, Option<i32>), GanttError> {
    let (width, height) = match options.size {
        Size::Page => (1600, None),
        Size::Slide => (1920, Some(1080)),
        Size::Width(width) => (width, None),
        Size::Exact { width, height } => (width, Some(height)),
    };
    let wide = (MIN_SIZE.0..=MAX_SIZE.0).contains(&width);
    let high = height.is_none_or(|h| (MIN_SIZE.1..=MAX_SIZE.1).contains(&h));
    if !wide || !high || !(1..=4).contains(&options.scale) {
        return Err(GanttError::Size { width, height: height.unwrap_or(0), scale: options.scale });
    }
    Ok((width as i32, height.map(|h| h as i32)))
}

fn em(size: Size, width: i32, height: Option<i32>) -> i32 {
    let by_width = if size == Size::Slide { width / 87 } else { (width / 94).clamp(10, 30) };
    by_width.min(height.unwrap_or(MAX_SIZE.1 as i32) / 12).max(8)
}

/// The columns left of the plot: group and name.
pub(crate) struct LabelColumn {
    pub(crate) group: i32,
    pub(crate) name: i32,
    pub(crate) gap: i32,
}

impl LabelColumn {
    fn new(tracks: &[Track<'_>], measure: &Measure, em: i32, width: i32) -> LabelColumn {
        let group = tracks.iter().map(|t| measure.width(&t.group, em)).max();
        let name = tracks.iter().map(|t| measure.width(&t.name, em)).max();
        let limit = width * 16 / 100;
        LabelColumn {
            group: group.unwrap_or(0).min(limit),
            name: name.unwrap_or(0).max(measure.width("cycles", em)).min(limit),
            gap: em * 6 / 10,
        }
    }

    fn width(&self) -> i32 {
        self.group + self.name + 2 * self.gap
    }
}

/// Parts above and below the rows, and the room that remains for the rows.
struct Plan {
    title: bool,
    subtitle: bool,
    legend: Option<legend::Legend>,
    notes: Vec<String>,
    axis_lines: i32,
    marks: marks::Marks,
    strip: Strip,
    stack: Stack,
    above: i32,
    below: i32,
    /// Height for the rows; `None` for as much as they need.
    room: Option<i32>,
}

impl Plan {
    #[expect(clippy::too_many_arguments, reason = "the one place where all parts meet")]
    fn new(
        frame: &Frame<'_>,
        options: &GanttOptions,
        (width, height): (i32, Option<i32>),
        tracks: &[Track<'_>],
        drawings: &[Vec<Drawing>],
        marks: marks::Marks,
        counts: RowCounts,
        measure: &Measure,
    ) -> Plan {
        let (t, em) = (frame.t, frame.em);
        let mut classes: BTreeSet<Class> = BTreeSet::new();
        let mut dense = false;
        for drawing in drawings.iter().flatten() {
            classes.extend(drawing.bars.iter().map(|b| b.class));
            classes.extend(drawing.dense.iter().flat_map(|c| &c.shares).map(|s| s.0));
            dense |= !drawing.dense.is_empty();
        }
        let strip = Strip::new(frame, options, measure);
        let piled = tracks.iter().flat_map(|track| &track.lanes).any(|lane| lane.piled);
        let mut plan = Plan {
            title: options.title && !t.title.is_empty(),
            subtitle: options.title && !t.subtitle.is_empty(),
            legend: legend::Legend::new(&classes, dense, &marks, measure, em, width - 2 * em),
            notes: lines(&notes(frame, &strip, options.ctas, tracks.len(), counts, piled), options, |sentences| {
                wrap(sentences, measure, em * 8 / 10, width - 2 * em)
            }),
            axis_lines: if t.mhz > 0.0 { 2 } else { 1 },
            marks,
            strip,
            stack: Stack::new(tracks, !options.headings.is_empty(), em),
            above: 0,
            below: 0,
            room: None,
        };
        plan.sum(em);
        let Some(height) = height else {
            // The height of a picture is limited; rows share it.
            let most = MAX_SIZE.1 as i32 - plan.above - plan.below;
            plan.room = (plan.stack.height(None) > most).then_some(most);
            return plan;
        };
        // In little space, explanations give way to rows.
        let least = plan.stack.least().min(em * 5);
        let give_up: [fn(&mut Plan); 7] = [
            |p| p.subtitle = false,
            |p| p.strip = Strip::default(),
            |p| p.legend = None,
            |p| p.axis_lines = p.axis_lines.min(1),
            |p| p.notes.clear(),
            |p| p.title = false,
            |p| p.axis_lines = 0,
        ];
        for give_up in give_up {
            if height - plan.above - plan.below >= least {
                break;
            }
            give_up(&mut plan);
            plan.sum(em);
        }
        plan.room = Some((height - plan.above - plan.below).max(0));
        plan
    }

    fn sum(&mut self, em: i32) {
        self.above = em * 8 / 10;
        self.above += if self.title { em * 19 / 10 } else { 0 };
        self.above += if self.subtitle { em * 15 / 10 } else { 0 };
        self.above += if self.title || self.subtitle { em * 5 / 10 } else { 0 };
        self.above += self.strip.height(em);
        self.below = axis::height(em, self.axis_lines) + em * 8 / 10;
        self.below += self.legend.as_ref().map_or(0, |l| l.height() + em / 2);
        self.below += self.notes.len() as i32 * em * 5 / 4;
    }

    fn titles(&self, frame: &Frame<'_>, scene: &mut Scene) {
        let (em, theme) = (frame.em, frame.theme);
        let mut y = em * 8 / 10;
        if self.title {
            let room = Area::new(em, y, scene.width - 2 * em, em * 19 / 10);
            // The duration, unless the title needs the place.
            let total = total(frame);
            let measure = scene.measure();
            // Two runs have their durations in their headings.
            if frame.headings.is_empty()
                && measure.width(&frame.t.title, em * 15 / 10) + measure.width(&total, em) + 2 * em < room.w
            {
                scene.text(room, &total, em, Align::Right, theme.ink(), usize::MAX);
            }
            scene.text(room, &frame.t.title, em * 15 / 10, Align::Left, theme.ink(), 1);
            y += em * 19 / 10;
        }
        if self.subtitle {
            let room = Area::new(em, y, scene.width - 2 * em, em * 15 / 10);
            scene.text(room, &frame.t.subtitle, em, Align::Left, theme.muted(), 1);
        }
    }
}

/// A faint band behind the part of the plot that was not recorded.
pub(crate) fn unrecorded(frame: &Frame<'_>, scene: &mut Scene) {
    if let Some(at) = frame.t.truncated_at {
        let x = frame.scale.x(at);
        let plot = scene.plot;
        if at < frame.scale.window.to {
            scene.fill(Layer::Bands, Area::new(x, plot.y, plot.right() - x, plot.h), frame.theme.band());
        }
    }
}

pub(crate) use bars::lay_out as lay_out_lane;
