//! `warpline compare`.

use warpline_sim::timeline::Timeline;
use warpline_study::compare::compare as study;

use crate::cli::Compare;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::recorded::record;
use crate::simulate::Ran;
use crate::{draw, json_compare, load, output, show};

/// Two runs, each with its record.
pub(crate) struct Two {
    pub(crate) ran: [Ran; 2],
    pub(crate) records: [Timeline; 2],
}

pub(super) fn compare(args: &Compare, console: &mut Console) -> Result<Status, Failure> {
    let format = args.plot.as_deref().map(draw::format).transpose()?;
    if args.subject.schedule.is_some() {
        return Err(Failure::new("compare takes no --schedule: what keeps to one has no time of its own"));
    }
    let subject = load::load(&args.subject)?;
    let with = load::load_with(&subject, &args.with, &args.with_set, None, &args.subject)?;
    let (a, first) = record(subject, console)?;
    let (b, second) = record(with, console)?;
    let two = Two { ran: [a, b], records: [first, second] };
    let [a, b] = &two.ran;
    let found =
        study([&a.subject.program, &b.subject.program], [&a.report, &b.report], [&two.records[0], &two.records[1]]);
    if let (Some(path), Some(format)) = (&args.plot, format) {
        output::write(console, path, &draw::two(&two, (args.from, args.to), format)?)?;
    }
    if args.json {
        console.print(&json_compare::compare([a, b], &found)?)?;
    } else if !args.quiet {
        console.print(&show::compare([a, b], &found, console.paint()))?;
    }
    Ok(a.status().and(b.status()))
}
