//! From small trip counts to all: where the main loop begins to repeat, how often it does, and pairs of runs that carry
//! each larger trip count on from a smaller one (`self_composition`).

use std::collections::BTreeSet;

use rayon::prelude::*;
use warpline_sim::ir::{Program, lcm};

use crate::cta::class::ClassRun;
use crate::induction::refined_indices::refine;
use crate::{AtTrips, induction::refused, induction::self_composition};

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

/// Trip counts from one up to another, or without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) lo: i64,
    pub(crate) hi: Option<i64>,
}

impl Region {
    pub(crate) const ALL: Region = Region { lo: 0, hi: None };
}

/// Why a region is not decided by induction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure {
    pub(crate) why: String,
    /// Trip counts at which a comparison comes out otherwise.
    pub(crate) crossings: BTreeSet<i64>,
    /// Periods that remainders ask for.
    moduli: BTreeSet<i64>,
    /// After how many steps states recurred, if they did.
    states: Option<i64>,
    /// Trip counts of runs that met a fault.
    pub(crate) faults: BTreeSet<i64>,
}

impl Failure {
    fn because(why: impl Into<String>) -> Failure {
        Failure { why: why.into(), ..Failure::default() }
    }

    fn with(mut self, other: Failure) -> Failure {
        self.crossings.extend(other.crossings);
        self.moduli.extend(other.moduli);
        self.faults.extend(other.faults);
        self.states = self.states.or(other.states);
        if !other.why.is_empty() {
            self.why = other.why;
        }
        self
    }
}

/// Trip counts of the run that the period is read off; a kernel that takes long to fill needs the longer ones.
pub(crate) const LONG: [i64; 4] = [24, 48, 96, 160];

/// Steps behind the second period at which the end is perhaps not in sight yet.
const BEHIND: [i64; 6] = [2, 4, 8, 14, 24, 48];

/// The most trip counts of a run that a longer period is read off, beside those that are tried without one.
const LONGER: i64 = 10;
/// Trip counts of such a run, in periods: two on either side of where states are compared, and what it takes to get there.
const PERIODS: i64 = 5;

/// Looks for the period of the main loop in a region, and where it starts.
pub(crate) fn find(run: &ClassRun<'_>, at: AtTrips<'_>, region: Region) -> Result<Proof, Failure> {
    let mut failed = match near(run, at, region) {
        Ok(found) => return Ok(found),
        Err(failed) if !run.longer_periods => return Err(failed),
        Err(failed) => failed,
    };
    if region.hi.is_none() && !failed.crossings.is_empty() && failed.faults.is_empty() {
        match in_parts(run, at, region) {
            Ok(found) => return Ok(found),
            Err(more) => failed.faults.extend(more.faults),
        }
    }
    let recurs = recurs(run, at).unwrap_or(1);
    let mut tried = 0;
    // A longer period can be seen to be too short for another remainder.
    for _ in 0..ROUNDS {
        if !failed.faults.is_empty() {
            break;
        }
        // The least period after which all that numbers decide can be back, by what they are divided by.
        let moduli = failed.moduli.iter().fold(1, |all, m| lcm(all, *m).min(longest(run) + 1));
        let asked = lcm(recurs, moduli);
        let Some((long, period)) = longer(run, failed.states, asked).filter(|_| asked != tried) else { break };
        tried = asked;
        let Some((start, of)) = repeats(run, at, region.lo + long) else { break };
        let periods = [lcm(of, period)];
        match from(start.max(region.lo), &periods, region.lo + long, |p| carries(run, at, p, 1, region)) {
            Ok(found) => return Ok(found),
            Err(more) => failed = failed.with(more),
        }
    }
    Err(failed)
}

/// In how many parts a period is made where one at one place does not do: a comparison such as `2 * i < n` comes out otherwise
/// at a fraction of the trip count, and each side of it grows.
pub(crate) const PARTS: [usize; 2] = [2, 3];

/// Looks for a period that the longer runs make in parts.
fn in_parts(run: &ClassRun<'_>, at: AtTrips<'_>, region: Region) -> Result<Proof, Failure> {
    let mut failed = Failure::default();
    // Before a comparison comes out otherwise at a fraction of the longest run, states recur as they do behind it.
    let Some((start, period)) = repeats(run, at, region.lo + LONG[1]) else { return Err(failed) };
    let (start, max) = (start.max(region.lo), region.lo + run.options.max_trips);
    for parts in PARTS {
        match from(start, &[period * parts as i64], max, |p| carries(run, at, p, parts, region)) {
            Ok(found) => return Ok(found),
            Err(more) => failed = failed.with(more),
        }
        if !failed.faults.is_empty() {
            break;
        }
    }
    Err(failed)
}

/// Longer periods that are tried, one after the other.
const ROUNDS: usize = 4;

/// Looks for the period of the main loop and where it starts, for all trip counts.
pub(crate) fn period(run: &ClassRun<'_>, at: AtTrips<'_>) -> Result<Proof, String> {
    near(run, at, Region::ALL).map_err(|failed| failed.why)
}

fn near(run: &ClassRun<'_>, at: AtTrips<'_>, region: Region) -> Result<Proof, Failure> {
    let (max, lo) = (run.options.max_trips, region.lo);
    let mut failed = Failure::default();
    for long in LONG.into_iter().filter(|n| *n <= max) {
        let Some((start, period)) = repeats(run, at, lo + long) else { continue };
        failed.states = Some(period);
        let start = start.max(lo);
        match from(start, &[period, 2 * period], lo + max, |p| carries(run, at, p, 1, region)) {
            Ok(found) => return Ok(found),
            Err(more) => failed = failed.with(more),
        }
        if !failed.faults.is_empty() || !failed.crossings.is_empty() && long > LONG[0] {
            break;
        }
    }
    failed.why = format!("no state recurs within {max} steps{}", failed.why);
    Err(failed)
}

/// From where and how often the states of a run of so many steps recur.
fn repeats(run: &ClassRun<'_>, at: AtTrips<'_>, long: i64) -> Option<(i64, i64)> {
    let (a, b) = (at(long)?, at(long - 1)?);
    self_composition::repeats(run.job(&refine(&b)), run.job(&refine(&a)))
}

/// After how many steps all that numbers decide can be back (`periods`).
pub(crate) fn recurs(run: &ClassRun<'_>, at: AtTrips<'_>) -> Option<i64> {
    let (a, b) = (at(LONG[0])?, at(LONG[0] - 1)?);
    self_composition::recurs(run.job(&b), run.job(&a), longest(run))
}

/// The longest period that is looked for.
pub(crate) fn longest(run: &ClassRun<'_>) -> i64 {
    LONGER * run.options.max_trips / PERIODS
}

/// Where states recur after so many steps, if they were seen to, and what numbers decide after others: the period that may
/// be, and a run that it is seen in. None where it was tried already, or is too long.
pub(crate) fn longer(run: &ClassRun<'_>, states: Option<i64>, recurs: i64) -> Option<(i64, i64)> {
    let last = LONG[LONG.len() - 1];
    let period = lcm(states.unwrap_or(1), recurs);
    let short = PERIODS * period < last;
    let tried = states.map_or(short, |states| short && (2 * states) % period == 0);
    let asked = run.options.max_trips >= last && period <= longest(run);
    (asked && !tried).then_some(((PERIODS * period).max(last), period))
}

/// The first of these periods by which kernels below a number carry on from here, and from where they do; or perhaps why they
/// do not.
pub(crate) fn from(
    start: i64,
    periods: &[i64],
    max: i64,
    mut carries: impl FnMut(Proof) -> Result<(), Failure>,
) -> Result<Proof, Failure> {
    let mut failed = Failure::default();
    for more in BEHIND {
        // What slots hold, and a parity, may be back later than all else.
        for period in periods {
            let first = start + 2 * period + more;
            if first + period > max {
                continue;
            }
            let proof = Proof { first, period: *period };
            match carries(proof) {
                Ok(()) => return Ok(proof),
                Err(mut more) => {
                    more.why = format!(": {}", more.why);
                    failed = failed.with(more);
                    if !failed.faults.is_empty() {
                        return Err(failed);
                    }
                }
            }
        }
    }
    Err(failed)
}

/// Whether the trip counts carry on as those of another kernel do.
pub(crate) fn holds(run: &ClassRun<'_>, at: AtTrips<'_>, like: Proof) -> bool {
    carries(run, at, like, 1, Region::ALL).is_ok()
}

/// The same period from as small a trip count on as shows it.
pub(crate) fn least(run: &ClassRun<'_>, at: AtTrips<'_>, found: Proof) -> Proof {
    let Proof { first, period, .. } = found;
    let of = |first| carries(run, at, Proof { first, period }, 1, Region::ALL).is_ok();
    let sooner = (2 * period + 2..first).step_by(2).find(|first| of(*first));
    sooner.map_or(found, |first| Proof { first, ..found })
}

/// Kernels with indices that carry on, or as they are; either shows it.
pub(crate) fn either<const N: usize, E>(
    of: [Program; N],
    shows: impl Fn([&Program; N]) -> Result<(), E>,
) -> Result<(), E> {
    let refined = of.each_ref().map(refine);
    shows(refined.each_ref()).or_else(|why| if refined == of { Err(why) } else { shows(of.each_ref()) })
}

/// Whether each trip count of a period follows from the one a period before, as far as the region goes; the period is made in
/// so many parts.
fn carries(
    run: &ClassRun<'_>,
    at: AtTrips<'_>,
    Proof { first, period }: Proof,
    parts: usize,
    region: Region,
) -> Result<(), Failure> {
    let one = |n: i64| {
        if region.hi.is_some_and(|hi| n > hi) {
            return Ok(());
        }
        let Some(long) = at(n) else { return refused::held(at, n, period).map_err(Failure::because) };
        let short = at(n - period).ok_or_else(|| Failure::because("the kernel refuses some trip counts"))?;
        let periods = region.hi.map(|hi| (hi - (n - period)) / period);
        either([short, long], |[short, long]| {
            self_composition::alike(run.job(short), run.job(long), periods, parts).map_err(|(why, conditions)| {
                Failure {
                    why,
                    crossings: conditions.crossings.iter().map(|k| n - period + k * period).collect(),
                    moduli: conditions.moduli.iter().map(|m| m.saturating_mul(period)).collect(),
                    states: None,
                    faults: if conditions.fault { BTreeSet::from([n - period, n]) } else { BTreeSet::new() },
                }
            })
        })
    };
    // Where the period is another, the first pair shows it.
    one(first)?;
    let each: Vec<Result<(), Failure>> = (first + 1..first + period).into_par_iter().map(one).collect();
    // The first reason, whichever thread was first.
    each.into_iter().collect()
}
