//! `warpline trace`.

use warpline_sim::timeline::Timeline;

use crate::cli::Trace;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::load::{self, Loaded};
use crate::simulate::{Ran, simulate};
use crate::{draw, output, show};

pub(super) fn trace(args: &Trace, console: &mut Console) -> Result<Status, Failure> {
    let (ran, timeline) = record(load::load(&args.subject)?, console)?;
    output::write(console, &args.output, &draw::trace(&timeline)?)?;
    Ok(ran.status())
}

/// Runs with a record. What a picture cannot show, that the run went wrong or was cut, is said in words.
pub(super) fn record(subject: Loaded, console: &mut Console) -> Result<(Ran, Timeline), Failure> {
    let mut ran = simulate(console, subject, Some(draw::SPANS))?;
    let Some(mut timeline) = ran.report.timeline.take() else {
        return Err(Failure::new("the engine kept no record of the run"));
    };
    if timeline.title.is_empty() {
        timeline.title = format!("{} on {}", ran.subject.name, ran.subject.machine.name);
    }
    if let Some(tick) = timeline.truncated_at {
        let cycle = show::plain(tick as f64 / warpline_sim::timeline::TICKS as f64);
        console.error(&format!("note: there was too much to record; nothing after cycle {cycle} is shown\n"))?;
    }
    if ran.status() != Status::Holds {
        let name = ran.subject.name.clone();
        let kept = if ran.subject.schedule.is_some() { " --schedule FILE" } else { "" };
        console.error(&format!("note: the run did not end well; `warpline run {name}{kept}` says why\n"))?;
    }
    Ok((ran, timeline))
}
