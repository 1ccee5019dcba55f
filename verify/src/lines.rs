//! Turns carried on for one number of steps, read off one run and what parts from it (`trunk`).

use std::collections::BTreeMap;

use warpline_sim::ir::Program;

use crate::canon::Walk;
use crate::carry::{BEHIND, LONG, Proof};
use crate::every::Run;
use crate::further::grown;
use crate::pair::{lcm, trips};
use crate::refine::refine;
use crate::stretch::Reached;
use crate::trunk::{Trunk, Turns};
use crate::watch::step_of;
use crate::{AtTrips, carry, family};

/// Looks for the period of a line and where it starts.
pub(crate) fn period(run: &Run<'_>, at: AtTrips<'_>) -> Result<Proof, String> {
    let max = run.options.max_trips;
    let long = LONG.into_iter().rev().filter(|n| *n <= max).find_map(|n| Some((n, at(n)?, at(n - 1)?)));
    let found = long.and_then(|(long, a, b)| {
        let (a, b) = (refine(&a), refine(&b));
        let mut line = Line::of(run, at, (&a, &b))?;
        LONG.into_iter().filter(|n| *n <= long).find_map(|n| line.found((n as usize - 1) / 2, max))
    });
    // A run that has no trunk with others, or repeats in another way.
    found.map_or_else(|| carry::period(run, at), Ok)
}

/// Whether the turns carry on as those of another line do.
pub(crate) fn holds(run: &Run<'_>, at: AtTrips<'_>, like: Proof) -> bool {
    let trunk = || {
        let (a, b) = (refine(&at(like.needs() - 1)?), refine(&at(like.needs() - 2)?));
        let mut line = Line::of(run, at, (&a, &b))?;
        line.carries(like.first as usize, like.period as usize).then_some(())
    };
    trunk().is_some() || carry::holds(run, at, like)
}

/// One number of steps.
struct Line<'p, 'a> {
    run: &'a Run<'a>,
    at: AtTrips<'a>,
    /// Turns in which every loop makes whole steps.
    whole: usize,
    trunk: Trunk<'p>,
}

impl<'p, 'a> Line<'p, 'a> {
    /// With the kernel of the most turns, and of one less.
    fn of(run: &'a Run<'a>, at: AtTrips<'a>, (most, less): (&'p Program, &'p Program)) -> Option<Line<'p, 'a>> {
        if !family::of_one(run.job(most))(less) {
            return None;
        }
        let loops = grown(less, most);
        let turns = loops.iter().find_map(|(l, by)| Turns::of(less, l, *by, 1))?;
        let whole = loops.iter().map(|(l, by)| trips(step_of(less, l), *by)).fold(1, lcm) as usize;
        let start = Reached::start(vec![Walk::new(run.job(most))]);
        Some(Line { run, at, whole, trunk: Trunk::new(start, turns, &[less]) })
    }

    /// Where a turn before this one begins to repeat, and how often, if kernels carry on from there.
    fn found(&mut self, middle: usize, max: i64) -> Option<Proof> {
        // What lies before the first turn is no turn.
        if !self.trunk.mark(middle + 1) {
            return None;
        }
        let like = |i: usize, p: usize| self.trunk.alike(i + 1, i + p + 1);
        let period = (1..=middle / 2).find(|p| like(middle - p, *p) && like(middle - 2 * p, *p))?;
        let mut start = middle - period;
        while start > 0 && like(start - 1, period) {
            start -= 1;
        }
        let period = lcm(period as i64, self.whole as i64) as usize;
        for more in BEHIND {
            for period in [period, 2 * period] {
                let first = start + 2 * period + more as usize;
                if (first + period) as i64 > max {
                    continue;
                }
                if self.carries(first, period) {
                    let (first, period) = (first as i64, period as i64);
                    return Some(Proof { first, period, compared: first + period - 1 });
                }
            }
        }
        None
    }

    /// Whether each number of turns of a period follows from the one a period before.
    fn carries(&mut self, first: usize, period: usize) -> bool {
        // Further than any of them goes.
        self.trunk.mark(first + period);
        let progs = (first - period..first + period).map(|t| Some((t, refine(&(self.at)(t as i64)?))));
        let Some(progs) = progs.collect::<Option<BTreeMap<usize, Program>>>() else { return false };
        let own = self.trunk.programs()[0];
        let of_one = family::of_one(self.run.job(own));
        if !progs.values().all(of_one) {
            return false;
        }
        let all: Vec<Vec<&Program>> =
            (first..first + period).map(|t| vec![&progs[&(t - period)], &progs[&t]]).collect();
        self.trunk.carries(period, &all).is_ok()
    }
}
