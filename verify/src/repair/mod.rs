//! Repair: the smallest change with which a kernel is proved, found by trials.
//!
//! ```text
//!   fault ──▶ candidates, by size and nearness ── one run at the fault's trip count ──▶ those it is clean with
//!                                                            └── verify ──▶ the first that is proved
//! ```
//!
//! Where none is, several changes are tried, one after another ([`suggest_several`]).
//!
//! Each suggestion was verified as a whole, for every trip count and class of CTA. A suggestion is one way to repair
//! the kernel, not the only one: only the author knows the intended order.

mod list;
pub(crate) mod redundancy;
mod stepwise;
mod trial_steps;

pub use stepwise::suggest_several;
pub use trial_steps::TrialSteps;

use rayon::prelude::*;
use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;

use crate::budget::Budget;
use crate::counted;
use crate::cta::class_run::ClassRun;
use crate::execution::canonical::{CanonicalRun, RunEnd, StepOutcome};
use crate::{Edit, Options, Outcome, Trips, Violation};

/// A test whether a machine can run a program. Programs that the machine cannot run are not suggested.
pub type Allowed<'a> = &'a (dyn Fn(&Program) -> bool + Sync);

/// The kernel with another value of a parameter, as a suggestion to try: one stage more.
#[derive(Clone, Debug)]
pub struct Value {
    /// The change in words: `stages = 3 instead of 2`.
    pub words: String,
    /// The kernel with the change.
    pub given: Program,
}

/// A change that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// The change in words: `line 31: arrivals of \`empty\` 2 instead of 1`.
    pub words: String,
    /// The outcome for the changed kernel: proved, or bounded.
    pub outcome: Outcome,
    /// The change to each statement; none for another value of a parameter.
    pub edits: Vec<Edit>,
}

/// The report of a search for repairs.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairReport {
    /// The first change that holds.
    pub found: Option<Suggestion>,
    /// Number of changes tried.
    pub tried: usize,
    /// Whether more changes exist than were tried.
    pub limited: bool,
    /// The first change that is clean in a short run and was not decided, in words.
    pub undecided: Option<String>,
}

/// Largest number of changes tried, in one short run each.
const TRIED: usize = 1500;
/// Largest number of clean changes that are verified.
const VERIFIED: usize = 32;
/// Number of changes that run at a time. The number is fixed, so that the result does not depend on the number of
/// threads.
const RUN_AT_ONCE: usize = 64;

/// One change and the kernel that it makes.
enum Candidate<'a> {
    Value(&'a Value),
    Edits(Vec<Edit>),
}

/// Looks for the smallest change with which the kernel holds. `broken` is the kernel at the violation's trip count. The
/// search ends when it has taken `steps`.
pub fn suggest(
    (given, broken): (&Program, &Program),
    rules: Rules,
    violation: &Violation,
    values: &[Value],
    allowed: Allowed<'_>,
    steps: &mut TrialSteps,
) -> RepairReport {
    let mut all: Vec<Candidate<'_>> =
        list::candidates(given, broken, violation).into_iter().map(Candidate::Edits).collect();
    // Another number of stages is a larger change than another number in a statement, and smaller than a new barrier.
    let small = all.iter().take_while(|c| matches!(c, Candidate::Edits(e) if list::is_operand(&e[0].change))).count();
    all.splice(small..small, values.iter().map(Candidate::Value));
    let mut limited = all.len() > TRIED;
    all.truncate(TRIED);
    let in_a_run = steps.of_a_run();
    let once = |p: &Program| {
        let (cluster, budget) = (violation.cluster, &Budget::new(&in_a_run));
        let run = CanonicalRun::new(ClassRun::of_cluster(p, rules, cluster, in_a_run, budget).job(p));
        let bytes = run.world.bytes();
        (clean(run), budget.used(), bytes)
    };
    let made = |c: &Candidate<'_>, p: &Program| match c {
        Candidate::Edits(e) => apply(e, p).filter(|q| q != p),
        Candidate::Value(_) => None,
    };
    let passes = |c: &Candidate<'_>| {
        let p = match (c, violation.trips) {
            (Candidate::Value(v), Some(n)) => Trips::find(&v.given).and_then(|t| t.at(n)),
            (Candidate::Value(v), None) => Some(v.given.bind()),
            (c, _) => made(c, broken).filter(|p| allowed(p)),
        };
        p.map_or((false, 0, 0), |p| once(&p))
    };
    let (mut tried, mut left) = (0, Vec::new());
    for some in all.chunks(RUN_AT_ONCE) {
        if !steps.runs_remain() {
            limited = true;
            break;
        }
        let done: Vec<(bool, u64, u64)> = some.par_iter().map(passes).collect();
        tried += some.len();
        steps.take_runs(done.iter().map(|(_, used, bytes)| steps.of_world(*used, *bytes)).sum());
        left.extend(some.iter().zip(done).filter_map(|(c, (clean, ..))| clean.then_some(c)));
    }
    let described = |c: &Candidate<'_>| match c {
        Candidate::Value(v) => v.words.clone(),
        Candidate::Edits(e) => words(e),
    };
    let decided = |c: &&Candidate<'_>, limits: Options| {
        let changed = match c {
            Candidate::Value(v) => v.given.clone(),
            Candidate::Edits(e) => apply(e, given)?,
        };
        let (verdict, used) = counted(&changed, rules, limits);
        let edits = match c {
            Candidate::Value(_) => Vec::new(),
            Candidate::Edits(e) => e.clone(),
        };
        Some((Suggestion { words: described(c), outcome: verdict.outcome, edits }, used))
    };
    let (mut bounded, mut undecided) = (None, None);
    for some in left.chunks(steps.at_once()).take(VERIFIED / steps.at_once()) {
        let Some(limits) = steps.of_a_proof() else {
            limited = true;
            undecided = undecided.or_else(|| some.first().map(|c| described(c)));
            break;
        };
        let done: Vec<Option<(Suggestion, u64)>> = some.par_iter().map(|c| decided(c, limits)).collect();
        steps.take(done.iter().flatten().map(|(_, used)| used).sum());
        for (s, _) in done.into_iter().flatten() {
            match s.outcome {
                Outcome::Proved => return RepairReport { found: Some(s), tried, limited, undecided },
                Outcome::Bounded { .. } => bounded = bounded.or(Some(s)),
                Outcome::GaveUp { .. } => undecided = undecided.or(Some(s.words)),
                _ => {}
            }
        }
        // Where nothing could be proved before, nothing will be: the kernel has a part that is not proved.
        if bounded.is_some() && given.symbols.is_empty() {
            break;
        }
    }
    let limited = limited || left.len() > VERIFIED;
    RepairReport { found: bounded, tried, limited, undecided }
}

/// Changes in words.
fn words(edits: &[Edit]) -> String {
    edits.iter().map(|e| e.words.as_str()).collect::<Vec<_>>().join("; and ")
}

/// The kernel with all of these changes.
fn apply(edits: &[Edit], prog: &Program) -> Option<Program> {
    edits.iter().try_fold(prog.clone(), |p, e| e.apply(&p).ok())
}

/// Whether a run has no finding. The first fault ends the run, since a changed kernel may run without end.
fn clean(mut walk: CanonicalRun<'_>) -> bool {
    let mut notes = 0;
    loop {
        let made = walk.next();
        let new = &walk.world.findings()[notes..];
        if new.iter().any(|f| !f.note) || walk.world.unordered().is_some() {
            return false;
        }
        notes += new.len();
        if let StepOutcome::RunEnded(end) = made {
            return end == RunEnd::Finished;
        }
    }
}
