//! Induction over outer iterations for one number of steps, from one run and the runs that diverge from it
//! (`common_prefix`).

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{Loop, Program, lcm};

use crate::cta::class_run::ClassRun;
use crate::execution::canonical::{CanonicalRun, StepOutcome};
use crate::induction::carry_over::{BEHIND_IN_PLANE, LONG, LONGEST_OF_LINE, Proof, longer, longest};
use crate::induction::common_prefix::{SharedPrefix, TurnLoop};
use crate::induction::lockstep::Reached;
use crate::induction::loop_counter::grown;
use crate::induction::loop_counter::{Watch, step_of};
use crate::induction::periods::Places;
use crate::induction::refined_indices::refine;
use crate::induction::self_composition::{SEEN, trips};
use crate::{AtTrips, execution::shared, induction::carry_over, induction::periods};

/// Searches for the period of a line and its start.
pub(crate) fn period(run: &ClassRun<'_>, at: AtTrips<'_>) -> Result<Proof, String> {
    let max = run.options.max_trips;
    let known = LONG.into_iter().rev().filter(|n| *n <= max).find(|n| at(*n).is_some() && at(n - 1).is_some());
    let found = known.and_then(|long| {
        let (a, b) = (refine(&at(long)?), refine(&at(long - 1)?));
        let mut line = Line::of(run, at, (&a, &b))?;
        let mut states = None;
        let mut tried = BTreeSet::new();
        for middle in LONG.into_iter().filter(|n| *n <= long).map(|n| (n as usize - 1) / 2) {
            let Some((start, period)) = line.repeats(middle) else { continue };
            states = Some(period);
            if !tried.insert((start, period)) {
                continue;
            }
            if let Some(found) = line.from(start, &[period, 2 * period], max) {
                return Some(found);
            }
        }
        let (long, period) = longer(run, states, line.recurs()?, LONGEST_OF_LINE)?;
        let (a, b) = (refine(&at(long)?), refine(&at(long - 1)?));
        let mut line = Line::of(run, at, (&a, &b))?;
        let (start, of) = line.repeats(long as usize / 2)?;
        line.from(start, &[lcm(of, period)], long)
    });
    // The run has no common prefix with others, or repeats in another way.
    found.map_or_else(|| carry_over::period_of_line(run, at), Ok)
}

/// The number of outer iterations after which all decisions can recur (`periods`).
pub(crate) fn recurs(run: &ClassRun<'_>, at: AtTrips<'_>) -> Option<i64> {
    let (a, b) = (at(FEW)?, at(FEW - 1)?);
    let mut line = Line::of(run, at, (&a, &b))?;
    line.prefix.extend_to_mark(FEW as usize / 2);
    line.recurs()
}

/// Number of outer iterations that show the change of numbers.
const FEW: i64 = 16;

/// Whether the outer iterations carry over with the same period and start as those of another line.
pub(crate) fn holds(run: &ClassRun<'_>, at: AtTrips<'_>, like: Proof) -> bool {
    let prefix = || {
        let (a, b) = (refine(&at(like.needs() - 1)?), refine(&at(like.needs() - 2)?));
        let mut line = Line::of(run, at, (&a, &b))?;
        line.carries(like.first as usize, like.period as usize).then_some(())
    };
    prefix().is_some() || carry_over::holds(run, at, like)
}

/// The kernels with one number of steps; or all kernels, by iterations of the main loop.
pub(crate) struct Line<'p, 'a> {
    run: &'a ClassRun<'a>,
    at: AtTrips<'a>,
    /// Number of outer iterations after which every loop has made whole steps.
    whole: usize,
    prefix: SharedPrefix<'p>,
}

/// How runs compare that share a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// Each number of iterations carries over.
    Carries,
    /// States recur, but the runs diverge behind them, or share no prefix. Runs of their own may carry over.
    Diverges,
    /// No state recurs before the runs part.
    Unlike,
}

/// The number of a mark that shows iterations of a loop.
const SHOWN: usize = 2;

/// Number of outer iterations after which every loop has made whole steps.
fn whole((most, less): (&Program, &Program)) -> usize {
    grown(less, most).iter().map(|(l, by)| trips(step_of(less, l), *by)).fold(1, lcm) as usize
}

/// The loops that grow from a kernel to the one of the most outer iterations, if both start from one world.
fn turn_loops(run: &ClassRun<'_>, (most, less): (&Program, &Program)) -> Option<Vec<TurnLoop>> {
    let turns = |(l, by): (&Loop, i64)| TurnLoop::of(less, l, by, 1);
    shared::of_one(run.job(most))(less).then(|| grown(less, most).into_iter().filter_map(turns).collect())
}

/// The run of the most outer iterations, with marks at the iterations of a loop.
fn prefix<'p, 'a: 'p>(
    run: &ClassRun<'a>,
    (most, less): (&'p Program, &'p Program),
    turns: TurnLoop,
) -> SharedPrefix<'p> {
    SharedPrefix::new(Reached::start(vec![CanonicalRun::new(run.job(most))]), turns, &[less])
}

/// The first of these loops that shows some iterations.
fn first_to_turn(mut walk: CanonicalRun<'_>, mut loops: Vec<TurnLoop>) -> Option<TurnLoop> {
    let mut made: Vec<(Watch, usize)> = loops.iter().map(|turns| (turns.until.watch.clone(), 0)).collect();
    loop {
        let step = walk.next();
        if let StepOutcome::RunEnded(_) = step {
            return None;
        }
        made.iter_mut().for_each(|(watch, made)| *made += watch.steps(&walk, &step));
        let shows = |(turns, (_, made)): (&TurnLoop, &(Watch, usize))| *made >= SHOWN * turns.steps;
        if let Some(first) = loops.iter().zip(&made).position(shows) {
            return Some(loops.swap_remove(first));
        }
    }
}

impl<'p, 'a: 'p> Line<'p, 'a> {
    /// The line with the kernel of the most outer iterations, and the kernel of one less.
    fn of(run: &'a ClassRun<'a>, at: AtTrips<'a>, kernels: (&'p Program, &'p Program)) -> Option<Line<'p, 'a>> {
        let mut found = None;
        for turns in turn_loops(run, kernels)? {
            let mut prefix = prefix(run, kernels, turns);
            // A role without an operation in its loop, such as a loader of no tiles, shows no outer iterations.
            let shows = prefix.extend_to_mark(SHOWN);
            found = if shows { Some(prefix) } else { found.or(Some(prefix)) };
            if shows {
                break;
            }
        }
        Some(Line { run, at, whole: whole(kernels), prefix: found? })
    }

    /// The same, by the loop of the role that goes ahead of the others. Kernels of fewer iterations part where this role ends
    /// its loop.
    pub(crate) fn by_leader(
        run: &'a ClassRun<'a>,
        at: AtTrips<'a>,
        kernels: (&'p Program, &'p Program),
    ) -> Option<Line<'p, 'a>> {
        let turns = first_to_turn(CanonicalRun::new(run.job(kernels.0)), turn_loops(run, kernels)?)?;
        Some(Line { run, at, whole: whole(kernels), prefix: prefix(run, kernels, turns) })
    }

    /// The number of outer iterations after which all decisions can recur.
    fn recurs(&self) -> Option<i64> {
        let last = self.prefix.marks();
        let places: Vec<Places> =
            (last.checked_sub(SEEN)?..last).map(|mark| Places::of(self.prefix.run(mark))).collect();
        periods::recurs(self.prefix.programs()[0], &places, longest(self.run))
    }

    /// The start and the period of repetition before this outer iteration.
    fn repeats(&mut self, middle: usize) -> Option<(usize, i64)> {
        // The part before the first outer iteration does not count.
        if !self.prefix.extend_to_mark(middle + 1) {
            return None;
        }
        let long = |i: usize, p: usize| self.prefix.iterations(i + 1, i + p + 1);
        let like = |i: usize, p: usize| self.prefix.alike(i + 1, i + p + 1);
        let twice = |p: &usize| {
            let (last, before) = (middle - p, middle - 2 * p);
            long(last, *p) == long(before, *p) && like(last, *p) && like(before, *p)
        };
        let marked = (1..=middle / 2).find(twice)?;
        let (mut first, period) = (middle - marked, long(middle - marked, marked));
        while first > 0 && long(first - 1, marked) == period && like(first - 1, marked) {
            first -= 1;
        }
        Some((long(0, first) as usize, lcm(period, self.whole as i64)))
    }

    /// The induction with the first of these periods that carries over from this start.
    fn from(&mut self, start: usize, periods: &[i64], max: i64) -> Option<Proof> {
        let carries = |Proof { first, period }| {
            self.carries(first as usize, period as usize).then_some(()).ok_or_else(carry_over::Failure::default)
        };
        carry_over::from((start as i64, &BEHIND_IN_PLANE), periods, max, carries).ok()
    }

    /// Whether each number of outer iterations of a period carries over to the next period.
    fn carries(&mut self, first: usize, period: usize) -> bool {
        self.compared(first, period) == Compared::Carries
    }

    /// How each number of outer iterations of a period compares with those of the next period.
    pub(crate) fn compared(&mut self, first: usize, period: usize) -> Compared {
        // Longer than any of these kernels.
        self.prefix.extend_to_mark(first + period);
        let progs = (first - period..first + period).map(|t| Some((t, refine(&(self.at)(t as i64)?))));
        let Some(progs) = progs.collect::<Option<BTreeMap<usize, Program>>>() else { return Compared::Diverges };
        let own = self.prefix.programs()[0];
        let of_one = shared::of_one(self.run.job(own));
        if !progs.values().all(of_one) {
            return Compared::Diverges;
        }
        let all: Vec<Vec<&Program>> =
            (first..first + period).map(|t| vec![&progs[&(t - period)], &progs[&t]]).collect();
        match self.prefix.carries_over(period, &all) {
            Ok(()) => Compared::Carries,
            Err(unshown) if unshown.diverges => Compared::Diverges,
            Err(_) => Compared::Unlike,
        }
    }
}
