//! `warpline plan`.

use warpline_plan::{Question, plan as search};
use warpline_scenarios::pipeline::Ask;
use warpline_sim::RunOptions;

use crate::cli::Plan;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::progress::Progress;
use crate::{json_plan, load, output, show, verdict};

pub(super) fn plan(args: &Plan, console: &mut Console) -> Result<Status, Failure> {
    let subject = load::load_proof(&args.scenario, &args.proof, Ask::default())?;
    let Some(text) = subject.sources.get(&subject.plain).filter(|_| !subject.plans.is_empty()) else {
        return Err(super::expand::none(&subject));
    };
    let mut run = RunOptions { warm_l2: subject.warm_l2, fences: subject.fences, ..RunOptions::default() };
    run.max_events = args.max_events.unwrap_or(run.max_events);
    let question = Question {
        file: &subject.plain,
        text,
        set: &subject.program.params.iter().cloned().collect(),
        machine: &subject.machine,
        rules: subject.rules(),
        proof: verdict::options(&args.proof),
        run,
        stages: args.stages,
        most: args.max_candidates as usize,
    };
    let count = warpline_plan::candidates(&question).len().min(question.most);
    let progress = Progress::of(console.look.progress, count, format!("planning {}", subject.name));
    let answer = search(&question, &|| progress.step());
    drop(progress);
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
