//! The search for pipelines of a plain loop.

use warpline_plan::{Answer, Question, candidates, plan as search};
use warpline_sim::RunOptions;

use crate::error::Error;
use crate::load::Subject;
use crate::progress::{Counter, OnProgress};
use crate::verify::ProofOptions;

/// The limits of a search for a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct PlanOptions {
    /// The limits of each proof.
    pub proof: ProofOptions,
    /// The largest number of stages.
    pub stages: i64,
    /// The most candidates to decide.
    pub max_candidates: usize,
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions { proof: ProofOptions::default(), stages: 6, max_candidates: 1000 }
    }
}

/// Proves and times every way to pipeline the kernel's loop.
///
/// # Errors
/// A kernel without a `pipelined` loop.
pub fn plan(subject: &Subject, options: &PlanOptions, progress: OnProgress<'_>) -> Result<Answer, Error> {
    let text = subject.sources.get(&subject.kernel_file).filter(|_| !subject.plans.is_empty());
    let text = text.ok_or_else(|| no_pipelined_loop(subject))?;
    let mut run = RunOptions { warm_l2: subject.warm_l2, fences: subject.fences, ..RunOptions::default() };
    run.max_events = subject.max_events.unwrap_or(run.max_events);
    let question = Question {
        file: &subject.kernel_file,
        text,
        set: &subject.program.params.iter().cloned().collect(),
        machine: &subject.machine,
        rules: subject.rules(),
        proof: options.proof.limits(),
        run,
        stages: options.stages,
        most: options.max_candidates,
    };
    let counter = Counter::start(candidates(&question).len().min(question.most), progress);
    Ok(search(&question, &|| counter.step()))
}

/// The error for a kernel without a `pipelined` loop.
pub fn no_pipelined_loop(subject: &Subject) -> Error {
    Error::with_help(
        format!("`{}` has no `pipelined` loop", subject.name),
        "write `pipelined i in 0..tiles stages 3:` before a plain loop (docs/pipelining.md)",
    )
}
