//! Steps of the main loop and turns of the loop around it, both varied: every kernel of a plane from some of its corner.
//!
//! ```text
//!   turns │  line   line   square square          a line    turns carried on for one number of steps (`carry`)
//!         │   ⋮      ⋮       ⋮      ⋮             a pair    steps carried on for one number of turns (`pair`)
//!         │  line   line   square square ...      a square  both carried on, from the four kernels at its corners
//!         │  run    run    pair   pair   ...      a run     one kernel, run
//!         └──────────────────────────────── steps
//! ```
//!
//! *A square* is four runs that step together: n steps and t turns; p steps more; q turns more; both. In each pass
//! through the main loop the runs with more steps make a period of it alone, as in a pair. At the end of some turn those
//! with more turns make q of them alone, and of these two the one with more steps makes its periods. What is shown then:
//! each number on the way is linear in the steps and linear in the turns, and decides alike however far either goes on
//! (`alike`: what it moves in one direction, in the other, and in both at once beyond these, all point away from where it
//! would decide otherwise); and the states before and behind what is made alone are one but for a shift. A run with j
//! times p steps and k times q turns more is made of the same parts, repeated more often, so it ends as these four do.
//!
//! The period in turns is each line's own: a ring that is filled evenly by one turn is back sooner than another.

use rayon::prelude::*;
use warpline_sim::ir::Program;
use warpline_sim::protocol::Snapshot;

use crate::canon::Walk;
use crate::carry::{Proof, either};
use crate::every::Run;
use crate::further::{Constants, grown};
use crate::stretch::{Came, Pair, Reached, Until, squares};
use crate::watch::{Watch, step_of, window};
use crate::{AtTurns, alike, carry, pair};

/// What is decided once some kernels were run one by one.
pub(crate) struct Nested {
    /// Of the steps of the main loop.
    pub(crate) steps: Proof,
    /// For each number of steps below `steps.needs()`, the numbers of turns to run one by one: all below this. None where
    /// the kernel cannot have that many steps.
    pub(crate) turns: Vec<i64>,
    /// The longest period in turns of any line.
    pub(crate) period: Option<i64>,
}

/// Turns of the runs that the period of the main loop is read off.
const TURNS: i64 = 2;

/// Looks for the periods, and where they begin.
pub(crate) fn find(run: &Run<'_>, at: AtTurns<'_>) -> Result<Nested, String> {
    let few = |n| at(n, TURNS);
    let last = carry::period(run, &few)?;
    let mut steps = carry::least(run, &few, last);
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
fn more_lines(run: &Run<'_>, at: AtTurns<'_>, lines: &mut Vec<Option<Proof>>, steps: Proof) -> Result<(), String> {
    let line = |(n, like): (i64, Option<Proof>)| -> Result<Option<Proof>, String> {
        let none = (1..=TURNS + 1).all(|t| at(n, t).is_none());
        let line = |t| at(n, t);
        match like.filter(|like| !none && carry::holds(run, &line, *like)) {
            None if none => Ok(None),
            None => carry::period(run, &line).map(Some),
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

fn plane(run: &Run<'_>, at: AtTurns<'_>, steps: Proof, lines: &[Option<Proof>]) -> Result<Nested, String> {
    let (first, period) = (steps.first, steps.period);
    let of = |n: i64| lines[n as usize];
    let mut pairs: Vec<(i64, i64)> = Vec::new();
    let mut corners: Vec<(i64, i64, i64)> = Vec::new();
    for n in first..first + period {
        let Some(turns) = of(n - period) else { continue };
        // Those of more turns are sides of a square.
        pairs.extend((0..turns.first - turns.period).map(|t| (n, t)));
        corners.extend((turns.first..turns.needs()).map(|t| (n, t, turns.period)));
    }
    let squared = |&(n, t, q): &(i64, i64, i64)| {
        let four = [at(n - period, t - q), at(n, t - q), at(n - period, t), at(n, t)];
        let [Some(a), Some(b), Some(c), Some(d)] = four else {
            return Err("the kernel refuses some numbers of steps or turns".to_string());
        };
        either([a, b, c, d], |[a, b, c, d]| square(run, [a, b, c, d]))
    };
    let paired = |&(n, t): &(i64, i64)| match [at(n - period, t), at(n, t)] {
        [Some(a), Some(b)] => either([a, b], |[a, b]| pair::alike(run.job(a), run.job(b))),
        [_, None] => Ok(()),
        [None, _] => Err("the kernel refuses some numbers of steps".to_string()),
    };
    // Where the periods are others, the first square shows it.
    corners.first().map_or(Ok(()), squared)?;
    let all: Vec<Result<(), String>> = corners.par_iter().skip(1).map(squared).collect();
    all.into_iter().collect::<Result<(), _>>()?;
    let all: Vec<Result<(), String>> = pairs.par_iter().map(paired).collect();
    all.into_iter().collect::<Result<(), _>>()?;
    let compared = evenly(at, steps, lines)?;
    let needs = |n: i64| of(if n < first { n } else { n - period }).map_or(0, |line| line.needs());
    let longest = lines.iter().flatten().map(|line| line.period).max();
    Ok(Nested { steps: steps.compared_to(compared), turns: (0..steps.needs()).map(needs).collect(), period: longest })
}

/// Turns before the last at which those that are made alone are tried.
const TRIES: usize = 6;

/// Holds four runs beside each other: neither, more steps, more turns, both.
fn square(run: &Run<'_>, progs: [&Program; 4]) -> Result<(), String> {
    let [a, b, c, d] = progs.map(|p| Walk::new(run.job(p)));
    let (l, by) = grown(progs[0], progs[2]).into_iter().find(|(l, _)| l.index().is_some()).ok_or("no loop around")?;
    let turns = (by / step_of(progs[0], l)) as usize;
    let mut until = Until { watch: Watch::of(l, None, turns).ok_or("no loop around")?, left: 0 };
    let mut marks: Vec<(Reached<'_>, Until)> = Vec::new();
    let mut now = Reached::start(vec![[a, b], [c, d]]);
    let why = loop {
        until.left = 1;
        now = now.go_on(Some(&mut until))?;
        match &now.came {
            Came::Until => marks.push((now.clone(), until.clone())),
            Came::Parted(why) => break why.clone(),
            Came::Over => return Ok(()),
        }
    };
    // The turns behind it, which are made alone, were seen to decide alike.
    let Some(latest) = marks.len().checked_sub(1 + turns) else { return Err(why) };
    let tried = (0..=latest).rev().take(TRIES);
    tried.map(|m| turned(&marks[m], turns)).find_map(Result::ok).ok_or(why)
}

/// Lets the runs with more turns make these alone, and goes on to the end.
fn turned((here, at): &(Reached<'_>, Until), turns: usize) -> Result<(), String> {
    let no = || "the states are not one".to_string();
    let states = |p: &Pair<'_>| -> [Snapshot; 2] { p.each_ref().map(|w| w.state()) };
    let [few, many] = [&here.pairs[0], &here.pairs[1]];
    let window = window(few[0].world.program());
    let like = |x: &[Snapshot; 2], y: &[Snapshot; 2]| {
        x.iter().zip(y).all(|(x, y)| alike::states(&[x, y], window))
            && squares(&[x[0].clone(), y[0].clone()], &[x[1].clone(), y[1].clone()], window)
    };
    let (now, was) = (states(few), states(many));
    if !like(&now, &was) {
        return Err(no());
    }
    let alone = here.with(vec![many.clone()]);
    let mut until = Until { watch: at.watch.on(&many[0]), left: turns };
    let alone = alone.go_on(Some(&mut until))?;
    let then = states(&alone.pairs[0]);
    if alone.came != Came::Until || !like(&was, &then) {
        return Err(no());
    }
    match here.with(vec![few.clone(), alone.pairs[0].clone()]).go_on(None)?.came {
        Came::Over => Ok(()),
        Came::Until => Err(no()),
        Came::Parted(why) => Err(why),
    }
}

/// Steps and turns below which compiled kernels are compared one after the other, in strips as wide as this many periods.
const NEAR: i64 = 48;
const STRIP: i64 = 2;

/// Far places, in periods of steps and of turns.
const FAR: [(i64, i64); 8] = [(0, 2), (0, 1009), (2, 0), (2, 2), (5, 3), (1009, 1), (61, 61), (65_537, 127)];
/// Of them, those of the same steps.
const LINE: usize = 2;

/// Holds the compiled kernels of more steps and turns to numbers that are linear in each; the most steps compared.
fn evenly(at: AtTurns<'_>, steps: Proof, lines: &[Option<Proof>]) -> Result<i64, String> {
    let line = |(n, turns): (usize, &Option<Proof>)| {
        let (n, Some(turns)) = (n as i64, turns) else { return Ok(0) };
        let mut compared = 0;
        // Steps are carried on from the last of the lines.
        let (by, far) = if n < steps.first - steps.period { (0, &FAR[..LINE]) } else { (steps.period, &FAR[..]) };
        for t in turns.first - turns.period..turns.first {
            let of = |(j, k): (i64, i64)| at(n + j * by, t + k * turns.period).map(Constants::of);
            let [Some(a), Some(b), Some(c), Some(d)] = [(0, 0), (1, 0), (0, 1), (1, 1)].map(of) else { continue };
            let upto = |from: i64, by: i64| if by == 0 { 0 } else { (NEAR - from).max(0) / by };
            let (most, more) = (upto(n, by), upto(t, turns.period));
            let near = (0..=most).flat_map(|j| (0..=more).map(move |k| (j, k)));
            let near = near.filter(|(j, k)| *j < STRIP || *k < STRIP);
            for far in near.chain(far.iter().copied()) {
                let Some(e) = of(far) else { continue };
                if !Constants::linear([&a, &b, &c, &d], far, &e) {
                    let (n, t) = (n + far.0 * by, t + far.1 * turns.period);
                    return Err(format!("at {n} steps and {t} turns it is another kernel"));
                }
                compared = compared.max(n + far.0 * by);
            }
        }
        Ok(compared)
    };
    let all: Vec<Result<i64, String>> = lines.par_iter().enumerate().map(line).collect();
    all.into_iter().try_fold(0, |most, line| Ok(most.max(line?)))
}
