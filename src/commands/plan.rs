//! `warpline plan`.

use warpline_api::{Error, PlanOptions, Request, Status};

use crate::cli::{Orders, Plan};
use crate::console::Console;
use crate::progress::Bar;
use crate::{json_plan, output, show};

pub(super) fn plan(args: &Plan, console: &mut Console) -> Result<Status, Error> {
    let request = Request { max_events: args.max_events, ..args.proof.request(&args.scenario) };
    let subject = warpline_api::load(&request)?;
    let options = PlanOptions {
        proof: args.proof.options(Orders::default()),
        stages: args.stages,
        max_candidates: args.max_candidates as usize,
    };
    let bar = Bar::pieces(console.look.progress, 0, format!("planning {}", subject.name));
    let answer = warpline_api::plan(&subject, &options, &|p| bar.set(p))?;
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
    Ok(match (best, answer.gave_up()) {
        (_, true) => Status::GaveUp,
        (Some(_), false) => Status::Holds,
        (None, false) => Status::Violated,
    })
}
