//! All trip counts of one CTA class: base cases, and an induction for each region of trip counts.

use std::sync::Arc;

use rayon::prelude::*;
use warpline_sim::ir::{Loop, Program};

use crate::certificate::{DecidedCell, TripRegion};
use crate::cta::base_cases::{Grids, SHORT, SIDE_BY_SIDE, base_cases, smaller_grids, uneven_launches};
use crate::cta::class_run::{ClassRun, Line};
use crate::cta::many_turns::{FEW_TRIPS, later_turns, many_turns};
use crate::execution::canonical::Landing;
use crate::induction::carry_over::{Failure, OTHER_GRID, Region};
use crate::induction::grid_size::size_reads;
use crate::induction::jobs::{any_length::Lengths, closure};
use crate::induction::loop_bounds;
use crate::induction::loop_counter::grown;
use crate::prove::Stop;
use crate::{
    AtTrips, AtTurns, Outcome, Place, Reach, VariedLoops, Verdict, Violation, induction::carry_over,
    induction::job_values, induction::nested_loops, induction::row_classes, induction::sequential_loops,
    induction::uneven_jobs, limits,
};

/// Trip counts that run where no proof covers all.
pub(super) const TRIED: i64 = 40;
/// Largest number of regions.
const REGIONS: usize = 24;
/// Largest region of which every trip count is run.
const SMALL: i64 = 24;
/// Largest trip count at which a region may start.
pub(super) const FARTHEST: i64 = 20_000;

/// Decides one class.
pub(crate) fn every_trip(
    run: &ClassRun<'_>,
    (at, varied): (AtTrips<'_>, VariedLoops<'_>),
    class: &str,
    v: &mut Verdict,
) -> Result<Reach, Stop> {
    let turned = varied.turns;
    let mut upto = run.options.max_trips.min(SHORT);
    // The first trip count behind which all have the given grid.
    let mut from = 0;
    if base_cases(run, (at, turned), class, v, 0..=upto)? == Grids::Other {
        let last = TRIED.min(run.options.max_trips);
        base_cases(run, (at, turned), class, v, upto + 1..=last)?;
        let other = |n: &i64| at(*n).is_some_and(|prog| !run.has_given_grid(&prog));
        from = (0..=last).rev().find(other).map_or(0, |n| n + 1);
        if from > last || turned.is_some() || varied.sequential.is_some() {
            run.check(v, run.given, Place::default(), class)?;
            return Ok(Reach::Only(Some((0, Some(last))), OTHER_GRID.into()));
        }
        upto = last;
    }
    if let Some(both) = varied.sequential {
        return sequential_loops(run, (at, both), class, v);
    }
    let around = around(run, at);
    // A run in a table of its own: it is made beside the others.
    let alone = ClassRun { place: run.place.as_ref().map(|place| Arc::new(place.afresh())), ..run.clone() };
    let decide = |v: &mut Verdict| -> Result<_, Stop> {
        let all_turns = match (turned, &around) {
            (Some(turned), Some(_)) => Some(every_turn(run, (turned, varied.jobs), class, v)?),
            _ => None,
        };
        let left = match (&all_turns, turned) {
            (Some(Ok(_)), _) => None,
            (_, Some(turned)) if run.given.hands_out() => as_many_tiles(run, turned, class, v)?,
            _ => regions(run, at, class, v, (from, upto))?.map(|(last, why)| (Some((0, Some(last))), why)),
        };
        Ok((all_turns, left))
    };
    let (decided, given) = rayon::join(|| decide(v), || (!run.given.loose).then(|| alone.case(run.given)));
    let (all_turns, left) = decided?;
    match given {
        Some(case) => run.taken_case(v, run.given, case, Place::default(), class)?,
        None if left.is_some() => run.check(v, run.given, Place::default(), class)?,
        None => {}
    }
    let all_else = match &all_turns {
        Some(Ok(more)) => more.clone(),
        _ => around.or_else(|| limits::handed(run.given)),
    };
    let more = all_turns.and_then(Result::err).map_or(String::new(), |why| format!(" ({why})"));
    Ok(match (left, all_else.or_else(|| limits::run_time(run.given))) {
        (Some((trips, why)), _) => Reach::Only(trips, why),
        (None, Some(why)) => Reach::Only(Some((0, None)), why + &more),
        (None, None) => Reach::All,
    })
}

/// Tiles that are handed out, with which trip counts are decided where turns are not: so many as the values given say, and no
/// more than these.
const FEW_TILES: i64 = 16;

/// The trip counts that are decided, none where only the values given are, and why no more.
type Undecided = (Option<(i64, Option<i64>)>, String);

/// Decides trip counts with as many tiles as were given. What is left, if anything.
fn as_many_tiles(
    run: &ClassRun<'_>,
    turned: AtTurns<'_>,
    class: &str,
    v: &mut Verdict,
) -> Result<Option<Undecided>, Stop> {
    let tiles = run.given.grid.len();
    let at = |n: i64| turned(n, tiles).filter(|prog| prog.grid == run.given.grid);
    if tiles > FEW_TILES || (0..=SHORT).all(|n| at(n).is_none()) {
        let why = format!("{tiles} tiles are handed out, and other numbers of steps were looked at with fewer");
        return Ok(Some((None, why)));
    }
    // None was run with as many.
    let left = regions(run, &at, class, v, (0, -1))?;
    Ok(left.map(|(last, why)| (Some((0, Some(last))), why)))
}

/// Decides all trip counts of two consecutive loops.
fn sequential_loops(
    run: &ClassRun<'_>,
    (at, both): (AtTrips<'_>, AtTurns<'_>),
    class: &str,
    v: &mut Verdict,
) -> Result<Reach, Stop> {
    let find = |run: &ClassRun<'_>| sequential_loops::find(run, both).map(|plane| (plane, run.landing));
    let rotated = run.rotating().and_then(|run| find(&run.turning()).or_else(|_| find(&run)).ok());
    let found = rotated.map_or_else(|| find(run), Ok).or_else(|why| in_other_orders(run, find).map_err(|_| why));
    let (upto, found) = match found {
        Ok(found) => ((found.0.first.needs(), found.0.second.needs()), Ok(found)),
        Err(why) => ((SHORT + 1, SHORT + 1), Err(why)),
    };
    let all: Vec<(i64, i64)> = (0..upto.0).flat_map(|n| (0..upto.1).map(move |t| (n, t))).collect();
    let other_grid = all.iter().any(|(n, t)| both(*n, *t).is_some_and(|prog| !run.has_given_grid(&prog)));
    let found = if other_grid { Err(OTHER_GRID.into()) } else { found };
    for few in (0..upto.0).collect::<Vec<i64>>().chunks(SIDE_BY_SIDE) {
        for line in lines_along(run, both, few, upto.1) {
            run.take_line(v, &line, class)?;
            run.is_one()?;
        }
    }
    let why = match found {
        Ok((plane, landing)) => {
            v.period = v.period.max(Some(plane.first.period));
            v.turns = v.turns.max(Some(plane.second.period));
            v.basis.push(DecidedCell::sequential(run, &plane, landing));
            None
        }
        Err(why) => Some(why),
    };
    given(run, v, class, None)?;
    let Some(why) = why else {
        return Ok(limits::run_time(run.given).map_or(Reach::All, |why| Reach::Only(Some((0, None)), why)));
    };
    let left = regions(run, at, class, v, (0, SHORT))?;
    let why = format!("not all trip counts of two consecutive loops were decided ({why})");
    Ok(Reach::Only(Some((0, left.map(|left| left.0))), why))
}

/// Base cases of some iterations of the first loop, each with all numbers of iterations of the second one below a number.
/// Those of one line are the same run up to the second loop.
fn lines_along(run: &ClassRun<'_>, at: AtTurns<'_>, few: &[i64], below: i64) -> Vec<Line> {
    let line = |n: &i64| {
        let of = |t: i64| Some((t, at(*n, t).filter(|prog| run.has_given_grid(prog))?));
        run.line(*n, (0..below).filter_map(of).collect())
    };
    few.par_iter().map(line).collect()
}

/// Decides all trip counts and outer iterations for all CTAs of a kernel that shares its jobs evenly. An error without
/// an outcome means that this does not suffice.
pub(crate) fn evenly(
    run: &ClassRun<'_>,
    (at, turned, jobs): (AtTrips<'_>, AtTurns<'_>, Option<AtTurns<'_>>),
    class: &str,
    v: &mut Verdict,
) -> Result<(), Stop> {
    if around(run, at).is_none() || limits::run_time(run.given).is_some() {
        return Err(Stop::Split);
    }
    // With the given values, some CTAs may make one outer iteration more than others. A fault of such a run is a fault
    // of that CTA.
    let alone = ClassRun { place: None, ..run.clone() };
    let upto = run.options.max_trips.min(SHORT);
    let few = upto.min(FEW_TRIPS);
    base_cases(&alone, (at, Some(turned)), class, v, 0..=few)?;
    let kept = v.clone();
    let decided = every_turn(run, (turned, jobs), class, v);
    let undecided = match &decided {
        Ok(Err(why)) if run.lengths.is_some() => Some(why.clone()),
        _ => None,
    };
    if let Ok(Ok(None)) = decided {
        return Ok(());
    }
    // A fault with the given number of outer iterations is shown before others.
    let other = std::mem::replace(v, kept);
    base_cases(&alone, (at, Some(turned)), class, v, few + 1..=upto)?;
    *v = Verdict { steps: v.steps + other.steps, ..other };
    decided?.ok();
    Err(undecided.map_or(Stop::Split, Stop::Undecided))
}

/// Decides the regions of trip counts in ascending order. Returns the last decided trip count and the reason why no
/// more were decided, if any are left.
///
/// Induction decides a region without an end. A region ends where a comparison changes its result; a new region starts
/// there. Trip counts below `from` may have other grids. They have run, like all up to `done`.
fn regions(
    run: &ClassRun<'_>,
    at: AtTrips<'_>,
    class: &str,
    v: &mut Verdict,
    (from, mut done): (i64, i64),
) -> Result<Option<(i64, String)>, Stop> {
    let mut open = vec![Region { lo: from, hi: None }];
    let mut made = 1;
    let mut parts: Vec<TripRegion> =
        (from > 0).then(|| TripRegion::cases(Region { lo: 0, hi: Some(from - 1) })).into_iter().collect();
    let mut cases = |v: &mut Verdict, lo: i64, hi: i64| {
        let from = if lo <= done { done + 1 } else { lo };
        let grids = base_cases(run, (at, None), class, v, from..=hi)?;
        done = done.max(hi);
        Ok::<Grids, Stop>(grids)
    };
    while let Some(region) = open.pop() {
        let Region { lo, hi } = region;
        if let Some(hi) = hi.filter(|hi| hi - lo < SMALL) {
            if cases(v, lo, hi)? == Grids::Other {
                return Ok(Some((hi, OTHER_GRID.into())));
            }
            parts.push(TripRegion::cases(region));
            continue;
        }
        match in_some_order(run, at, region) {
            Ok((proof, landing)) => {
                parts.push(TripRegion::induction(region, proof, landing));
                v.period = v.period.max(Some(proof.period));
                let last = proof.needs() - 1;
                let last = hi.map_or(last, |hi| hi.min(last));
                if cases(v, lo, last)? == Grids::Other {
                    return Ok(Some((last, OTHER_GRID.into())));
                }
            }
            // A fault of a compared run is a fault at its trip count.
            Err(Failure { faults, .. }) if faults.last().is_some_and(|n| *n >= lo && hi.is_none_or(|hi| *n <= hi)) => {
                let last = faults.last().copied().unwrap_or(lo);
                cases(v, lo, last)?;
                return Ok(Some((
                    last,
                    format!("the run of {last} iterations has a fault that shorter runs do not have"),
                )));
            }
            Err(Failure { crossings, .. })
                if made < REGIONS
                    && crossings.iter().any(|n| *n > lo && hi.is_none_or(|hi| *n <= hi) && *n < FARTHEST) =>
            {
                let fits = |n: &&i64| **n > lo && hi.is_none_or(|hi| **n <= hi);
                let cut = crossings.iter().find(fits).copied().unwrap_or(lo + 1);
                made += 1;
                open.push(Region { lo: cut, hi });
                open.push(Region { lo, hi: Some(cut - 1) });
            }
            Err(Failure { why, .. }) => {
                // A fault in one of many steps may appear in no run so far.
                let long = carry_over::recurs(run, at).map_or(0, |recurs| 2 * recurs);
                let need = run.options.max_trips.min(TRIED.max(long)).max(lo + SMALL);
                let need = hi.map_or(need, |hi| hi.min(need));
                cases(v, lo, need)?;
                return Ok(Some((need.max(SHORT), why)));
            }
        }
    }
    v.basis.push(DecidedCell::trips(run, parts));
    Ok(None)
}

/// Runs the given values, unless an induction or a base case covers them.
fn given(run: &ClassRun<'_>, v: &mut Verdict, class: &str, left: Option<&(i64, String)>) -> Result<(), Stop> {
    if left.is_some() || !run.given.loose { run.check(v, run.given, Place::default(), class) } else { Ok(()) }
}

/// Calls `find` for runs in the other orders.
fn in_other_orders<T, E>(run: &ClassRun<'_>, find: impl Fn(&ClassRun<'_>) -> Result<T, E>) -> Result<T, E> {
    find(&run.early()).or_else(|_| find(&run.at_once()))
}

/// The period, its start, and the order of runs that shows it; or the reason why the first order shows none.
pub(super) fn in_some_order(
    run: &ClassRun<'_>,
    at: AtTrips<'_>,
    region: Region,
) -> Result<(carry_over::Proof, Landing), Failure> {
    let find = |run: &ClassRun<'_>| carry_over::find(run, at, region).map(|proof| (proof, run.landing));
    // In another order, a comparison may also change its result elsewhere.
    find(run).or_else(|failed| {
        if !failed.crossings.is_empty() || !failed.faults.is_empty() {
            return Err(failed);
        }
        // A ring turns slot by slot where agents start iterations together.
        let rotated = || run.rotating().and_then(|run| find(&run.turning()).ok());
        in_other_orders(run, find).or_else(|_| rotated().ok_or(failed))
    })
}

/// Decides all trip counts and outer iterations of a class. Returns what is left out; the error says why nothing is
/// decided.
fn every_turn(
    run: &ClassRun<'_>,
    (at, jobs): (AtTurns<'_>, Option<AtTurns<'_>>),
    class: &str,
    v: &mut Verdict,
) -> Result<Result<Option<String>, String>, Stop> {
    many_turns(run, at, class, v)?;
    if let Some(lengths) = run.lengths {
        return jobs_of_any_length(run, (at, jobs), (class, lengths), v);
    }
    // The search for an induction costs much, and the class is split anyway.
    run.is_one()?;
    let undecided = row_classes::two_turns(at).and_then(|(a, b)| uneven_extent(run, &a, &b));
    let found = match undecided.map_or_else(|| nested_loops::find(run, at), Err) {
        Ok(found) => found,
        Err(why) => {
            later_turns(run, at, class, v)?;
            jobs.map_or(Ok(()), |jobs| uneven_launches(run, jobs, &[], v))?;
            return Ok(Err(why));
        }
    };
    let line = |(n, turns): (usize, &i64)| {
        let n = n as i64;
        let progs: Vec<(i64, Program)> = (0..*turns).filter_map(|t| Some((t, at(n, t)?))).collect();
        progs.iter().all(|(_, prog)| run.has_given_grid(prog)).then(|| run.line(n, progs))
    };
    let lines: Vec<Option<Line>> = found.turns.par_iter().enumerate().map(line).collect();
    let Some(lines) = lines.into_iter().collect::<Option<Vec<_>>>() else { return Ok(Err(OTHER_GRID.into())) };
    lines.iter().try_for_each(|line| run.take_line(v, line, class))?;
    run.is_one()?;
    v.period = v.period.max(Some(found.steps.period));
    v.turns = v.turns.max(found.period);
    v.basis.push(DecidedCell::turns(run, &found));
    uneven(run, (at, jobs), v)
}

/// The reason why numbers of jobs that are no multiple of the grid are not decided, where the extent of a matrix is one.
fn uneven_extent(run: &ClassRun<'_>, a: &Program, b: &Program) -> Option<String> {
    let why = "an extent of a matrix is no simple function of the number of jobs, and numbers that are no multiple of the grid are not \
               decided";
    (run.given.grid.len() > 1 && !uneven_jobs::even_extents(a, b)).then(|| why.into())
}

/// Decides numbers of jobs that are no multiple of the grid, once all multiples are decided. Returns what is left out.
pub(super) fn uneven(
    run: &ClassRun<'_>,
    (at, jobs): (AtTurns<'_>, Option<AtTurns<'_>>),
    v: &mut Verdict,
) -> Result<Result<Option<String>, String>, Stop> {
    let Some((a, b)) = row_classes::two_turns(at) else {
        return Ok(Ok(Some("no two launches show how CTAs share out jobs".into())));
    };
    if let Some(why) = uneven_extent(run, &a, &b) {
        return Ok(Ok(Some(why)));
    }
    if let Err(line) = row_classes::alike(&a, &b) {
        jobs.map_or(Ok(()), |jobs| uneven_launches(run, jobs, &[], v))?;
        if jobs.is_none() || !uneven_jobs::only_end_loops(run, &a, &b) {
            let why = format!("at line {line} CTAs differ in more than their number of outer iterations");
            return Ok(Ok(Some(why)));
        }
    } else if let Some(own) = job_values::own_value(&a, &b, jobs, run.given.grid.len()) {
        jobs.map_or(Ok(()), |jobs| uneven_launches(run, jobs, &own.jobs, v))?;
        return Ok(Ok(Some(format!("line {} treats some numbers of jobs in a way of its own", own.line))));
    }
    match jobs {
        Some(jobs) => Ok(Ok(smaller_grids(run, jobs, size_reads(&a, &b), v)?)),
        None => Ok(Ok(None)),
    }
}

/// Decides jobs of any length, in any order of lengths. Returns as [`every_turn`] does.
fn jobs_of_any_length(
    run: &ClassRun<'_>,
    (at, jobs): (AtTurns<'_>, Option<AtTurns<'_>>),
    (class, lengths): (&str, Lengths),
    v: &mut Verdict,
) -> Result<Result<Option<String>, String>, Stop> {
    let found = match closure::find(run, at, lengths == Lengths::All) {
        Ok(found) => found,
        Err(closure::Failure::CtasDiffer) => return Err(Stop::Split),
        Err(closure::Failure::Undecided(why)) => return Ok(Err(why)),
        Err(closure::Failure::Faults(faults)) => {
            v.violation = Some(Violation::of_jobs(faults, (class, run.cluster), run.given));
            return Err(Outcome::Violated.into());
        }
    };
    v.steps += found.steps;
    v.period = v.period.max(Some(found.period));
    uneven(run, (at, jobs), v)
}

/// A loop around the main loop whose trip count follows from the given values and is not varied.
fn around(run: &ClassRun<'_>, at: AtTrips<'_>) -> Option<String> {
    let n = run.options.max_trips.min(SHORT);
    let (short, long) = (at(n)?, at(n + 1)?);
    for (inner, _) in grown(&short, &long) {
        let around =
            |l: &&Loop| l.head <= inner.head && l.end >= inner.end && (l.head, l.end) != (inner.head, inner.end);
        if let Some(l) = short.loops.iter().find(around) {
            let line = short.site(l.head).line;
            if l.var.is_none() && short.hands_out() {
                return Some(format!(
                    "the loop at line {line} runs over tiles that are handed out, here as many as given"
                ));
            }
            // A trip count that a symbol sets is varied, or the verdict states its value. So is that of a `while` loop whose
            // exits follow from symbols.
            let stated = || !short.opaque_globals && loop_bounds::exit_parameters(&short, l).is_some();
            if l.bound.as_ref().map_or_else(|| !stated(), |b| b.is_launch_constant() && b.constant().is_none()) {
                return Some(format!(
                    "the loop at line {line} around the main loop is checked with its given trip count only"
                ));
            }
        }
    }
    None
}

/// The index of the first loop whose bound grows by one with the trip count.
pub(crate) fn main_loop(prog: &Program, next: &Program) -> Option<u16> {
    let grows = |(a, b): (&Loop, &Loop)| {
        let (x, y) = (prog.launch_value(a.bound.as_ref()?)?, next.launch_value(b.bound.as_ref()?)?);
        if y - x == 1 { a.var } else { None }
    };
    prog.loops.iter().zip(&next.loops).find_map(grows)
}

/// The trip count of the main loop, if `next` has one iteration more and is otherwise the same kernel.
pub fn trip_count(prog: &Program, next: &Program) -> Option<i64> {
    if !one_step_more(prog, next) {
        return None;
    }
    let var = main_loop(prog, next)?;
    prog.loops.iter().find(|l| l.var == Some(var)).and_then(|l| prog.launch_value(l.bound.as_ref()?))
}

/// Whether `next` is `prog` with one more iteration of some loop, and otherwise the same kernel.
pub fn one_step_more(prog: &Program, next: &Program) -> bool {
    prog.code.len() == next.code.len()
        && prog.grid == next.grid
        && prog.shared_bytes() == next.shared_bytes()
        && main_loop(prog, next).is_some()
}
