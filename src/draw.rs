//! The one place that asks `warpline-viz`.

use std::path::Path;

use warpline_sim::Report;
use warpline_sim::timeline::Timeline;
use warpline_viz::gantt::{self, GanttOptions, Size};
use warpline_viz::scatter;

use crate::cli;
use crate::failure::Failure;

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
    timeline: &Timeline,
    report: &Report,
    cluster: u32,
    args: &cli::Gantt,
    format: Format,
) -> Result<Vec<u8>, Failure> {
    let options = GanttOptions {
        size: match args.size {
            cli::Size::Page => Size::Page,
            cli::Size::Slide => Size::Slide,
            cli::Size::Width(w) => Size::Width(w),
            cli::Size::Exact(width, height) => Size::Exact { width, height },
        },
        scale: args.scale,
        from: args.from,
        to: args.to.or_else(|| {
            if args.whole || args.from.is_some() || args.subject.schedule.is_some() { None } else { opening(report) }
        }),
        rows: args.roles.clone(),
        ctas: Some(args.ctas.unwrap_or(cluster)),
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

/// Cycle up to which a chart shows the prologue and some ten steps of the main loop, where the run is longer than that.
pub(crate) fn opening(report: &Report) -> Option<u64> {
    let to = report.cycles_per_tile? * 14.0;
    (to < report.cycles).then_some(to.ceil() as u64)
}

/// Measured and simulated cycles against each other.
pub(crate) fn scatter(pairs: &[warpline_calibrate::accuracy::Pair], format: Format) -> Result<Vec<u8>, Failure> {
    let points: Vec<scatter::Point> = pairs
        .iter()
        .map(|p| scatter::Point { x: p.measured, y: p.simulated, hollow: p.case.starts_with("train.") })
        .collect();
    let words = scatter::Words {
        title: "Cycles of kernels on one H200, measured and simulated",
        x: "measured",
        y: "simulated",
        solid: "test",
        hollow: "train",
    };
    let drawn = match format {
        Format::Png => scatter::png(&points, &words),
        Format::Svg => scatter::svg(&points, &words).map(String::into_bytes),
    };
    drawn.map_err(|e| Failure::new(e.to_string()))
}

/// A trace in Chrome's format.
pub(crate) fn trace(timeline: &Timeline) -> Result<Vec<u8>, Failure> {
    let text = warpline_viz::chrome::write(timeline).map_err(|e| Failure::new(e.to_string()))?;
    Ok(text.into_bytes())
}
