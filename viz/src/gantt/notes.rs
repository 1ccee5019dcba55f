//! Labels above the rows: marks of the caller and faults, each with a line down through the rows.
//!
//! ```text
//!        | epilogue starts        a label never lies on another, and no label's line runs
//!   | prologue     | WAR race     through another label: what finds no place is told below
//!   +--------------------------   the chart instead
//! ```

use warpline_sim::timeline::TICKS;

use super::font::Measure;
use super::format::grouped;
use super::layout::Frame;
use super::options::GanttOptions;
use super::scene::{Align, Area, Layer, Scene};

/// Most lines of labels.
const LINES: i32 = 4;

#[derive(Clone, Debug)]
struct Label {
    x: i32,
    /// Left end and width of the text.
    left: i32,
    width: i32,
    line: i32,
    text: String,
    fault: bool,
}

/// The labels above the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strip {
    labels: Vec<Label>,
    lines: i32,
    /// Marks without a place, as sentences.
    pub(crate) rest: Vec<String>,
}

impl Strip {
    pub(crate) fn new(frame: &Frame<'_>, options: &GanttOptions, measure: &Measure) -> Strip {
        let window = frame.scale.window;
        let marks = options.marks.iter().map(|m| (m.cycle.saturating_mul(TICKS), m.text.clone(), false));
        let mut all: Vec<_> = faults(frame).into_iter().chain(marks).collect();
        all.retain(|m| (window.from..=window.to).contains(&m.0));
        all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut strip = Strip::default();
        let (em, gap) = (size(frame.em), frame.em / 3);
        let all = together(all, |text, tick, later| {
            column(frame, later) - column(frame, tick) <= measure.width(text, em) + 2 * gap
        });
        let end = frame.scale.x + frame.scale.w;
        for (tick, text, fault) in all {
            let x = column(frame, tick);
            let text = text.replace(char::is_control, " ");
            let width = measure.width(&text, em);
            // To the right of its line, or to the left near the end.
            let sides = [x + gap, x - gap - width];
            let place = sides.into_iter().filter(|left| *left >= frame.scale.x && left + width <= end);
            let place = place.flat_map(|left| (0..LINES).map(move |line| (left, line)));
            let mut free = place.filter(|&(left, line)| strip.free(line, x, (left, left + width), gap));
            match free.next() {
                Some((left, line)) if !text.is_empty() => {
                    strip.lines = strip.lines.max(line + 1);
                    strip.labels.push(Label { x, left, width, line, text, fault });
                }
                _ => {
                    let what = if fault { "Fault" } else { "Mark" };
                    strip.rest.push(format!("{what} at cycle {}: {text}.", grouped(tick.div_ceil(TICKS))));
                }
            }
        }
        strip.rest.reverse();
        strip
    }

    /// Whether a label fits on a line, and its own line down to the rows fits between the others.
    fn free(&self, line: i32, x: i32, (left, right): (i32, i32), gap: i32) -> bool {
        self.labels.iter().all(|l| {
            let under = (left - gap..=right + gap).contains(&l.x);
            let over = (l.left - gap..=l.left + l.width + gap).contains(&x);
            let beside = right + gap <= l.left || l.left + l.width + gap <= left;
            match l.line.cmp(&line) {
                std::cmp::Ordering::Less => !over,
                std::cmp::Ordering::Equal => beside && !under && !over,
                std::cmp::Ordering::Greater => !under,
            }
        })
    }

    pub(crate) fn height(&self, em: i32) -> i32 {
        self.lines * pitch(em)
    }

    /// Draws the labels and the lines down to the rows, whose top is the plot's.
    pub(crate) fn draw(&self, frame: &Frame<'_>, scene: &mut Scene) {
        let (em, plot) = (frame.em, scene.plot);
        for l in &self.labels {
            let y = plot.y - (l.line + 1) * pitch(em);
            let color = if l.fault { frame.theme.fault() } else { frame.theme.ink() };
            scene.text(Area::new(l.left, y, l.width, pitch(em)), &l.text, size(em), Align::Left, color, usize::MAX);
            scene.fill(Layer::Grid, Area::new(l.x, y + em / 5, 1, plot.y - y - em / 5), color);
            let blocks = super::marks::texts(scene, Area::new(l.x - 3, plot.y, 7, plot.h));
            if !l.fault {
                super::marks::line(frame, scene, (l.x, plot.y, plot.bottom()), &blocks, color);
            }
        }
    }
}

/// The faults, combined for each instant: their kinds and source lines.
fn faults(frame: &Frame<'_>) -> Vec<(u64, String, bool)> {
    let mut all: Vec<(u64, String, bool)> = Vec::new();
    for f in &frame.t.faults {
        let line = frame.t.sites.get(f.site as usize).map_or(String::new(), |s| format!(", line {}", s.line));
        let text = format!("{}{line}", f.label);
        match all.last_mut() {
            Some((tick, texts, _)) if *tick == f.tick => {
                if !texts.split("; ").any(|t| t == text) {
                    *texts += "; ";
                    *texts += &text;
                }
            }
            _ => all.push((f.tick, text, true)),
        }
    }
    all
}

/// Combines faults with the same words whose labels would be adjacent: one label at the first, with their number. The
/// last fault comes first here. `near` says whether a label at one instant reaches a later one.
fn together(all: Vec<(u64, String, bool)>, near: impl Fn(&str, u64, u64) -> bool) -> Vec<(u64, String, bool)> {
    let mut some: Vec<((u64, String, bool), usize)> = Vec::new();
    for (tick, text, fault) in all {
        match some.last_mut() {
            Some(((later, same, true), times)) if fault && *same == text && near(&text, tick, *later) => {
                (*later, *times) = (tick, *times + 1);
            }
            _ => some.push(((tick, text, fault), 1)),
        }
    }
    let counted = |((tick, text, fault), times): ((u64, String, bool), usize)| {
        (tick, if times > 1 { format!("{text} ×{times}") } else { text }, fault)
    };
    some.into_iter().map(counted).collect()
}

/// The column of an instant, with room for the edge of a line.
fn column(frame: &Frame<'_>, tick: u64) -> i32 {
    let (left, right) = (frame.scale.x, frame.scale.x + frame.scale.w);
    frame.scale.x(tick).clamp(left + 2, (right - 2).max(left + 2))
}

fn size(em: i32) -> i32 {
    em * 85 / 100
}

fn pitch(em: i32) -> i32 {
    em * 12 / 10
}
