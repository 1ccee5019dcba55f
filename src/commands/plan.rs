//! `warpline plan`.

use warpline_api::{Error, PlanOptions, Request, Status};
use warpline_plan::Answer as PlanAnswer;

use crate::cli::{Orders, Plan};
use crate::console::Console;
use crate::progress::Bar;
use crate::{json_plan, output, show};

pub(super) fn plan(args: &Plan, console: &mut Console) -> Result<Status, Error> {
    let subject = warpline_api::load(&request(args))?;
    let bar = Bar::pieces(console.look.progress, 0, format!("planning {}", subject.name));
    let answer = warpline_api::plan(&subject, &options(args), &|p| bar.set(p))?;
    drop(bar);
    let best = answer.ranked().first().map(|(_, t)| t.expanded.text.clone());
    if let (Some(path), Some(text)) = (&args.output, &best) {
        output::write(console, path, text.as_bytes())?;
    }
    if args.json {
        console.print(&json_plan::plan(&subject, &answer)?)?;
    } else if !args.quiet {
        console.print(&show::plan(&subject, &answer, console.paint()))?;
    }
    Ok(status(&answer))
}

/// The scenario with its values.
pub(crate) fn request(args: &Plan) -> Request {
    Request { max_events: args.max_events, ..args.proof.request(&args.scenario) }
}

/// Limits of the search and of each proof.
pub(crate) fn options(args: &Plan) -> PlanOptions {
    PlanOptions {
        proof: args.proof.options(Orders::default()),
        stages: args.stages,
        max_candidates: args.max_candidates as usize,
    }
}

/// `Holds` where a pipeline is proved and timed, and the search was not cut.
pub(crate) fn status(answer: &PlanAnswer) -> Status {
    match (answer.ranked().is_empty(), answer.gave_up()) {
        (_, true) => Status::GaveUp,
        (false, false) => Status::Holds,
        (true, false) => Status::Violated,
    }
}
