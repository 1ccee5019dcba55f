//! `warpline compare`.

use warpline_api::draw::{self, ChartOptions};
use warpline_api::{Error, Second, Status};
use warpline_sim::timeline::TICKS;
use warpline_sim::words::plain;

use crate::cli::Compare;
use crate::console::Console;
use crate::{json_compare, output, recorded, show};

pub(super) fn compare(args: &Compare, console: &mut Console) -> Result<Status, Error> {
    let format = args.plot.as_deref().map(draw::format).transpose()?;
    if args.input.schedule.is_some() {
        return Err(Error::new("compare takes no --schedule: a run that follows a schedule has no time of its own"));
    }
    let second = Second { scenario: &args.with, settings: &args.with_set, schedule: None };
    let [a, b] = recorded::two(&args.input, second, console)?;
    let two = [&a, &b];
    // A run's note is printed when it has run.
    for saved in two.into_iter().filter(|r| r.simulation.is_none()) {
        if let Some(tick) = saved.timeline.truncated_at {
            let (name, cycle) = (&saved.name, plain(tick as f64 / TICKS as f64));
            console.error(&format!(
                "note: `{name}` has nothing after cycle {cycle}; its work and waits are those before it\n"
            ))?;
        }
    }
    let comparison = warpline_api::compare(&a, &b);
    if let (Some(path), Some(format)) = (&args.plot, format) {
        let options = ChartOptions { from: args.from, to: args.to, ..ChartOptions::default() };
        output::write(console, path, &draw::chart(&a, Some(&b), &options, format)?)?;
    }
    if args.json {
        console.print(&json_compare::compare(two, &comparison)?)?;
    } else if !args.quiet {
        console.print(&show::compare(two, &comparison, console.paint()))?;
    }
    Ok(a.status.and(b.status))
}
