//! Pictures and traces of finished runs.

use std::path::Path;

use warpline_sim::timeline::{TICKS, Timeline};
use warpline_study::sweep::{Axis, Outcome, Part, Value, best};
use warpline_study::whatif::{self, Change};
use warpline_viz::gantt::{self, GanttOptions, Noted};
use warpline_viz::plot::{self, Bar, Bars, Cell, Heat, Lines, Plot};
use warpline_viz::scatter;
use warpline_viz::trace;

pub use warpline_viz::gantt::{Size, Theme};
pub use warpline_viz::trace::Format as TraceFormat;

use crate::error::Error;
use crate::record::Recording;
use crate::simulate::Simulation;

/// The format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// Vectors, with the font inside.
    Svg,
}

/// The format that a file's ending names.
///
/// # Errors
/// Any ending but `.png` and `.svg`.
pub fn format(path: &Path) -> Result<Format, Error> {
    match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("png") => Ok(Format::Png),
        Some("svg") => Ok(Format::Svg),
        _ => Err(Error::with_help(
            format!("`{}` does not name a format", path.display()),
            "end the name in .png or .svg",
        )),
    }
}

/// The content and look of a chart.
#[derive(Clone, Debug)]
pub struct ChartOptions {
    /// Size in pixels.
    pub size: Size,
    /// PNG pixels for each pixel of the size.
    pub scale: u32,
    /// The first cycle.
    pub from: Option<u64>,
    /// The last cycle.
    pub to: Option<u64>,
    /// Whether to draw the whole run. If not, and without `from` and `to`, a chart shows some steps of the main loop with all warps at work.
    pub whole: bool,
    /// Only these rows: roles, `agents`, `engines`, `barriers`, `slots`, `cta 2`, or part of a name; all where empty.
    pub rows: Vec<String>,
    /// The number of CTAs, in launch order; those of one cluster where absent.
    pub ctas: Option<u32>,
    /// Cycles to mark, each with a few words.
    pub marks: Vec<Mark>,
    /// Sentences below the chart.
    pub remarks: Vec<String>,
    /// Colors.
    pub theme: Theme,
}

/// A cycle to mark in a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The cycle.
    pub cycle: u64,
    /// The words at the mark.
    pub text: String,
}

impl Default for ChartOptions {
    fn default() -> ChartOptions {
        ChartOptions {
            size: Size::Page,
            scale: 1,
            from: None,
            to: None,
            whole: false,
            rows: Vec::new(),
            ctas: None,
            marks: Vec::new(),
            remarks: Vec::new(),
            theme: Theme::Light,
        }
    }
}

/// Draws one recording, or two in one chart.
///
/// # Errors
/// Rows that do not exist, and windows without a cycle.
pub fn chart(
    recording: &Recording,
    second: Option<&Recording>,
    options: &ChartOptions,
    format: Format,
) -> Result<Vec<u8>, Error> {
    let ctas = |of: &Recording| options.ctas.or(of.cluster);
    let both = second.map(|b| gantt::beside(&recording.timeline, &b.timeline, (ctas(recording), ctas(b))));
    let (timeline, headings) = match &both {
        Some((both, headings)) => (both, headings.clone()),
        None => (&recording.timeline, Vec::new()),
    };
    let opening = match second {
        // Two runs are compared from their start.
        Some(b) => recording.opening.as_ref().zip(b.opening.as_ref()).map(|(a, b)| 0..a.end.max(b.end)),
        None => recording.opening.clone(),
    };
    let asked = options.whole || options.from.is_some() || options.to.is_some();
    let opening = opening.filter(|_| !asked && !recording.scheduled);
    let options = GanttOptions {
        size: options.size,
        scale: options.scale,
        from: options.from.or(opening.as_ref().map(|o| o.start)),
        to: options.to.or(opening.map(|o| o.end)),
        rows: options.rows.clone(),
        ctas: if both.is_some() { None } else { ctas(recording) },
        marks: options.marks.iter().map(|m| Noted { cycle: m.cycle, text: m.text.clone() }).collect(),
        remarks: options.remarks.clone(),
        headings,
        theme: options.theme,
        ..GanttOptions::default()
    };
    drawn(timeline, &options, format)
}

/// The bytes of a chart.
fn drawn(timeline: &Timeline, options: &GanttOptions, format: Format) -> Result<Vec<u8>, Error> {
    let drawn = match format {
        Format::Png => gantt::png(timeline, options),
        Format::Svg => gantt::svg(timeline, options).map(String::into_bytes),
    };
    drawn.map_err(|e| Error::new(e.to_string()))
}

/// The part of a run that a trace has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    /// The first cycle.
    pub from: Option<u64>,
    /// The last cycle.
    pub to: Option<u64>,
    /// Whether to write the whole run. If not, and without `from` and `to`, a trace has the first [`TRACED`] spans.
    pub whole: bool,
}

/// Default number of spans of a trace: a few megabytes.
pub const TRACED: usize = 60_000;

/// A part of a timeline, for a trace.
#[derive(Clone, Debug)]
pub struct TracePart {
    /// Its spans.
    pub timeline: Timeline,
    /// The cycle after which spans were left out because there are too many.
    pub cut: Option<u64>,
}

/// The part of a timeline that a trace has.
///
/// # Errors
/// A window without a cycle.
pub fn trace_part(t: &Timeline, window: Window) -> Result<TracePart, Error> {
    let asked = window.from.is_some() || window.to.is_some();
    let many = if asked || window.whole { None } else { trace::after(t, TRACED) };
    let from = window.from.unwrap_or(0).saturating_mul(TICKS);
    let to = window.to.map_or(many.unwrap_or(t.end), |to| to.saturating_mul(TICKS)).min(t.end);
    if asked && from >= to {
        let end = t.end.div_ceil(TICKS);
        return Err(Error::new(format!("the window is empty; the timeline ends at cycle {end}")));
    }
    let mut timeline = if asked || many.is_some() { trace::window(t, from, to) } else { t.clone() };
    if to < t.end {
        timeline.truncated_at = Some(to);
    }
    Ok(TracePart { timeline, cut: many.map(|tick| tick / TICKS) })
}

/// Draws one number of a sweep: a line over one varied name, a heat map over two.
///
/// # Errors
/// More than two varied names.
pub fn sweep(part: &Part, metric: &str, format: Format) -> Result<Vec<u8>, Error> {
    let plan = &part.plan;
    let against = part.subject.against.as_ref().map_or(String::new(), |a| format!(", against {a}"));
    let title = format!("{}: {metric}{against}", part.subject.scenario);
    let subtitle = part.subject.settings.join(" ");
    let best = best(part, metric).map(|(i, _)| i);
    let label = |axis: &Axis, i: usize| axis.rows[i].iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
    let value = |i: usize| match part.rows.get(&i) {
        None => Err("not run".to_string()),
        Some(row) => row.number(metric).ok_or_else(|| match row.outcome {
            Outcome::Infeasible => row.limit.clone(),
            Outcome::Fine => "none".to_string(),
            other => other.word().to_string(),
        }),
    };
    match plan.axes() {
        [x] => plot(
            &Plot::Lines(Lines {
                title,
                subtitle,
                x_name: x.names.join(" "),
                x: (0..x.rows.len())
                    .map(|i| (label(x, i), x.rows[i].first().filter(|_| x.names.len() == 1).and_then(Value::number)))
                    .collect(),
                y_name: metric.to_string(),
                y: (0..plan.len()).map(value).collect(),
                best,
            }),
            format,
        ),
        [y, x] => plot(
            &Plot::Heat(Heat {
                title,
                subtitle,
                x_name: x.names.join(" "),
                x: (0..x.rows.len()).map(|i| label(x, i)).collect(),
                y_name: y.names.join(" "),
                y: (0..y.rows.len()).map(|i| label(y, i)).collect(),
                cells: (0..plan.len())
                    .map(|i| match value(i) {
                        Ok(v) if best == Some(i) => Cell::Best(v),
                        Ok(v) => Cell::Number(v),
                        Err(why) => Cell::Why(why),
                    })
                    .collect(),
                centre: (metric == "speedup").then_some(1.0),
            }),
            format,
        ),
        axes => Err(Error::with_help(
            format!("{} names are varied; a picture has room for one or two", axes.len()),
            "vary fewer, or list the points in a file with `--points`, which counts as one",
        )),
    }
}

/// Draws a what-if table: the numbers that change the time.
///
/// # Errors
/// None that a table of a finished run can cause.
pub fn whatif(simulation: &Simulation, rows: &[whatif::Row], format: Format) -> Result<Vec<u8>, Error> {
    /// Rows that a picture has room for.
    const MOST: usize = 24;
    let base = simulation.report.cycles;
    let change = |row: &whatif::Row, c| row.gain(c, base).map(|g| (-g * 1000.0).round() / 10.0);
    let bars = rows.iter().filter(|r| r.matters(base)).take(MOST).map(|row| Bar {
        name: row.key.clone(),
        values: [Change::Free, Change::Faster, Change::Slower].map(|c| change(row, c)).into(),
    });
    plot(
        &Plot::Bars(Bars {
            title: format!("{} on {}: what if", simulation.subject.name, simulation.subject.machine.name),
            subtitle: simulation.report.bottleneck.clone(),
            x_name: "change of the time".into(),
            series: ["free", "twice as fast", "twice as slow"].map(String::from).into(),
            rows: bars.collect(),
        }),
        format,
    )
}

/// The bytes of a picture.
fn plot(plot: &Plot, format: Format) -> Result<Vec<u8>, Error> {
    let drawn = match format {
        Format::Png => plot::png(plot),
        Format::Svg => plot::svg(plot).map(String::into_bytes),
    };
    drawn.map_err(|e| Error::new(e.to_string()))
}

/// The format of a trace that a file's ending names; Chrome's for `-`.
///
/// # Errors
/// An ending that names no format.
pub fn trace_format(path: &Path) -> Result<trace::Format, Error> {
    match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("pftrace" | "perfetto-trace") => Ok(trace::Format::Perfetto),
        Some("json") => Ok(trace::Format::Chrome),
        Some("kanata") => Ok(trace::Format::Kanata),
        _ if path == Path::new("-") => Ok(trace::Format::Chrome),
        _ => Err(Error::with_help(
            format!("`{}` does not name a format", path.display()),
            "end the name in .pftrace, .json or .kanata, or give --format",
        )),
    }
}

/// The bytes of a trace.
///
/// # Errors
/// A timeline that the format cannot hold.
pub fn trace(timeline: &Timeline, format: trace::Format) -> Result<Vec<u8>, Error> {
    trace::write(timeline, format).map_err(|e| Error::new(e.to_string()))
}

/// Draws measured against simulated cycles of kernels.
///
/// # Errors
/// No pairs.
pub fn scatter(pairs: &[warpline_calibrate::accuracy::Pair], device: &str, format: Format) -> Result<Vec<u8>, Error> {
    let points: Vec<scatter::Point> = pairs
        .iter()
        .filter(|p| !p.case.starts_with("alone."))
        .map(|p| scatter::Point { x: p.measured, y: p.simulated, hollow: p.case.starts_with("train.") })
        .collect();
    let title = format!("Cycles of kernels, measured ({device}) and simulated");
    let words = scatter::Words { title: &title, x: "measured", y: "simulated", solid: "test", hollow: "train" };
    let drawn = match format {
        Format::Png => scatter::png(&points, &words),
        Format::Svg => scatter::svg(&points, &words).map(String::into_bytes),
    };
    drawn.map_err(|e| Error::new(e.to_string()))
}

/// Draws a run with the rows that a device recorded of it, up to a cycle, as PNG.
///
/// # Errors
/// A timeline without a cycle to draw.
pub fn overlay(both: &Timeline, to: u64) -> Result<Vec<u8>, Error> {
    let options = GanttOptions { size: Size::Page, from: Some(0), to: Some(to), ..GanttOptions::default() };
    gantt::png(both, &options).map_err(|e| Error::new(e.to_string()))
}
