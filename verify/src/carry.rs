//! From small trip counts to all: where the main loop begins to repeat, how often it does, and pairs of runs that carry
//! each larger trip count on from a smaller one (`pair`).

use rayon::prelude::*;
use warpline_sim::ir::Program;

use crate::every::Run;
use crate::pair::lcm;
use crate::refine::refine;
use crate::{AtTrips, pair};

/// A loop whose trip counts are all decided once those below a number are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    /// The first trip count that follows from a smaller one.
    pub(crate) first: i64,
    /// By how many steps they differ.
    pub(crate) period: i64,
}

impl Proof {
    /// The trip counts to run one by one: all below this.
    pub(crate) fn needs(&self) -> i64 {
        self.first + self.period
    }

    /// Begun some periods later.
    pub(crate) fn later(self, periods: i64) -> Proof {
        Proof { first: self.first + periods * self.period, ..self }
    }
}

/// Trip counts of the run that the period is read off; a kernel that takes long to fill needs the longer ones.
pub(crate) const LONG: [i64; 4] = [24, 48, 96, 160];

/// Steps behind the second period at which the end is perhaps not in sight yet.
const BEHIND: [i64; 6] = [2, 4, 8, 14, 24, 48];

/// The most trip counts of a run that a longer period is read off, beside those that are tried without one.
const LONGER: i64 = 4;
/// Trip counts of such a run, in periods: two on either side of where states are compared, and what it takes to get there.
const PERIODS: i64 = 5;

/// Looks for the period of the main loop and where it starts.
pub(crate) fn find(run: &Run<'_>, at: AtTrips<'_>) -> Result<Proof, String> {
    near(run, at).or_else(|(why, states)| {
        let more = || {
            let (long, period) = longer(run, states, recurs(run, at)?)?;
            let (start, of) = repeats(run, at, long)?;
            from(start, &[lcm(of, period)], long, |p| carries(run, at, p)).ok()
        };
        more().ok_or(why)
    })
}

/// Looks for the period of the main loop and where it starts.
pub(crate) fn period(run: &Run<'_>, at: AtTrips<'_>) -> Result<Proof, String> {
    near(run, at).map_err(|(why, _)| why)
}

/// The same; where there is none, why, and after how many steps states recurred, if they did.
fn near(run: &Run<'_>, at: AtTrips<'_>) -> Result<Proof, (String, Option<i64>)> {
    let max = run.options.max_trips;
    let (mut why, mut states) = (String::new(), None);
    for long in LONG.into_iter().filter(|n| *n <= max) {
        let Some((start, period)) = repeats(run, at, long) else { continue };
        states = Some(period);
        match from(start, &[period, 2 * period], max, |p| carries(run, at, p)) {
            Ok(found) => return Ok(found),
            Err(w) => why = w.unwrap_or(why),
        }
    }
    Err((format!("no state recurs within {max} steps{why}"), states))
}

/// From where and how often the states of a run of so many steps recur.
fn repeats(run: &Run<'_>, at: AtTrips<'_>, long: i64) -> Option<(i64, i64)> {
    let (a, b) = (at(long)?, at(long - 1)?);
    pair::repeats(run.job(&refine(&b)), run.job(&refine(&a)))
}

/// After how many steps all that numbers decide can be back (`moduli`).
pub(crate) fn recurs(run: &Run<'_>, at: AtTrips<'_>) -> Option<i64> {
    let (a, b) = (at(LONG[0])?, at(LONG[0] - 1)?);
    pair::recurs(run.job(&b), run.job(&a), longest(run))
}

/// The longest period that is looked for.
pub(crate) fn longest(run: &Run<'_>) -> i64 {
    LONGER * run.options.max_trips / PERIODS
}

/// Where states recur after so many steps, if they were seen to, and what numbers decide after others: the period that may
/// be, and a run that it is seen in. None where it was tried already, or is too long.
pub(crate) fn longer(run: &Run<'_>, states: Option<i64>, recurs: i64) -> Option<(i64, i64)> {
    let last = LONG[LONG.len() - 1];
    let period = lcm(states.unwrap_or(1), recurs);
    let tried = states.map_or(PERIODS * period < last, |states| (2 * states) % period == 0);
    let asked = run.options.max_trips >= last && period <= longest(run);
    (asked && !tried).then_some(((PERIODS * period).max(last), period))
}

/// The first of these periods by which kernels below a number carry on from here, and from where they do; or perhaps why they
/// do not.
pub(crate) fn from(
    start: i64,
    periods: &[i64],
    max: i64,
    mut carries: impl FnMut((i64, i64)) -> Result<(), String>,
) -> Result<Proof, Option<String>> {
    let mut why = None;
    for more in BEHIND {
        // What slots hold, and a parity, may be back later than all else.
        for period in periods {
            let first = start + 2 * period + more;
            if first + period > max {
                continue;
            }
            match carries((first, *period)) {
                Ok(()) => return Ok(Proof { first, period: *period }),
                Err(w) => why = Some(format!(": {w}")),
            }
        }
    }
    Err(why)
}

/// Whether the trip counts carry on as those of another kernel do.
pub(crate) fn holds(run: &Run<'_>, at: AtTrips<'_>, like: Proof) -> bool {
    carries(run, at, (like.first, like.period)).is_ok()
}

/// The same period from as small a trip count on as shows it.
pub(crate) fn least(run: &Run<'_>, at: AtTrips<'_>, found: Proof) -> Proof {
    let Proof { first, period, .. } = found;
    let sooner = (2 * period + 2..first).step_by(2).find(|first| carries(run, at, (*first, period)).is_ok());
    sooner.map_or(found, |first| Proof { first, ..found })
}

/// Kernels with indices that carry on, or as they are; either shows it.
pub(crate) fn either<const N: usize>(
    of: [Program; N],
    shows: impl Fn([&Program; N]) -> Result<(), String>,
) -> Result<(), String> {
    let refined = of.each_ref().map(refine);
    shows(refined.each_ref()).or_else(|why| if refined == of { Err(why) } else { shows(of.each_ref()) })
}

/// Whether each trip count of a period follows from the one a period before.
fn carries(run: &Run<'_>, at: AtTrips<'_>, (first, period): (i64, i64)) -> Result<(), String> {
    let one = |n| {
        let Some(long) = at(n) else { return Ok(()) };
        let short = at(n - period).ok_or("the kernel refuses some trip counts")?;
        either([short, long], |[short, long]| pair::alike(run.job(short), run.job(long)))
    };
    // Where the period is another, the first pair shows it.
    one(first)?;
    let each: Vec<Result<(), String>> = (first + 1..first + period).into_par_iter().map(one).collect();
    // The first reason, whichever thread was first.
    each.into_iter().collect()
}
