//! `warpline validate`.

use std::fmt::Write;

use warpline_calibrate::accuracy::{Pair, Summary, Timed, cases, recorded, summary};

use crate::cli::{Setting, Subject, Validate};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::simulate::simulate;
use crate::{draw, load, output};

pub(super) fn validate(args: &Validate, console: &mut Console) -> Result<Status, Failure> {
    if !args.recorded {
        return Err(Failure::with_help(
            "no device can be asked yet",
            "`--recorded` takes the kernels that were timed on one H200; calibrate/hardware/run.sh times them on another device",
        ));
    }
    let timed = recorded().map_err(|e| Failure::new(format!("the record is not understood: {e}")))?;
    let rows: Vec<(String, String, Vec<String>)> = cases();
    let pairs: Result<Vec<Pair>, Failure> = rows
        .iter()
        .map(|(name, scenario, set)| {
            let Some(t) = timed.iter().find(|t| t.case == *name) else {
                return Err(Failure::new(format!("`{name}` was not timed")));
            };
            pair(console, args, t, scenario, set)
        })
        .collect();
    let pairs = pairs?;
    let format = args.output.as_deref().map(draw::format).transpose()?;
    if let (Some(path), Some(format)) = (&args.output, format) {
        let picture = draw::scatter(&pairs, format)?;
        output::write(console, path, &picture)?;
    }
    console.print(&text(&pairs))?;
    Ok(Status::Holds)
}

/// One kernel, simulated.
fn pair(console: &Console, args: &Validate, t: &Timed, scenario: &str, set: &[String]) -> Result<Pair, Failure> {
    let set = set.iter().filter_map(|s| {
        let (name, value) = s.split_once('=')?;
        Some(Setting::Kernel(name.to_string(), value.parse().ok()?))
    });
    let subject = Subject { machine: Some(args.machine.clone()), set: set.collect(), ..Subject::named(scenario) };
    let ran = simulate(console, load::load(&subject)?, None)?;
    let measured = t.cycles();
    Ok(Pair {
        case: t.case.clone(),
        measured,
        simulated: ran.report.cycles,
        repeat: (t.cycles_again() / measured - 1.0).abs(),
    })
}

fn text(pairs: &[Pair]) -> String {
    let mut out = format!("{:<42}{:>12}{:>12}{:>9}\n", "kernel", "measured", "simulated", "error");
    for p in pairs {
        let _ = writeln!(out, "{:<42}{:>12.0}{:>12.0}{:>8.1}%", p.case, p.measured, p.simulated, 100.0 * p.error());
    }
    out.push('\n');
    for (name, prefix) in [("train", "train."), ("test", "test.")] {
        let set: Vec<Pair> = pairs.iter().filter(|p| p.case.starts_with(prefix)).cloned().collect();
        let Some(Summary { count, mean, bias, worst, inverted, repeat }) = summary(&set) else { continue };
        let _ = writeln!(
            out,
            "{name:<6}{count} kernels: mean absolute error {:.1} %, mean {:+.1} %, worst {:.1} %; {} of {} pairs more than 5 % \
             apart in the other order; two rounds of the measurement differ by {:.1} %",
            100.0 * mean,
            100.0 * bias,
            100.0 * worst,
            inverted.0,
            inverted.1,
            100.0 * repeat
        );
    }
    out
}
