//! Proof for jobs of any length: few states between jobs suffice.
//!
//! ```text
//!            1 step                   a class      states between jobs that are equal up to a shift
//!          ┌────────┐  0, 2 steps     an edge      a job of some length, from a class to a class
//!          ▼        │ ┌──────┐        a shift      a state reached by an edge, against the first state of its class
//!   start ─▶ class A ─┘      ▼
//!              ▲        class B ─▶ end
//!              └─────────────┘  any length
//! ```
//!
//! Agents meet between jobs: no agent starts a job while another one can proceed in the job before. The search starts
//! with the state before the first job, and lets a job of each length follow each class. Lengths from some number on
//! lead to the class that a length of one period less leads to (lemma 5). Every state reached is the first one of its
//! class but for a shift. For each shift, both states make each job side by side, and end side by side: no decision
//! depends on the shift (lemma 16).

use std::sync::Arc;

use rayon::prelude::*;
use warpline_sim::report::{Finding, Waiting};

use crate::AtTurns;
use crate::cta::class_run::ClassRun;
use crate::execution::canonical::{CanonicalRun, RunEnd, StepOutcome};
use crate::induction::carry_over::{self, Proof};
use crate::induction::jobs::compare::{Between, ONE_JOB, Pair, ends_elsewhere, shifted, together};
use crate::induction::jobs::kernels::{Kernel, Kernels};
use crate::induction::jobs::merging::Merging;
use crate::induction::jobs::shifts::{Shift, Shifts};
use crate::induction::lockstep::Reached;
use crate::induction::shift_invariance;

/// Largest number of classes.
const CLASSES: usize = 600;
/// Largest number of shifts of one class.
const SHIFTS: usize = 256;
/// Periods by which the induction over a job's length is started later, at most.
const LATER: i64 = 4;
/// Jobs of a CTA that are run in every order of a few lengths.
const ORDERED: i64 = 3;
/// These lengths, beyond the least one: few steps, and more than most rings have slots.
const LENGTHS: [i64; 5] = [0, 1, 2, 3, 9];
/// Outer iterations of the runs that suggest the period of a job's length.
const TURNS: i64 = 2;

/// How many times the search starts again with fewer states taken for one.
const ROUNDS: usize = 3;

/// Steps of agents, estimated, after which no more states are looked at.
const WORK: u64 = 16_000_000;
/// Compared runs for each run of the cell, in steps: of a job of each length, and of a shift.
const OF_JOBS: u64 = 4;
const OF_SHIFT: u64 = 2;

/// Why jobs of any length are not proved.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The reason.
    Undecided(String),
    /// Jobs of some lengths, one after the other, have faults.
    Faults(Faults),
    /// A number distinguishes CTAs of the cell.
    CtasDiffer,
}

/// Faults of jobs of these lengths, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    pub(crate) lengths: Vec<i64>,
    pub(crate) findings: Vec<Finding>,
    /// The waits of agents, where the run hangs.
    pub(crate) hang: Vec<Waiting>,
}

impl From<String> for Failure {
    fn from(why: String) -> Failure {
        Failure::Undecided(why)
    }
}

/// States between jobs that are equal up to a shift.
struct Class<'p> {
    first: Between<'p>,
    /// The lengths of the jobs before the first of these states.
    lengths: Vec<i64>,
    /// A run of the same jobs for the whole cell.
    cell: CanonicalRun<'p>,
    /// The induction over the length of the next job.
    line: Proof,
    /// The classes that jobs of each length below `line.needs()` lead to.
    next: Vec<usize>,
    /// Steps of the cell's runs of these jobs.
    steps: u64,
    shifts: Shifts,
}

/// What the proof is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// The period of lengths.
    pub(crate) period: i64,
    /// Steps of agents in base cases.
    pub(crate) steps: u64,
}

/// Proves jobs of any length, in any order of lengths. If `own`, the kernel can have each of these lengths, and faults of
/// a few orders are looked for first.
pub(crate) fn find(run: &ClassRun<'_>, at: AtTurns<'_>, own: bool) -> Result<Found, Failure> {
    let kernels = Kernels::of(at)?;
    let turning = run.turning();
    if own {
        let any = Proof { first: 1, period: 1 };
        match Search::new(&turning, &kernels, any, (Merging::MOST, 0)).orders() {
            // Larger numbers may be too many.
            Ok(()) | Err(Failure::Undecided(_)) => {}
            Err(failed) => return Err(failed),
        }
    }
    if !run.longer_periods {
        return Err("other CTAs are not proved either".to_string().into());
    }
    let rotated = turning.rotating();
    let mut failed = None;
    for way in rotated.iter().chain([&turning]) {
        match in_order(way, &kernels, at) {
            Err(Failure::Undecided(why)) => failed = failed.or(Some(why)),
            decided => return decided,
        }
    }
    Err(failed.map_or(Failure::CtasDiffer, Failure::Undecided))
}

fn in_order(run: &ClassRun<'_>, kernels: &Kernels<'_>, at: AtTurns<'_>) -> Result<Found, Failure> {
    let few = |n| at(n, TURNS);
    let line = carry_over::period(run, &few, run.options.max_trips)?;
    let mut merging = Merging::MOST;
    let mut tried = Err(Failure::CtasDiffer);
    let mut work = 0;
    for _ in 0..ROUNDS {
        let mut search = Search::new(run, kernels, line, (merging, work));
        tried = search.all().map(|()| Found { period: line.period, steps: search.steps });
        let next = search.learned;
        work = search.work;
        // A comparison with a constant that changes again and again is not of the number of jobs.
        let again = next.from > merging.from && merging.from > Merging::MOST.from;
        if tried.is_ok() || next == merging || again || !next.is_small() {
            break;
        }
        merging = next;
    }
    tried
}

struct Search<'p, 'a> {
    run: &'p ClassRun<'p>,
    kernels: &'p Kernels<'a>,
    classes: Vec<Class<'p>>,
    /// Pairs of states of a class whose shift is to be checked.
    open: Vec<Pair<'p>>,
    /// The induction over lengths that is tried first.
    line: Proof,
    merging: Merging,
    /// What failed comparisons ask for.
    learned: Merging,
    steps: u64,
    /// Steps of all runs, estimated from those of the cell.
    work: u64,
}

impl<'p, 'a> Search<'p, 'a> {
    /// A search with this much work done before.
    fn new(run: &'p ClassRun<'p>, kernels: &'p Kernels<'a>, line: Proof, (merging, work): (Merging, u64)) -> Self {
        let (classes, open) = (Vec::new(), Vec::new());
        Search { run, kernels, classes, open, line, merging, learned: merging, steps: 0, work }
    }

    /// Takes steps from the limit of this search.
    fn take(&mut self, steps: u64) -> Result<(), String> {
        self.work += steps;
        if self.work > WORK { Err("jobs of different lengths take too many steps".into()) } else { Ok(()) }
    }

    fn all(&mut self) -> Result<(), Failure> {
        self.start()?;
        let mut next = 0;
        while next < self.classes.len() {
            self.jobs_from(next)?;
            next += 1;
        }
        if self.run.ctas_differ() {
            return Err(Failure::CtasDiffer);
        }
        self.shifts()
    }

    /// The state before the first job.
    fn start(&mut self) -> Result<(), Failure> {
        let least = self.kernels.least;
        let (two, three) = (self.kernels.at(least, 2)?, self.kernels.at(least, 3)?);
        let start = |kernel: &'p Kernel| CanonicalRun::new(self.run.job(&kernel.refined)).pausing();
        let first = together(Reached::abreast(vec![start(two), start(three)]))?.swap_remove(0);
        let cell = |kernel: &'p Kernel| CanonicalRun::new(self.run.base(&kernel.own)).pausing();
        // A launch without a job may have no CTA.
        if let Ok(none) = self.kernels.at(least, 0) {
            self.no_job(cell(none))?;
        }
        let one = self.kernels.at(least, ONE_JOB)?;
        let mut alone = start(one);
        self.run_to_next(&mut alone, &[])?;
        let mut alone_in_cell = cell(one);
        self.run_to_next(&mut alone_in_cell, &[])?;
        self.one_job(&alone, &alone_in_cell)?;
        let mut cell = cell(two);
        self.run_to_next(&mut cell, &[])?;
        self.class_of(Between::of(first, 0), cell, Vec::new())?;
        Ok(())
    }

    /// Decides launches of one job for each CTA.
    fn one_job(&mut self, first: &CanonicalRun<'p>, cell: &CanonicalRun<'p>) -> Result<(), Failure> {
        let kernels = self.kernels;
        let job = |n| {
            let kernel = kernels.at(n, ONE_JOB)?;
            first.continued_by(&kernel.refined).zip(cell.continued_by(&kernel.own)).ok_or_else(ends_elsewhere)
        };
        let line = self.line_by(|n, period| {
            let runs = together(Reached::start(vec![job(n - period)?.0, job(n)?.0]))?;
            Reached::abreast(runs.into_iter().map(|(run, _)| run).collect()).run_to_end()
        })?;
        for n in kernels.least..line.needs() {
            let mut cell = job(n)?.1;
            self.run_to_next(&mut cell, &[n])?;
            self.finish(cell, &[n])?;
        }
        Ok(())
    }

    /// The class of a state, with the shift against its first state; a new class if there is none. The state of the whole
    /// cell also says how each number depends on the CTA.
    fn class_of(&mut self, state: Between<'p>, cell: CanonicalRun<'p>, lengths: Vec<i64>) -> Result<usize, Failure> {
        let (outline, merging) = (state.run.outline(), self.merging);
        let like = |class: &Class<'_>| {
            merging.may(class.first.jobs, state.jobs)
                && class.first.run.outline() == outline
                && shift_invariance::states(&[&class.first.state, &state.state])
                && class.cell.world.places_alike(&cell.world)
        };
        if let Some(at) = self.classes.iter().position(like) {
            let first = self.classes[at].first.clone();
            self.open.push((at, first, state));
            return Ok(at);
        }
        if self.classes.len() == CLASSES {
            return Err("jobs of different lengths lead to many states".to_string().into());
        }
        let (line, shifts) = (self.line, Shifts::default());
        self.classes.push(Class { first: state, lengths, cell, line, next: Vec::new(), steps: 0, shifts });
        Ok(self.classes.len() - 1)
    }

    /// Lets a job of each length follow the first state of a class.
    fn jobs_from(&mut self, class: usize) -> Result<(), Failure> {
        let (kernels, before) = (self.kernels, self.steps);
        let Class { first, lengths, cell, .. } = &self.classes[class];
        let (first, lengths, cell) = (first.clone(), lengths.clone(), cell.clone());
        let line = self.line_by(|n, period| {
            let runs = vec![first.job(kernels, n - period, 1)?, first.job(kernels, n, 1)?];
            together(Reached::start(runs)).map(drop)
        })?;
        self.classes[class].line = line;
        // The number of jobs left decides nothing.
        let all = kernels.least..line.needs();
        let runs = all.clone().map(|n| Ok(vec![first.job(kernels, n, 1)?, first.job(kernels, n, 2)?]));
        let runs = runs.collect::<Result<Vec<_>, String>>()?;
        let jobs = first.jobs + 1;
        let of = |runs| Ok(Between::of(together(Reached::abreast(runs))?.swap_remove(0), jobs));
        let after: Vec<Result<Between<'p>, String>> = runs.into_par_iter().map(of).collect();
        let after: Vec<Between<'p>> = after.into_iter().collect::<Result<_, _>>()?;
        for (n, state) in all.zip(&after) {
            let then = [lengths.as_slice(), &[n]].concat();
            let by = |jobs| cell.continued_by(&kernels.at(n, jobs)?.own).ok_or_else(ends_elsewhere);
            if first.jobs >= ONE_JOB {
                let mut ends = by(first.jobs + 1)?;
                self.run_to_next(&mut ends, &then)?;
                self.finish(ends, &then)?;
            }
            let mut goes_on = by(first.jobs + 2)?;
            self.run_to_next(&mut goes_on, &[then.as_slice(), &[n]].concat())?;
            let next = self.class_of(state.clone(), goes_on, then)?;
            self.classes[class].next.push(next);
        }
        let steps = self.steps - before;
        self.classes[class].steps = steps;
        self.take(OF_JOBS * steps)?;
        // A longer job shifts the state more, by the same for each period.
        for n in line.first..line.needs() {
            let of = |n: i64| after[(n - kernels.least) as usize].clone();
            let next = self.classes[class].next[(n - kernels.least) as usize];
            self.open.push((next, of(n - line.period), of(n)));
        }
        Ok(())
    }

    /// The induction over the length of the next job, which `carries` from a length of one period less. An early start
    /// saves base cases.
    fn line_by(&self, carries: impl Fn(i64, i64) -> Result<(), String>) -> Result<Proof, Failure> {
        let period = self.line.period;
        let mut why = String::new();
        for first in self.kernels.least + period..=self.line.later(LATER).first {
            let line = Proof { first, period };
            match (first..line.needs()).try_for_each(|n| carries(n, period)) {
                Ok(()) => return Ok(line),
                Err(failed) => why = failed,
            }
        }
        Err(why.into())
    }

    /// Checks the shifts between pairs of states of a class, and those that they lead to.
    fn shifts(&mut self) -> Result<(), Failure> {
        while !self.open.is_empty() {
            let mut new = Vec::new();
            for (class, from, to) in std::mem::take(&mut self.open) {
                let shift = Shift::of(&from.state, &to.state);
                let known = &mut self.classes[class].shifts;
                if known.cover(&shift) {
                    continue;
                }
                if known.len() == SHIFTS {
                    return Err("jobs of different lengths shift the state in many ways".to_string().into());
                }
                // If the check fails, nothing is proved.
                known.add(shift);
                self.take(OF_SHIFT * self.classes[class].steps)?;
                new.push((class, from, to));
            }
            let kernels = self.kernels;
            let new: Vec<_> = new
                .into_iter()
                .map(|(class, from, to)| (self.classes[class].line, self.classes[class].next.clone(), from, to))
                .collect();
            let learned = self.learned;
            let check = |(line, next, from, to): (Proof, Vec<usize>, Between<'p>, Between<'p>)| {
                let conditions = Arc::default();
                let pairs = shifted(kernels, (line, &next), (&from, &to), &conditions);
                pairs.map_err(|why| (why, learned.with(&conditions, (from.jobs, to.jobs))))
            };
            let checked: Vec<Result<Vec<Pair<'p>>, _>> = new.into_par_iter().map(check).collect();
            let mut failed = None;
            for pairs in checked {
                match pairs {
                    Ok(more) => self.open.extend(more),
                    Err((why, asked)) => {
                        self.learned = self.learned.and(asked);
                        failed = failed.or(Some(why));
                    }
                }
            }
            if let Some(why) = failed {
                return Err(why.into());
            }
        }
        Ok(())
    }

    /// Continues a run of the cell to the place between two jobs. Returns how the run ends if it does so before.
    fn advance(&mut self, cell: &mut CanonicalRun<'p>) -> Option<RunEnd> {
        let before = cell.steps;
        let end = loop {
            match cell.next() {
                StepOutcome::JobBegins => break None,
                StepOutcome::RunEnded(end) => break Some(end),
                _ => {}
            }
        };
        self.steps += cell.steps - before;
        end
    }

    /// Continues a run of the cell to the place between two jobs, where there is another job.
    fn run_to_next(&mut self, cell: &mut CanonicalRun<'p>, lengths: &[i64]) -> Result<(), Failure> {
        self.advance(cell).map_or(Ok(()), |end| Err(self.wrong(cell, lengths, Some(end))))
    }

    /// Runs a launch without a job. Its agents may end before the loop over jobs, as in `if jobs > 0:`.
    fn no_job(&mut self, mut cell: CanonicalRun<'p>) -> Result<(), Failure> {
        match self.advance(&mut cell) {
            None => self.finish(cell, &[]),
            Some(RunEnd::Finished) if is_clean(&cell) => Ok(()),
            end => Err(self.wrong(&cell, &[], end)),
        }
    }

    /// Continues a run of the cell to its end, after its last job.
    fn finish(&mut self, mut cell: CanonicalRun<'p>, lengths: &[i64]) -> Result<(), Failure> {
        let before = cell.steps;
        loop {
            match cell.next() {
                StepOutcome::RunEnded(RunEnd::Finished) => break,
                StepOutcome::RunEnded(end) => return Err(self.wrong(&cell, lengths, Some(end))),
                StepOutcome::JobBegins => return Err("a CTA makes more jobs than another".to_string().into()),
                _ => {}
            }
        }
        self.steps += cell.steps - before;
        if !is_clean(&cell) {
            return Err(self.wrong(&cell, lengths, None));
        }
        Ok(())
    }

    /// Runs jobs of a few lengths in every order, and returns the first faults. Each CTA makes all of these jobs.
    fn orders(&mut self) -> Result<(), Failure> {
        let (kernels, least) = (self.kernels, self.kernels.least);
        let mut start = CanonicalRun::new(self.run.base(&kernels.at(least, ORDERED)?.own)).pausing();
        self.run_to_next(&mut start, &[])?;
        let mut open = vec![(start, Vec::new())];
        while let Some((run, lengths)) = open.pop() {
            let jobs = lengths.len() as i64;
            // Each number of jobs ends with a launch of its own, and fewer jobs are other launches.
            for n in LENGTHS.map(|more| least + more) {
                let then = [lengths.as_slice(), &[n]].concat();
                let by = |jobs| run.continued_by(&kernels.at(n, jobs)?.own).ok_or_else(ends_elsewhere);
                if jobs + 1 == ORDERED {
                    let mut last = by(ORDERED)?;
                    self.run_to_next(&mut last, &then)?;
                    self.finish(last, &then)?;
                } else {
                    let mut next = by(ORDERED)?;
                    // All of the jobs that this launch has.
                    let all: Vec<i64> =
                        then.iter().copied().chain(std::iter::repeat(n)).take(ORDERED as usize).collect();
                    self.run_to_next(&mut next, &all)?;
                    open.push((next, then));
                }
            }
        }
        Ok(())
    }

    fn wrong(&self, cell: &CanonicalRun<'p>, lengths: &[i64], end: Option<RunEnd>) -> Failure {
        let hang = match end {
            Some(RunEnd::Limit(over)) => return over.to_string().into(),
            Some(RunEnd::Hung(hang)) => hang,
            _ => Vec::new(),
        };
        let findings: Vec<Finding> = cell.world.findings().iter().filter(|f| !f.note).cloned().collect();
        match cell.unordered() {
            Some(what) if findings.is_empty() => what.into(),
            None if findings.is_empty() && hang.is_empty() => "a run ends before its next job".to_string().into(),
            _ => Failure::Faults(Faults { lengths: lengths.to_vec(), findings, hang }),
        }
    }
}

/// Whether a run has no fault so far.
fn is_clean(cell: &CanonicalRun<'_>) -> bool {
    cell.world.findings().iter().all(|f| f.note) && cell.unordered().is_none()
}
