//! `warpline compare`.

use warpline_sim::timeline::TICKS;
use warpline_study::compare::compare as study;

use crate::cli::Compare;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{draw, json_compare, output, recorded, show};

pub(super) fn compare(args: &Compare, console: &mut Console) -> Result<Status, Failure> {
    let format = args.plot.as_deref().map(draw::format).transpose()?;
    if args.subject.schedule.is_some() {
        return Err(Failure::new("compare takes no --schedule: what keeps to one has no time of its own"));
    }
    let [a, b] = recorded::two(&args.subject, &args.with, &args.with_set, None, console)?;
    let two = [&a, &b];
    // Of a run it was said when it ran.
    for saved in two.into_iter().filter(|r| r.ran.is_none()) {
        if let Some(tick) = saved.timeline.truncated_at {
            let (name, cycle) = (&saved.name, show::plain(tick as f64 / TICKS as f64));
            console.error(&format!("note: `{name}` holds nothing after cycle {cycle}; it was too much to record\n"))?;
        }
    }
    let found = study(two.map(|r| r.side()));
    if let (Some(path), Some(format)) = (&args.plot, format) {
        output::write(console, path, &draw::two(two, (args.from, args.to), format)?)?;
    }
    if args.json {
        console.print(&json_compare::compare(two, &found)?)?;
    } else if !args.quiet {
        console.print(&show::compare(two, &found, console.paint()))?;
    }
    Ok(a.status.and(b.status))
}
