//! Runs of many iterations of one of two nested loops, and few of the other. They find a fault in one of many iterations
//! before an induction does, or where none holds.

use warpline_sim::ir::{Expr, Program, each};

use crate::cta::base_cases::SHORT;
use crate::cta::class::{FARTHEST, TRIED};
use crate::cta::class_run::ClassRun;
use crate::cta::singled_out::{is_comparison, singled_out};
use crate::induction::outer_turns;
use crate::prove::Stop;
use crate::{AtTurns, Place, Verdict};

/// Trip counts up to which all given outer iterations run before those of every number are decided.
pub(super) const FEW_TRIPS: i64 = 2;
/// Outer iterations of the runs with many steps.
const FEW_TURNS: i64 = 2;

/// Runs many outer iterations of few steps, and few of many steps, before the search for an induction: so many that all
/// comparisons with constants of the text change.
pub(super) fn many_turns(run: &ClassRun<'_>, at: AtTurns<'_>, class: &str, v: &mut Verdict) -> Result<(), Stop> {
    let many = TRIED.max(farthest_constant(run.given) + 2).min(run.options.max_trips);
    (0..=FEW_TRIPS).try_for_each(|n| until(run, |t| Some((n, t, at(n, t)?)), many, class, v))?;
    (1..=FEW_TURNS).try_for_each(|t| until(run, |n| Some((n, t, at(n, t)?)), many, class, v))
}

/// Runs more outer iterations where no induction over them holds: enough for all numbers to recur. A fault in one of
/// many outer iterations appears in no other.
pub(super) fn later_turns(run: &ClassRun<'_>, at: AtTurns<'_>, class: &str, v: &mut Verdict) -> Result<(), Stop> {
    for n in 0..=SHORT {
        let line = |t| at(n, t);
        let Some(turns) = outer_turns::recurs(&run.turning(), &line).map(|recurs| 2 * recurs) else { continue };
        until(run, |t| Some((n, t, at(n, t)?)), turns, class, v)?;
    }
    Ok(())
}

/// Runs the last kernel of a list and, if it has a fault, the list up to the first that has one. Otherwise, runs the
/// kernels that a condition of the text singles out.
fn until(
    run: &ClassRun<'_>,
    at: impl Fn(i64) -> Option<(i64, i64, Program)>,
    last: i64,
    class: &str,
    v: &mut Verdict,
) -> Result<(), Stop> {
    let kernel = |i: i64| at(i).filter(|(.., prog)| run.has_given_grid(prog));
    let some: Vec<i64> = if kernel(last).is_some_and(|(.., prog)| run.once(&prog).fails()) {
        (0..=last).collect()
    } else {
        singled_out(|i| kernel(i).map(|(.., prog)| prog), 0..=last)
    };
    for (n, t, prog) in some.into_iter().filter_map(kernel) {
        let seen = run.once(&prog);
        if seen.fails() {
            run.taken(v, &prog, &seen, Place { trips: Some(n), turns: Some(t), jobs: None }, class)?;
        }
    }
    Ok(())
}

/// The largest constant that a condition of the text compares a number with, below the largest trip count that is tried.
pub(super) fn farthest_constant(prog: &Program) -> i64 {
    let mut farthest = 0;
    for i in &prog.code {
        each(prog, i, &mut |_, e| {
            e.visit(&mut |x| {
                if let Expr::Binary(_, pair) = x
                    && is_comparison(x)
                {
                    let constants = [pair.0.constant(), pair.1.constant()].into_iter().flatten();
                    farthest = constants.filter(|c| *c < FARTHEST).fold(farthest, i64::max);
                }
            });
        });
    }
    farthest
}
