//! Steps of the main loop and turns of the loop around it, both varied: every kernel of a plane from some of its corner.
//!
//! ```text
//!   turns │  line   line   square square          a line    turns carried on for one number of steps (`carry_over`)
//!         │   ⋮      ⋮       ⋮      ⋮             a pair    steps carried on for one number of turns (`self_composition`)
//!         │  line   line   square square ...      a square  both carried on, from the four kernels at its corners
//!         │  run    run    pair   pair   ...      a run     one kernel, run
//!         └──────────────────────────────── steps
//! ```
//!
//! *A square* is four runs that step together: n steps and t turns; p steps more; q turns more; both. In each pass
//! through the main loop the runs with more steps make a period of it alone, as in a pair. At the end of some turn those
//! with more turns make q of them alone, and of these two the one with more steps makes its periods. What is shown then:
//! each number on the way is linear in the steps and linear in the turns, and decides alike however far either goes on
//! (`shift_invariance`: what it moves in one direction, in the other, and in both at once beyond these, all point away from where it
//! would decide otherwise); and the states before and behind what is made alone are one but for a shift. A run with j
//! times p steps and k times q turns more is made of the same parts, repeated more often, so it ends as these four do.
//!
//! Kernels that differ in their turns alone start as one world and stay it almost to their ends, so all squares and pairs
//! of one number of steps (a column) are parts of few runs (`common_prefix`), and so are those of a line (`outer_turns`).
//!
//! The period in turns is each line's own: a ring that is filled evenly by one turn is back sooner than another. In the
//! runs turns begin together (`aligned`), or the order in which agents go on would have a period of its own.

use rayon::prelude::*;
use warpline_sim::ir::Program;

use crate::cta::class::ClassRun;
use crate::execution::canonical::CanonicalRun;
use crate::induction::carry_over::{Proof, either};
use crate::induction::common_prefix::{SharedPrefix, TurnLoop};
use crate::induction::lockstep::Reached;
use crate::induction::loop_counter::grown;
use crate::induction::refined_indices::refine;
use crate::{
    AtTurns, execution::shared, induction::carry_over, induction::outer_turns, induction::refused,
    induction::self_composition,
};

/// What is decided once some kernels were run one by one.
pub(crate) struct Nested {
    /// Of the steps of the main loop.
    pub(crate) steps: Proof,
    /// For each number of steps below `steps.needs()`, the numbers of turns to run one by one: all below this. None where
    /// the kernel cannot have that many steps.
    pub(crate) turns: Vec<i64>,
    /// The longest period in turns of any line.
    pub(crate) period: Option<i64>,
    /// How turns carry on for each number of steps below `steps.first`; none where the kernel cannot have that many.
    pub(crate) lines: Vec<Option<Proof>>,
}

/// Turns of the runs that the period of the main loop is read off.
const TURNS: i64 = 2;

/// Looks for the periods, and where they begin.
pub(crate) fn find(run: &ClassRun<'_>, at: AtTurns<'_>) -> Result<Nested, String> {
    let few = |n| at(n, TURNS);
    let last = carry_over::period(run, &few)?;
    let mut steps = carry_over::least(run, &few, last);
    let mut lines: Vec<Option<Proof>> = Vec::new();
    loop {
        more_lines(run, at, &mut lines, steps)?;
        match plane(run, at, steps, &lines) {
            Ok(found) => return Ok(found),
            // It may have been too early.
            Err(why) if steps.first >= last.first => return Err(why),
            Err(_) => steps = steps.later(1),
        }
    }
}

/// How turns carry on for each number of steps below the first that follows from fewer; none where the kernel cannot have
/// that many.
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
    // Where one line shows no period, the others are not asked.
    let end = line((last, None))?;
    // Two periods are searched for, the lines behind them tried as those of the second.
    for to in [last.min(2 * period), last] {
        let like = |n: i64| lines.get((period + n % period) as usize).copied().flatten();
        let next: Vec<_> = (lines.len() as i64..to).map(|n| (n, like(n))).collect();
        let more: Vec<_> = next.into_par_iter().map(line).collect();
        for line in more {
            lines.push(line?);
        }
    }
    lines.push(end);
    Ok(())
}

/// How kernels of more steps carry on for all turns.
fn plane(run: &ClassRun<'_>, at: AtTurns<'_>, steps: Proof, lines: &[Option<Proof>]) -> Result<Nested, String> {
    let (first, period) = (steps.first, steps.period);
    let of = |n: i64| lines[n as usize];
    let column = |n: i64| of(n - period).map_or(Ok(()), |turns| column(run, at, (n, period), turns));
    let all: Vec<Result<(), String>> = (first..first + period).into_par_iter().map(column).collect();
    all.into_iter().collect::<Result<(), _>>()?;
    let needs = |n: i64| of(if n < first { n } else { n - period }).map_or(0, |line| line.needs());
    let longest = lines.iter().flatten().map(|line| line.period).max();
    let turns = (0..steps.needs()).map(needs).collect();
    Ok(Nested { steps, turns, period: longest, lines: lines[..first as usize].to_vec() })
}

/// The pairs and squares of one number of steps: kernels of a period less beside it, for each number of turns.
fn column(run: &ClassRun<'_>, at: AtTurns<'_>, (n, period): (i64, i64), turns: Proof) -> Result<(), String> {
    let all = |n: i64| -> Vec<Option<Program>> { (0..turns.needs()).map(|t| Some(refine(&at(n, t)?))).collect() };
    let (fewer, more) = (all(n - period), all(n));
    let (Some(Some(a)), Some(Some(b))) = (fewer.last(), more.last()) else {
        return Err("the kernel refuses some numbers of steps or turns".into());
    };
    // Kernels of few turns can be another text.
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
    let squares: Vec<Vec<&Program>> = squares.collect::<Option<_>>().ok_or("more turns are another text")?;
    let loops = grown(squares[0][0], squares[0][2]);
    let turning = loops.into_iter().find_map(|(l, by)| TurnLoop::of(squares[0][0], l, by, turns.period));
    let turning = turning.ok_or("no loop around")?;
    let others: Vec<&Program> = follow.iter().flatten().flatten().copied().collect();
    let start = Reached::start(vec![CanonicalRun::new(run.job(a)), CanonicalRun::new(run.job(b))]);
    let prefix = SharedPrefix::new(start, turning, &others).extended_to_end()?;
    prefix.carries_over(q, &squares)?;
    // Those of more turns are sides of a square.
    let pairs = 0..=last - 2 * q;
    let parted: Vec<Vec<&Program>> = pairs.clone().filter_map(|t| follow[t]).map(Vec::from).collect();
    let parted: Vec<Result<(), String>> = prefix
        .diverging_runs(&parted)
        .into_par_iter()
        .map(|pair| pair.ok_or("the runs parted")?.run_to_end())
        .collect();
    parted.into_iter().collect::<Result<(), _>>()?;
    let mut alone = pairs.filter(|t| follow[*t].is_none()).map(|t| t as i64);
    alone.try_for_each(|t| match [at(n - period, t), at(n, t)] {
        [Some(a), Some(b)] => {
            either([a, b], |[a, b]| self_composition::alike(run.job(a), run.job(b), None, 1).map_err(|(why, _)| why))
        }
        [None, None] if refused::near(&|n| at(n, t), n) => Ok(()),
        [_, None] => refused::held(&|n| at(n, t), n, period).map_err(str::to_string),
        [None, _] => Err("the kernel refuses some numbers of steps".to_string()),
    })
}
