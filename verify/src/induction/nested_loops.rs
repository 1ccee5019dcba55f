//! Induction over two nested loops: steps of the main loop and iterations of the outer loop. A corner of base cases
//! decides the whole plane.
//!
//! ```text
//!   turns │  line   line   square square          a line    turns carried on for one number of steps (`carry_over`)
//!         │   ⋮      ⋮       ⋮      ⋮             a pair    steps carried on for one number of turns (`self_composition`)
//!         │  line   line   square square ...      a square  both carried on, from the four kernels at its corners
//!         │  run    run    pair   pair   ...      a run     one kernel, run
//!         └──────────────────────────────── steps
//! ```
//!
//! *A square* is four runs in lockstep: `n` steps and `t` outer iterations; `p` steps more; `q` outer iterations more;
//! both. In each pass through the main loop, the runs with more steps make a period alone, as in a pair. At the end of
//! some outer iteration, the runs with more outer iterations make `q` of them alone. So each number is linear in the
//! steps and linear in the outer iterations. Its decisions stay the same however far either of them grows.
//! `shift_invariance` checks this: the change in each direction, and the additional change in both at once, lead away
//! from a different decision. It also shows that the states before and after each insertion are equal up to a shift. A
//! run with `j * p` more steps and `k * q` more outer iterations consists of the same parts, repeated more often. So it
//! ends as these four runs do.
//!
//! Kernels that differ only in their outer iterations share almost their whole run. So all squares and pairs for one
//! number of steps (a column) are parts of few runs (`common_prefix`), and so are those of a line (`outer_turns`).
//!
//! Each line has its own period in outer iterations: a ring that one outer iteration fills evenly recurs sooner than
//! another. The runs start outer iterations together (`aligned`); otherwise the order of agents would have its own
//! period. Some kernels have a steady state earlier where agents also start steps of the main loop together.

use rayon::prelude::*;
use warpline_sim::ir::Program;

use crate::cta::class_run::ClassRun;
use crate::execution::canonical::{CanonicalRun, Landing};
use crate::induction::carry_over::{Proof, either};
use crate::induction::common_prefix::{SharedPrefix, TurnLoop};
use crate::induction::lockstep::Reached;
use crate::induction::loop_counter::grown;
use crate::induction::refined_indices::refine;
use crate::{
    AtTurns, execution::shared, induction::carry_over, induction::outer_turns, induction::refused,
    induction::self_composition,
};

/// The result: kernels to run as base cases, and the inductions that these complete.
pub(crate) struct Nested {
    /// The induction over the steps of the main loop.
    pub(crate) steps: Proof,
    /// For each number of steps below `steps.needs()`, the number of outer iterations below which every kernel is a
    /// base case. `None` where the kernel refuses that number of steps.
    pub(crate) turns: Vec<i64>,
    /// The longest period in outer iterations of any line.
    pub(crate) period: Option<i64>,
    /// The induction over outer iterations for each number of steps below `steps.first`; `None` where the kernel
    /// refuses that number.
    pub(crate) lines: Vec<Option<Proof>>,
    /// The order of the compared runs.
    pub(crate) landing: Landing,
}

/// Outer iterations of the runs that show the period of the main loop.
const TURNS: i64 = 2;

/// Searches for the periods and their starts, in the order of agents with fewer base cases first.
pub(crate) fn find(run: &ClassRun<'_>, at: AtTurns<'_>) -> Result<Nested, String> {
    let rotated = run.rotating().and_then(|run| in_some_order(&run, at).ok());
    rotated.map_or_else(|| in_some_order(run, at), Ok)
}

fn in_some_order(run: &ClassRun<'_>, at: AtTurns<'_>) -> Result<Nested, String> {
    let few = |n| at(n, TURNS);
    let (turning, stepping) = (run.turning(), run.stepping());
    let all = run.options.max_trips;
    let inner = carry_over::period(&stepping, &few, all);
    // The other order is taken where it needs no more base cases.
    let most = inner.as_ref().map_or(all, Proof::needs);
    let turns = carry_over::period(&turning, &few, most);
    let fewer = turns.is_err();
    let by_turns = || {
        let found = turns.or_else(|why| if most < all { carry_over::period(&turning, &few, all) } else { Err(why) });
        found.and_then(|steps| in_order(&turning, at, steps))
    };
    let by_steps = || inner.and_then(|steps| in_order(&stepping, at, steps));
    if fewer { by_steps().or_else(|_| by_turns()) } else { by_turns().or_else(|why| by_steps().map_err(|_| why)) }
}

/// Searches for the inductions over outer iterations in one order of agents.
fn in_order(run: &ClassRun<'_>, at: AtTurns<'_>, found: Proof) -> Result<Nested, String> {
    let mut steps = found;
    let mut lines: Vec<Option<Proof>> = Vec::new();
    loop {
        more_lines(run, at, &mut lines, steps)?;
        match plane(run, at, steps, &lines) {
            Ok(found) => return Ok(found),
            // The start of the induction over steps may have been too early.
            Err(why) if steps.first > found.first => return Err(why),
            Err(_) => steps = steps.later(1),
        }
    }
}

/// Adds the induction over outer iterations for each number of steps below the first that follows; `None` where the
/// kernel refuses that number.
fn more_lines(run: &ClassRun<'_>, at: AtTurns<'_>, lines: &mut Vec<Option<Proof>>, steps: Proof) -> Result<(), String> {
    let line = |(n, like): (i64, Option<Proof>)| -> Result<Option<Proof>, String> {
        let none = (1..=TURNS + 1).all(|t| at(n, t).is_none());
        let line = |t| at(n, t);
        match like.filter(|like| !none && outer_turns::holds(run, &line, *like)) {
            None if none => Ok(None),
            None => outer_turns::period(run, &line).map(Some),
            like => Ok(like),
        }
    };
    let (last, period) = (steps.first - 1, steps.period);
    // If one line shows no period, the other lines are not tried.
    let end = line((last, None))?;
    for (to, known) in parts(last, period) {
        let like = |n: i64| lines.get((known? + (n - known?) % period) as usize).copied().flatten();
        let next: Vec<_> = (lines.len() as i64..to).map(|n| (n, like(n))).collect();
        let more: Vec<_> = next.into_par_iter().map(line).collect();
        for line in more {
            lines.push(line?);
        }
    }
    lines.push(end);
    Ok(())
}

/// Periods that are searched again for each doubling of the steps.
const SHORT_PERIOD: i64 = 2;

/// The lines up to `last` in parts, each up to a number. A part is searched, or has the first line of a period whose results
/// are tried for it. With more steps, an outer iteration goes through a ring faster, and fewer of them are base cases.
fn parts(last: i64, period: i64) -> Vec<(i64, Option<i64>)> {
    let mut list = vec![(last.min(2 * period), None)];
    let mut from = 2 * period;
    while period <= SHORT_PERIOD && from < last {
        list.push((last.min(from + period), None));
        list.push((last.min(2 * from), Some(from)));
        from *= 2;
    }
    list.push((last, Some(period)));
    list
}

/// The induction over steps, for all outer iterations.
fn plane(run: &ClassRun<'_>, at: AtTurns<'_>, steps: Proof, lines: &[Option<Proof>]) -> Result<Nested, String> {
    let (first, period) = (steps.first, steps.period);
    let of = |n: i64| lines[n as usize];
    let column = |n: i64| of(n - period).map_or(Ok(()), |turns| column(run, at, (n, period), turns));
    let all: Vec<Result<(), String>> = (first..first + period).into_par_iter().map(column).collect();
    all.into_iter().collect::<Result<(), _>>()?;
    let needs = |n: i64| of(if n < first { n } else { n - period }).map_or(0, |line| line.needs());
    let longest = lines.iter().flatten().map(|line| line.period).max();
    let turns = (0..steps.needs()).map(needs).collect();
    Ok(Nested { steps, turns, period: longest, lines: lines[..first as usize].to_vec(), landing: run.landing })
}

/// Checks the pairs and squares of one number of steps against the kernels with one period less, for each number of
/// outer iterations.
fn column(run: &ClassRun<'_>, at: AtTurns<'_>, (n, period): (i64, i64), turns: Proof) -> Result<(), String> {
    let all = |n: i64| -> Vec<Option<Program>> { (0..turns.needs()).map(|t| Some(refine(&at(n, t)?))).collect() };
    let (fewer, more) = (all(n - period), all(n));
    let (Some(Some(a)), Some(Some(b))) = (fewer.last(), more.last()) else {
        return Err("the kernel refuses some numbers of steps or outer iterations".into());
    };
    // Kernels with few outer iterations can have another text.
    let (of_a, of_b) = (shared::of_one(run.job(a)), shared::of_one(run.job(b)));
    let follow: Vec<Option<[&Program; 2]>> = fewer
        .iter()
        .zip(&more)
        .map(|(x, y)| {
            let (x, y) = (x.as_ref()?, y.as_ref()?);
            (of_a(x) && of_b(y)).then_some([x, y])
        })
        .collect();
    let (q, last) = (turns.period as usize, fewer.len() - 1);
    let squares = (last + 1 - q..=last).map(|t| Some([follow[t - q]?, follow[t]?].concat()));
    let squares: Vec<Vec<&Program>> =
        squares.collect::<Option<_>>().ok_or("more outer iterations change the program")?;
    let loops = grown(squares[0][0], squares[0][2]);
    let turning = loops.into_iter().find_map(|(l, by)| TurnLoop::of(squares[0][0], l, by, turns.period));
    let turning = turning.ok_or("there is no outer loop")?;
    let others: Vec<&Program> = follow.iter().flatten().flatten().copied().collect();
    let start = Reached::start(vec![CanonicalRun::new(run.job(a)), CanonicalRun::new(run.job(b))]);
    let prefix = SharedPrefix::new(start, turning, &others).extended_to_end()?;
    prefix.carries_over(q, &squares).map_err(|unshown| unshown.why)?;
    // Kernels with more outer iterations are sides of a square.
    let pairs = 0..=last - 2 * q;
    let parted: Vec<Vec<&Program>> = pairs.clone().filter_map(|t| follow[t]).map(Vec::from).collect();
    prefix.all_end(&parted)?;
    let other: Vec<usize> = pairs.filter(|t| follow[*t].is_none()).collect();
    let kernels = |t: &usize| Some([fewer[*t].as_ref()?, more[*t].as_ref()?]);
    let of: Option<Vec<[&Program; 2]>> = other.iter().map(kernels).collect();
    if of.is_some_and(|of| of_other_text(run, of, &squares[0], turns.period).is_ok()) {
        return Ok(());
    }
    let mut alone = other.into_iter().map(|t| t as i64);
    alone.try_for_each(|t| match [at(n - period, t), at(n, t)] {
        [Some(a), Some(b)] => {
            either([a, b], |[a, b]| self_composition::alike(run.job(a), run.job(b), None, 1).map_err(|(why, _)| why))
        }
        [None, None] if refused::near(&|n| at(n, t), n) => Ok(()),
        [_, None] => refused::held(&|n| at(n, t), n, period).map_err(str::to_string),
        [None, _] => Err("the kernel refuses some numbers of steps".to_string()),
    })
}

/// Checks pairs of few outer iterations, whose kernels are of another text than those of a square. Those of one text share
/// their runs, too.
fn of_other_text(
    run: &ClassRun<'_>,
    mut left: Vec<[&Program; 2]>,
    square: &[&Program],
    turns: i64,
) -> Result<(), String> {
    while let Some([a, b]) = left.last().copied() {
        let (of_a, of_b) = (shared::of_one(run.job(a)), shared::of_one(run.job(b)));
        let (own, others): (Vec<[&Program; 2]>, Vec<[&Program; 2]>) =
            left.into_iter().partition(|[x, y]| of_a(x) && of_b(y));
        let loops = grown(square[0], square[2]);
        let turning = loops.into_iter().find_map(|(l, by)| TurnLoop::of(a, l, by, turns));
        let start = Reached::start(vec![CanonicalRun::new(run.job(a)), CanonicalRun::new(run.job(b))]);
        let prefix = SharedPrefix::new(start, turning.ok_or("there is no outer loop")?, &own.concat());
        prefix.extended_to_end()?.all_end(&own.iter().map(|pair| pair.to_vec()).collect::<Vec<_>>())?;
        left = others;
    }
    Ok(())
}
