//! `warpline sweep`.

use std::path::Path;

use warpline_api::{Error, Status, SweepRequest, draw, listed_points};
use warpline_study::numbers::metric_named;
use warpline_study::sweep::{self, Outcome, Part, Row, Shard};

use crate::cli::{Sweep, SweepOutput};
use crate::console::Console;
use crate::progress::Bar;
use crate::{json_sweep, output, show};

pub(super) fn sweep(args: &Sweep, console: &mut Console) -> Result<Status, Error> {
    let format = args.output.plot.as_deref().map(draw::format).transpose()?;
    let mut axes = args.vary.clone();
    if let Some(path) = &args.points {
        axes.insert(0, listed_points(path)?);
    }
    let request = SweepRequest {
        against: args.against.clone(),
        metrics: args.output.metric.clone(),
        state: args.state.clone(),
        shard: args.shard.unwrap_or(Shard::WHOLE),
        ..SweepRequest::new(args.input.request(), axes)
    };
    let bar = Bar::pieces(console.look.progress, 0, format!("sweeping {}", args.input.scenario));
    let part = warpline_api::sweep(&request, &|p| bar.set(p))?;
    drop(bar);
    report(&part, &args.output, format, console)
}

/// Writes and prints the result of a sweep. The status is the most serious of its points.
pub(super) fn report(
    part: &Part,
    output: &SweepOutput,
    format: Option<draw::Format>,
    console: &mut Console,
) -> Result<Status, Error> {
    let metrics = metrics(part, &output.metric)?;
    if let (Some(path), Some(format)) = (&output.plot, format) {
        let picture = draw::sweep(part, &metrics[0], format)?;
        output::write(console, path, &picture)?;
    }
    if let Some(path) = &output.csv {
        output::write(console, path, &sweep::csv(part).map_err(Error::new)?)?;
    }
    if output.json {
        console.print(&json_sweep::sweep(part)?)?;
    } else if !output.quiet && output.csv.as_deref() != Some(Path::new("-")) {
        console.print(&show::sweep(part, &metrics, output.metric.len() > 1, console.paint()))?;
    }
    let status = |o: Outcome| match o {
        Outcome::Fine | Outcome::Infeasible => Status::Holds,
        Outcome::Faulty | Outcome::Hung => Status::Violated,
        Outcome::GaveUp => Status::GaveUp,
    };
    Ok(part.rows.values().fold(Status::Holds, |s, row| s.and(status(row.outcome))))
}

/// The metrics to show: the requested ones, or the time. For problems of several sizes, the rate or the time over the
/// ideal. Each is a metric of some point, or of every run.
fn metrics(part: &Part, asked: &[String]) -> Result<Vec<String>, Error> {
    let has = |name: &str| part.rows.values().any(|r| r.numbers.contains_key(name));
    for name in asked {
        if !has(name) && metric_named(name).is_none() {
            let help = "docs/cli.md lists the numbers under Claims; those of a role end in its name, as `wait_compute`";
            return Err(Error::with_help(format!("no point has a number `{name}`"), help));
        }
    }
    if !asked.is_empty() {
        return Ok(asked.to_vec());
    }
    // A machine on paper has no microseconds.
    let timed = part.rows.values().any(|r| r.number("time_us").is_some_and(|t| t > 0.0));
    // Points that do different work are compared by their rate, not by their time.
    let rows = || part.rows.values().filter(|r| r.outcome == Outcome::Fine);
    let multiply = rows().all(|r| r.number("useful_tflops").is_some_and(|f| f > 0.0));
    let work = |r: &Row| {
        let name = if multiply { "useful_tflops" } else { "dram_write_bytes" };
        r.number(name).unwrap_or(0.0) * if multiply { r.number("time_us").unwrap_or(0.0) } else { 1.0 }
    };
    let first = rows().next().map_or(0.0, work);
    let sizes = rows().any(|r| (work(r) - first).abs() > 1e-6 * first);
    let first = match (part.subject.against.is_some(), timed) {
        (true, _) => "speedup",
        (false, true) if sizes && multiply => "useful_tflops",
        (false, _) if sizes => "over_ideal",
        (false, true) => "time_us",
        (false, false) => "cycles",
    };
    let mut names = vec![first.to_string()];
    let more = [
        "time_us",
        "against_time_us",
        "clock_mhz",
        "cycles",
        "tflops",
        "over_ideal",
        "cycles_per_tile",
        "ctas_per_core",
        "shared_bytes",
    ];
    names.extend(more.into_iter().filter(|m| *m != first && has(m)).map(str::to_string));
    names.retain(|n| timed || !["time_us", "tflops", "useful_tflops", "against_time_us"].contains(&n.as_str()));
    Ok(names)
}
