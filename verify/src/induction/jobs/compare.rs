//! Runs between two jobs, and the comparison of runs of jobs side by side.

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use warpline_sim::ir::Program;
use warpline_sim::protocol::Snapshot;

use crate::execution::canonical::CanonicalRun;
use crate::induction::carry_over::Proof;
use crate::induction::jobs::kernels::Kernels;
use crate::induction::jobs::shifts::Shift;
use crate::induction::lockstep::{Reached, StopReason, fault, launch_values_agree};
use crate::induction::shift_invariance::{self, Conditions};

/// A launch of one job for each CTA is decided by itself. It can be distinguished: `grid min(cores, jobs)`.
pub(super) const ONE_JOB: i64 = 1;
/// A run between two jobs.
#[derive(Clone)]
pub(super) struct Between<'p> {
    pub(super) run: CanonicalRun<'p>,
    /// Jobs done so far.
    pub(super) jobs: i64,
    pub(super) state: Arc<Snapshot>,
}

/// A run that has come to the place between two jobs, and its state there.
pub(super) type Paused<'p> = (CanonicalRun<'p>, Snapshot);

impl<'p> Between<'p> {
    pub(super) fn of((run, state): Paused<'p>, jobs: i64) -> Between<'p> {
        Between { run, jobs, state: Arc::new(state) }
    }

    /// The run that continues with a job of `n` steps, when `more` jobs are left.
    pub(super) fn job(&self, kernels: &'p Kernels<'_>, n: i64, more: i64) -> Result<CanonicalRun<'p>, String> {
        let kernel = kernels.at(n, self.jobs.max(ONE_JOB) + more)?;
        self.run.continued_by(&kernel.refined).ok_or_else(ends_elsewhere)
    }
}

/// Two states of a class.
pub(super) type Pair<'p> = (usize, Between<'p>, Between<'p>);

/// Checks that no decision depends on the shift between two states of a class, also where it is made any number of
/// times. Returns the pairs of states after a job of each length.
pub(super) fn shifted<'p>(
    kernels: &'p Kernels<'_>,
    (line, next): (Proof, &[usize]),
    (from, to): (&Between<'p>, &Between<'p>),
    conditions: &Arc<Mutex<Conditions>>,
) -> Result<Vec<Pair<'p>>, String> {
    let learns = |mut reached: Reached<'p>| {
        reached.conditions = conditions.clone();
        reached
    };
    let abreast = |runs: Vec<CanonicalRun<'p>>| learns(Reached::abreast(runs));
    let least = kernels.least;
    if from.jobs > ONE_JOB {
        abreast(vec![from.job(kernels, least, 0)?, to.job(kernels, least, 0)?]).run_to_end()?;
    }
    let mut pairs = Vec::new();
    for n in least..line.needs() {
        let at = next[(n - least) as usize];
        let pair = |n| Ok::<_, String>([from.job(kernels, n, 1)?, to.job(kernels, n, 1)?]);
        let after = |run, of: &Between<'p>| Between::of(run, of.jobs + 1);
        if n < line.first {
            let runs = together(abreast(pair(n)?.into()))?;
            let [a, b] = <[_; 2]>::try_from(runs).map_err(|_| "no pair")?;
            pairs.push((at, after(a, from), after(b, to)));
            continue;
        }
        let ([a, b], [c, d]) = (pair(n - line.period)?, pair(n)?);
        let runs = together(learns(Reached::start(vec![a, c, b, d])))?;
        let [a, c, b, d] = <[_; 4]>::try_from(runs).map_err(|_| "no pairs")?;
        let (a, c, b, d) = (after(a, from), after(c, from), after(b, to), after(d, to));
        // With each period more, the shift stays the same.
        if Shift::of(&a.state, &b.state) != Shift::of(&c.state, &d.state) {
            return Err("a shift between jobs grows with the length of a job".into());
        }
        pairs.push((at, c, d));
    }
    Ok(pairs)
}

pub(super) fn ends_elsewhere() -> String {
    "a matrix ends where a job stored, or jobs of other lengths have other code".into()
}

/// Steps runs together to the next place between jobs. Their states there are equal up to a shift.
pub(super) fn together(runs: Reached<'_>) -> Result<Vec<Paused<'_>>, String> {
    let programs: Vec<&Program> = runs.runs.iter().map(|run| run.world.program()).collect();
    launch_values_agree(&programs, &runs.conditions)?;
    let reached = Rc::new(runs).continue_until(None, None)?;
    if reached.stop != StopReason::GoalMet || !reached.runs.iter().all(CanonicalRun::starts_a_job) {
        return Err("the runs of jobs diverge".into());
    }
    if let Some(why) = reached.runs.iter().find_map(fault) {
        return Err(why);
    }
    let states: Vec<Snapshot> = reached.runs.iter().map(CanonicalRun::state).collect();
    let all = states.iter().collect::<Vec<_>>();
    if !shift_invariance::states(&all) {
        return Err("states between jobs differ".into());
    }
    Ok(reached.runs.into_iter().zip(states).collect())
}
