//! Base cases: trip counts and launches that are run one by one.
//!
//! A trip count, or a number of jobs, can set the size of the grid. The classes are those of the given grid. A base case
//! with another grid is decided for all classes of its own grid.

use std::collections::BTreeSet;

use warpline_sim::ir::Program;

use crate::cta::class_run::ClassRun;
use crate::cta::many_turns::farthest_constant;
use crate::cta::singled_out::singled_out;
use crate::induction::grid_size::SizeReads;
use crate::induction::row_classes::some_trips;
use crate::prove::{Stop, every_class};
use crate::{AtTrips, AtTurns, Place, Verdict};

/// Trip counts tried one by one before anything else, so that a fault is shown at its smallest.
pub(super) const SHORT: i64 = 12;
/// Base cases that are run side by side.
pub(super) const SIDE_BY_SIDE: usize = 4;

/// The grids of base cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grids {
    /// All have the given grid.
    Given,
    /// Some have another one.
    Other,
}

/// Runs trip counts one by one.
pub(super) fn base_cases(
    run: &ClassRun<'_>,
    (at, turned): (AtTrips<'_>, Option<AtTurns<'_>>),
    class: &str,
    v: &mut Verdict,
    all: std::ops::RangeInclusive<i64>,
) -> Result<Grids, Stop> {
    let of = |n: &i64| {
        let prog = at(*n).filter(|prog| run.has_given_grid(prog))?;
        // The grid says how many turns these are; a fault is shown at the fewest.
        let other = prog.hands_out() && (turned.is_some() || prog.grid.len() != run.given.grid.len());
        let turns = other.then(|| prog.grid.len() - run.cluster);
        Some((Place { trips: Some(*n), turns, jobs: None }, prog))
    };
    let all: Vec<i64> = all.collect();
    let mut grids = Grids::Given;
    for (i, few) in all.chunks(SIDE_BY_SIDE).enumerate() {
        // A fault is mostly one of few steps.
        let rest = &all[SIDE_BY_SIDE.min(all.len())..];
        if i == 1 && together(run, (rest, at, &of), class, v)? {
            break;
        }
        for (n, prog) in few.iter().filter_map(|n| Some((*n, at(*n)?))).filter(|(_, prog)| !run.has_given_grid(prog)) {
            grids = Grids::Other;
            if run.other_grids {
                let place = Place { trips: Some(n), ..Place::default() };
                every_class(&prog, (run.rules, run.budget), run.options, place, v)?;
            }
        }
        for (place, prog, case) in run.cases(few, of) {
            let taken = run.taken_case(v, &prog, case, place, class);
            let handed = turned.filter(|_| prog.hands_out());
            if let (Some(turned), Some(all), Err(Stop::Outcome(_))) = (handed, place.turns, &taken) {
                let n = place.trips.unwrap_or(0);
                for (t, prog) in (1..all).filter_map(|t| Some((t, turned(n, t)?))) {
                    run.check(v, &prog, Place { turns: Some(t), ..place }, class)?;
                }
            }
            taken?;
        }
    }
    Ok(grids)
}

/// Runs trip counts that share one run while they make the same steps. Returns whether all of them are right, and decided.
fn together(
    run: &ClassRun<'_>,
    (all, at, of): (&[i64], AtTrips<'_>, impl Fn(&i64) -> Option<(Place, Program)>),
    class: &str,
    v: &mut Verdict,
) -> Result<bool, Stop> {
    if all.iter().any(|n| at(*n).is_some_and(|prog| !run.has_given_grid(&prog))) {
        return Ok(false);
    }
    let cases: Vec<(Place, Program)> = all.iter().filter_map(of).collect();
    let Some(seen) = run.cases_together(&cases) else { return Ok(false) };
    for ((place, prog), seen) in cases.iter().zip(&seen) {
        run.taken(v, prog, seen, *place, class)?;
    }
    Ok(true)
}

/// Runs launches of fewer jobs than CTAs, which have a smaller grid, if the code reads its size. Returns why they are
/// not decided, if they are not.
pub(super) fn smaller_grids(
    run: &ClassRun<'_>,
    jobs: AtTurns<'_>,
    reads: SizeReads,
    v: &mut Verdict,
) -> Result<Option<String>, Stop> {
    let ctas = run.given.grid.len();
    let smaller = |n: i64, j: i64| jobs(n, j).filter(|prog| !run.has_given_grid(prog));
    if reads == SizeReads::Steps || some_trips(|n| smaller(n, 1)).is_none() {
        return Ok(None);
    }
    let some = BTreeSet::from([1, 2, 3, ctas / 2, ctas - 2, ctas - 1]);
    for n in 0..=run.options.max_trips.min(SHORT) {
        for (j, prog) in some.range(1..ctas).filter_map(|j| Some((*j, smaller(n, *j)?))) {
            let place = Place { trips: Some(n), turns: None, jobs: Some(j) };
            every_class(&prog, (run.rules, run.budget), run.options, place, v)?;
        }
    }
    Ok(match reads {
        SizeReads::Decides(line) => Some(format!(
            "line {line} reads the number of jobs, and not all launches of fewer jobs than CTAs were checked"
        )),
        SizeReads::Steps | SizeReads::Sum(_) => None,
    })
}

/// Number of trip counts of the launches of [`uneven_launches`], the first that the kernel accepts.
const UNEVEN_TRIPS: usize = 3;
/// Largest grid for which each number of jobs between one and two for each CTA is run.
const SMALL_GRID: i64 = 16;

/// Jobs of each CTA, up to which numbers of jobs that the text singles out are searched.
const SINGLED_OUT_TURNS: i64 = 8;

/// Runs launches with two jobs for some CTAs and one for the others, for all CTAs. The number of jobs also sets the ends
/// of matrices where the code does not read it. How far a block is from the end depends only on the CTA's last job.
/// `own` numbers of jobs also run, and those that a condition of the text singles out.
pub(super) fn uneven_launches(run: &ClassRun<'_>, jobs: AtTurns<'_>, own: &[i64], v: &mut Verdict) -> Result<(), Stop> {
    if !run.other_grids {
        return Ok(());
    }
    let ctas = run.given.grid.len();
    let more: BTreeSet<i64> =
        if ctas <= SMALL_GRID { (1..ctas).collect() } else { BTreeSet::from([1, 2, 3, ctas / 2, ctas - 2, ctas - 1]) };
    let more: BTreeSet<i64> = more.into_iter().map(|j| ctas + j).chain(own.iter().copied()).collect();
    let trips = (0..=run.options.max_trips).filter(|n| more.iter().any(|j| jobs(*n, *j).is_some()));
    let turns = if ctas <= SMALL_GRID { SINGLED_OUT_TURNS } else { 2 };
    let farthest = (farthest_constant(run.given) + 2).max(turns * ctas);
    for n in trips.take(UNEVEN_TRIPS) {
        let other = singled_out(|j| jobs(n, j).filter(|_| j % ctas > 0), ctas..=farthest);
        let all: BTreeSet<i64> = more.iter().copied().chain(other).collect();
        let launches = all.iter().filter_map(|j| Some((*j, jobs(n, *j)?)));
        for (j, prog) in launches.filter(|(_, prog)| run.has_given_grid(prog)) {
            let place = Place { trips: Some(n), turns: None, jobs: Some(j) };
            every_class(&prog, (run.rules, run.budget), run.options, place, v)?;
        }
    }
    Ok(())
}
