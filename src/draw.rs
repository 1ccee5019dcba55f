//! The one place that asks `warpline-viz`.

use std::path::Path;

use warpline_sim::Report;
use warpline_sim::timeline::Timeline;
use warpline_study::sweep::{Axis, Outcome, Part, Value, best};
use warpline_study::whatif::{self, Change};
use warpline_viz::gantt::{self, GanttOptions, Noted, Size};
use warpline_viz::plot::{self, Bar, Bars, Cell, Heat, Lines, Plot};
use warpline_viz::scatter;
use warpline_viz::trace;

use crate::cli;
use crate::failure::Failure;
use crate::recorded::Recorded;
use crate::simulate::Ran;

/// Spans a record may have: enough for any chart one can read, little enough to keep in memory.
pub(crate) const SPANS: usize = 2_000_000;

/// Formats of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Png,
    Svg,
}

/// The format a file's name asks for.
pub(crate) fn format(path: &Path) -> Result<Format, Failure> {
    match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("png") => Ok(Format::Png),
        Some("svg") => Ok(Format::Svg),
        _ => Err(Failure::with_help(
            format!("`{}` does not say which format to write", path.display()),
            "end the name in .png or .svg",
        )),
    }
}

/// A chart's bytes.
pub(crate) fn chart(
    recorded: &Recorded,
    second: Option<&Recorded>,
    args: &cli::Gantt,
    format: Format,
) -> Result<Vec<u8>, Failure> {
    let ctas = |of: &Recorded| args.ctas.or(of.cluster);
    let both = second.map(|b| gantt::beside(&recorded.timeline, &b.timeline, (ctas(recorded), ctas(b))));
    let (timeline, headings) = match &both {
        Some((both, headings)) => (both, headings.clone()),
        None => (&recorded.timeline, Vec::new()),
    };
    let window = second.map_or(recorded.opening, |b| Some(recorded.opening?.max(b.opening?)));
    let claims = |name: &str, of: &Recorded| -> Result<Vec<String>, Failure> {
        let all = if args.claims { of.claims(&args.subject)? } else { Vec::new() };
        Ok(all.iter().map(|c| format!("{name}{c}")).collect())
    };
    let remarks = match second {
        Some(b) => [claims("A: ", recorded)?, claims("B: ", b)?].concat(),
        None => claims("", recorded)?,
    };
    let options = GanttOptions {
        size: match args.size {
            cli::Size::Page => Size::Page,
            cli::Size::Slide => Size::Slide,
            cli::Size::Width(w) => Size::Width(w),
            cli::Size::Exact(width, height) => Size::Exact { width, height },
        },
        scale: args.scale,
        from: args.from,
        to: args.to.or_else(|| if args.whole || args.from.is_some() || recorded.kept { None } else { window }),
        rows: args.roles.clone(),
        ctas: if both.is_some() { None } else { ctas(recorded) },
        marks: args.marks.iter().map(|(cycle, text)| Noted { cycle: *cycle, text: text.clone() }).collect(),
        remarks,
        headings,
        theme: match args.theme {
            cli::Theme::Light => gantt::Theme::Light,
            cli::Theme::Dark => gantt::Theme::Dark,
        },
        ..GanttOptions::default()
    };
    let drawn = match format {
        Format::Png => gantt::png(timeline, &options),
        Format::Svg => gantt::svg(timeline, &options).map(String::into_bytes),
    };
    drawn.map_err(|e| Failure::new(e.to_string()))
}

/// A picture of a sweep, by one of its numbers.
pub(crate) fn sweep(part: &Part, metric: &str, format: Format) -> Result<Vec<u8>, Failure> {
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
        axes => Err(Failure::with_help(
            format!("{} names are varied; a picture has room for one or two", axes.len()),
            "vary fewer, or list the points in a file with `--points`, which counts as one",
        )),
    }
}

/// A picture of a what-if table: the numbers that matter.
pub(crate) fn whatif(ran: &Ran, rows: &[whatif::Row], format: Format) -> Result<Vec<u8>, Failure> {
    /// Rows that a picture has room for.
    const MOST: usize = 24;
    let base = ran.report.cycles;
    let change = |row: &whatif::Row, c| row.gain(c, base).map(|g| (-g * 1000.0).round() / 10.0);
    let bars = rows.iter().filter(|r| r.matters(base)).take(MOST).map(|row| Bar {
        name: row.key.clone(),
        values: [Change::Free, Change::Faster, Change::Slower].map(|c| change(row, c)).into(),
    });
    plot(
        &Plot::Bars(Bars {
            title: format!("{} on {}: what if", ran.subject.name, ran.subject.machine.name),
            subtitle: ran.report.bottleneck.clone(),
            x_name: "change of the time".into(),
            series: ["free", "twice as fast", "twice as slow"].map(String::from).into(),
            rows: bars.collect(),
        }),
        format,
    )
}

/// A picture's bytes.
pub(crate) fn plot(plot: &Plot, format: Format) -> Result<Vec<u8>, Failure> {
    let drawn = match format {
        Format::Png => plot::png(plot),
        Format::Svg => plot::svg(plot).map(String::into_bytes),
    };
    drawn.map_err(|e| Failure::new(e.to_string()))
}

/// Two runs in one chart, in cycles from and to, or the first steps of the slower main loop.
pub(crate) fn two(
    [a, b]: [&Recorded; 2],
    window: (Option<u64>, Option<u64>),
    format: Format,
) -> Result<Vec<u8>, Failure> {
    let to = match window {
        (None, None) => a.opening.zip(b.opening).map(|(a, b)| a.max(b)),
        (_, to) => to,
    };
    let (both, headings) = gantt::beside(&a.timeline, &b.timeline, (a.cluster, b.cluster));
    let options = GanttOptions { from: window.0, to, headings, ..GanttOptions::default() };
    let drawn = match format {
        Format::Png => gantt::png(&both, &options),
        Format::Svg => gantt::svg(&both, &options).map(String::into_bytes),
    };
    drawn.map_err(|e| Failure::new(e.to_string()))
}

/// Cycle up to which a chart shows the prologue and some ten steps of the main loop, where the run is longer than that.
pub(crate) fn opening(report: &Report) -> Option<u64> {
    let to = report.cycles_per_tile? * 14.0;
    (to < report.cycles).then_some(to.ceil() as u64)
}

/// The format that a trace is written in: as asked for, else as the file's name ends.
pub(crate) fn trace_format(path: &Path, asked: Option<cli::TraceFormat>) -> Result<trace::Format, Failure> {
    if let Some(asked) = asked {
        return Ok(match asked {
            cli::TraceFormat::Perfetto => trace::Format::Perfetto,
            cli::TraceFormat::Chrome => trace::Format::Chrome,
            cli::TraceFormat::Kanata => trace::Format::Kanata,
        });
    }
    match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("pftrace" | "perfetto-trace") => Ok(trace::Format::Perfetto),
        Some("json") => Ok(trace::Format::Chrome),
        Some("kanata") => Ok(trace::Format::Kanata),
        _ if path == Path::new("-") => Ok(trace::Format::Chrome),
        _ => Err(Failure::with_help(
            format!("`{}` does not say which format to write", path.display()),
            "end the name in .pftrace, .json or .kanata, or give --format",
        )),
    }
}

/// A trace's bytes.
pub(crate) fn trace(timeline: &Timeline, format: trace::Format) -> Result<Vec<u8>, Failure> {
    trace::write(timeline, format).map_err(|e| Failure::new(e.to_string()))
}

/// Measured and simulated cycles of the train and test sets against each other.
pub(crate) fn scatter(
    pairs: &[warpline_calibrate::accuracy::Pair],
    device: &str,
    format: Format,
) -> Result<Vec<u8>, Failure> {
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
    drawn.map_err(|e| Failure::new(e.to_string()))
}

/// A run above what a device recorded of it, from the start.
pub(crate) fn overlay(both: &Timeline, to: u64) -> Result<Vec<u8>, Failure> {
    let options = GanttOptions { size: Size::Page, from: Some(0), to: Some(to), ..GanttOptions::default() };
    gantt::png(both, &options).map_err(|e| Failure::new(e.to_string()))
}
