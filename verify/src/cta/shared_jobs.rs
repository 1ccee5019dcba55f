//! Kernels whose only varied loop distributes jobs among CTAs: `for row in cta.id..rows step grid.size`.
//!
//! A launch of t jobs for each CTA is one kernel for all CTAs of the grid. So one induction over t decides all launches
//! whose number of jobs is a multiple of the grid. Other numbers follow as for a loop around a main loop.
//! An induction over the number of jobs itself needs a class for each CTA, and a period of whole rounds of the grid.

use rayon::prelude::*;
use warpline_sim::ir::Program;

use crate::cta::base_cases::uneven_launches;
use crate::cta::class::{in_some_order, uneven};
use crate::cta::class_run::ClassRun;
use crate::induction::carry_over::Region;
use crate::induction::row_classes::{alike, two_turns};
use crate::induction::uneven_jobs::only_end_loops;
use crate::prove::{Stop, every_class};
use crate::{AtTrips, Place, Verdict, limits};

/// Largest grid of such a kernel: every launch of fewer jobs than CTAs is run.
const LARGEST: i64 = 1024;

/// Decides all numbers of jobs for all CTAs. An error says that this does not suffice, even if it found a fault: the
/// decision by classes shows the fault at its smallest launch.
pub(crate) fn decide(run: &ClassRun<'_>, steps: AtTrips<'_>, class: &str, v: &mut Verdict) -> Result<(), Stop> {
    let given = run.given;
    let ctas = given.grid.len();
    if !(2..=LARGEST).contains(&ctas)
        || run.options.as_written
        || given.hands_out()
        || limits::run_time(given).is_some()
    {
        return Err(Stop::Split);
    }
    let even = |t: i64| steps(t.checked_mul(ctas)?).filter(|prog| run.has_given_grid(prog));
    let at = |_: i64, t: i64| even(t);
    // The number of jobs is all that is varied.
    let jobs = |n: i64, j: i64| if n == 0 { steps(j) } else { None };
    let (a, b) = two_turns(at).ok_or(Stop::Split)?;
    if alike(&a, &b).is_err() && !only_end_loops(run, &a, &b) {
        return Err(Stop::Split);
    }
    every_class(given, (run.rules, run.budget), run.options, Place::default(), v)?;
    let (proof, _) = in_some_order(run, &even, Region::ALL).map_err(|_| Stop::Split)?;
    // A launch of some jobs with another grid is no base case of this one.
    let all: Vec<i64> = (1..proof.needs()).collect();
    if all.iter().any(|t| steps(t * ctas).is_some_and(|prog| !run.has_given_grid(&prog))) {
        return Err(Stop::Split);
    }
    let kernels: Vec<(i64, Program)> = all.iter().filter_map(|t| Some((*t, even(*t)?))).collect();
    let cases: Vec<_> = kernels.par_iter().map(|(_, prog)| run.case(prog)).collect();
    for ((t, prog), case) in kernels.iter().zip(cases) {
        run.taken_case(v, prog, case, Place { trips: Some(t * ctas), ..Place::default() }, class)?;
    }
    match uneven(run, (&at, Some(&jobs)), v)? {
        Ok(None) => {}
        Ok(Some(_)) | Err(_) => return Err(Stop::Split),
    }
    // How far a job is from the end of its matrix.
    uneven_launches(run, &jobs, &[], v)?;
    // Fewer jobs than CTAs, which may have another grid, and none.
    for (j, prog) in (0..ctas).filter_map(|j| Some((j, steps(j)?))) {
        let place = Place { trips: Some(j), ..Place::default() };
        every_class(&prog, (run.rules, run.budget), run.options, place, v)?;
    }
    v.period = v.period.max(Some(proof.period * ctas));
    v.renumbered = true;
    Ok(())
}
