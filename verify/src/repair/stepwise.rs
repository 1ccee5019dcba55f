//! Repairs of several mistakes: one change after another.
//!
//! Where no single change helps, a change is taken that removes faults of one run and adds none. The search goes on from
//! there until the run has no fault. Only then the kernel is verified.

use rayon::prelude::*;
use warpline_sim::code::Code;
use warpline_sim::ir::{Program, Site};
use warpline_sim::protocol::Rules;
use warpline_sim::report::Finding;

use super::{Allowed, RUN_AT_ONCE, RepairReport, Suggestion, TrialSteps, list, words};
use crate::budget::Budget;
use crate::cta::class_run::ClassRun;
use crate::execution::canonical::{self, RunEnd};
use crate::mutation::Change;
use crate::{Edit, Trips, Violation};

/// Largest number of changes that repair a kernel together.
const CHANGES: usize = 4;
/// Largest number of changes that are tried as the next one.
const TRIED: usize = 1024;

/// A fault, wherever changes move its statement.
type Place = (Code, Site, Option<Site>);

/// Looks for up to four changes with which the kernel holds. `broken` is the kernel at the violation's trip count.
/// For a compiled kernel, whose verdict is to come soon, nothing is tried.
pub fn suggest_several(
    (given, broken): (&Program, &Program),
    rules: Rules,
    violation: &Violation,
    allowed: Allowed<'_>,
    steps: &mut TrialSteps,
) -> RepairReport {
    let mut report = RepairReport { found: None, tried: 0, limited: false, undecided: None };
    if given.opaque_globals {
        return report;
    }
    let in_a_run = steps.of_a_run();
    let faults = |p: &Program| {
        let budget = &Budget::new(&in_a_run);
        let seen = canonical::run(ClassRun::of_cluster(p, rules, violation.cluster, in_a_run, budget).job(p));
        let faults: Vec<Finding> = seen.findings.into_iter().filter(|f| !f.note).collect();
        let left = match seen.end {
            RunEnd::Finished => Some(Left { hangs: false, faults }),
            RunEnd::Hung(_) => Some(Left { hangs: true, faults }),
            RunEnd::Broken | RunEnd::Limit(_) => None,
        };
        (left, budget.used())
    };
    let mut trial =
        Trial { given: given.clone(), broken: broken.clone(), violation: violation.clone(), left: Left::default() };
    let mut edits: Vec<Edit> = Vec::new();
    loop {
        let (Some(left), _) = faults(&trial.broken) else { return report };
        // The kernel has a fault that this run does not show, so no change can be judged by it.
        if !left.hangs && left.faults.is_empty() {
            return report;
        }
        trial.left = left;
        while trial.left.hangs || !trial.left.faults.is_empty() {
            let (next, tried) = trial.best_change(&faults, allowed, steps);
            report.tried += tried;
            let Some((edit, next)) = next.filter(|_| edits.len() < CHANGES) else { return report };
            edits.push(edit);
            trial = next;
        }
        let Some(verdict) = steps.verify(&trial.given, rules) else { return report };
        if verdict.holds() {
            report.found = Some(Suggestion { words: words(&edits), outcome: verdict.outcome, edits });
            return report;
        }
        // Other trip counts have other faults.
        let Some(next) = verdict.violation.and_then(|x| trial.at_fault(x)) else { return report };
        trial = next;
    }
}

/// What is wrong with a run.
#[derive(Clone, Debug, Default)]
struct Left {
    hangs: bool,
    faults: Vec<Finding>,
}

/// A kernel on the way to its repair.
struct Trial {
    given: Program,
    /// The kernel at the violation's trip count.
    broken: Program,
    violation: Violation,
    left: Left,
}

impl Trial {
    /// The kernel at the trip count of another violation.
    fn at_fault(&self, violation: Violation) -> Option<Trial> {
        let broken = match violation.trips {
            Some(_) => violation.kernel(&Trips::find(&self.given)?)?.bind(),
            None if violation.lengths.is_empty() => self.given.bind(),
            None => return None,
        };
        Some(Trial { given: self.given.clone(), broken, violation, left: Left::default() })
    }

    /// The change that leaves the fewest faults and adds none, with the number of changes that were tried. Behind a hang,
    /// there may be faults that no run has reached.
    fn best_change(
        &self,
        faults: &(impl Fn(&Program) -> (Option<Left>, u64) + Sync),
        allowed: Allowed<'_>,
        steps: &mut TrialSteps,
    ) -> (Option<(Edit, Trial)>, usize) {
        let all = list::candidates(&self.given, &self.broken, &self.violation).into_iter();
        let single = all.filter_map(|e| <[Edit; 1]>::try_from(e).ok().map(|[e]| e));
        let single: Vec<Edit> = single.filter(|e| e.change != Change::Drop).take(TRIED).collect();
        let known = places(&self.broken, &self.left.faults);
        let next = |e: &Edit| {
            let Some(p) = e.apply(&self.broken).ok().filter(|p| *p != self.broken && allowed(p)) else {
                return (None, 0);
            };
            let (left, used) = faults(&p);
            let fewer = |left: &Left| match (self.left.hangs, left.hangs) {
                (true, hangs) => !hangs,
                (false, true) => false,
                (false, false) => {
                    let places = places(&p, &left.faults);
                    places.len() < known.len() && places.iter().all(|x| known.contains(x))
                }
            };
            (left.filter(fewer).map(|left| (e.clone(), p, left)), used)
        };
        let (mut best, mut tried): (Option<(Edit, Program, Left)>, usize) = (None, 0);
        for some in single.chunks(RUN_AT_ONCE) {
            if !steps.runs_remain() {
                break;
            }
            let done: Vec<_> = some.par_iter().map(next).collect();
            tried += some.len();
            steps.take_runs(done.iter().map(|(_, used)| used).sum());
            for found in done.into_iter().filter_map(|(next, _)| next) {
                if best.as_ref().is_none_or(|(.., least)| found.2.faults.len() < least.faults.len()) {
                    best = Some(found);
                }
            }
        }
        let changed = best.and_then(|(edit, broken, left)| {
            // No change is taken with which the run still hangs.
            let violation = Violation { findings: left.faults.clone(), hang: Vec::new(), ..self.violation.clone() };
            Some((edit.clone(), Trial { given: edit.apply(&self.given).ok()?, broken, violation, left }))
        });
        (changed, tried)
    }
}

/// The places of faults, each once.
fn places(p: &Program, faults: &[Finding]) -> Vec<Place> {
    let site = |s: u32| p.sites[s as usize].clone();
    let mut list: Vec<Place> = Vec::new();
    for f in faults {
        let place = (f.code, site(f.site), f.other.as_ref().map(|o| site(o.0)));
        if !list.contains(&place) {
            list.push(place);
        }
    }
    list
}
