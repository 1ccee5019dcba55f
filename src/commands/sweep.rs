//! `warpline sweep`.

use std::path::Path;

use warpline_study::numbers::metric_named;
use warpline_study::sweep::{self, Outcome, Part};

use crate::cli::{Sweep, SweepOutput};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{draw, json_sweep, output, show};

pub(super) fn sweep(args: &Sweep, console: &mut Console) -> Result<Status, Failure> {
    let format = args.output.plot.as_deref().map(draw::format).transpose()?;
    let part = crate::sweep::points(args, console)?;
    report(&part, &args.output, format, console)
}

/// Writes and prints what a sweep found; the status is the worst of its points.
pub(super) fn report(
    part: &Part,
    output: &SweepOutput,
    format: Option<draw::Format>,
    console: &mut Console,
) -> Result<Status, Failure> {
    let metrics = metrics(part, &output.metric)?;
    if let (Some(path), Some(format)) = (&output.plot, format) {
        let picture = draw::sweep(part, &metrics[0], format)?;
        output::write(console, path, &picture)?;
    }
    if let Some(path) = &output.csv {
        output::write(console, path, &sweep::csv(part).map_err(Failure::new)?)?;
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

/// What to show: what was asked for, or the time. Each has to be a number of some point, or of every run.
fn metrics(part: &Part, asked: &[String]) -> Result<Vec<String>, Failure> {
    let has = |name: &str| part.rows.values().any(|r| r.numbers.contains_key(name));
    for name in asked {
        if !has(name) && metric_named(name).is_none() {
            let help = "docs/cli.md lists the numbers under Claims; those of a role end in its name, as `wait_compute`";
            return Err(Failure::with_help(format!("no point has a number `{name}`"), help));
        }
    }
    if !asked.is_empty() {
        return Ok(asked.to_vec());
    }
    // A design on paper has no microseconds.
    let timed = part.rows.values().any(|r| r.number("time_us").is_some_and(|t| t > 0.0));
    let first = match (part.subject.against.is_some(), timed) {
        (true, _) => "speedup",
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
        "cycles_per_tile",
        "ctas_per_core",
        "shared_bytes",
    ];
    names.extend(more.into_iter().filter(|m| *m != first && has(m)).map(str::to_string));
    names.retain(|n| timed || !["time_us", "tflops", "against_time_us"].contains(&n.as_str()));
    Ok(names)
}
