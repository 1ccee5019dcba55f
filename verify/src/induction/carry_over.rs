//! Induction over the trip count of the main loop: the period, its start, and the pairs of runs that carry each larger
//! trip count over from a smaller one (`self_composition`).

use std::collections::BTreeSet;

use rayon::prelude::*;
use warpline_sim::ir::{Program, lcm};

use crate::cta::class_run::ClassRun;
use crate::induction::outer_turns::{Compared, Line};
use crate::induction::refined_indices::refine;
use crate::{AtTrips, induction::refused, induction::self_composition};

/// The induction of a loop. All trip counts are decided once those below a number are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    /// The first trip count that follows from a smaller one.
    pub(crate) first: i64,
    /// The difference between the two trip counts.
    pub(crate) period: i64,
}

impl Proof {
    /// The number below which every trip count must be a base case.
    pub(crate) fn needs(&self) -> i64 {
        self.first + self.period
    }

    /// The same induction, started some periods later.
    pub(crate) fn later(self, periods: i64) -> Proof {
        Proof { first: self.first + periods * self.period, ..self }
    }
}

/// A range of trip counts, possibly without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) lo: i64,
    pub(crate) hi: Option<i64>,
}

impl Region {
    pub(crate) const ALL: Region = Region { lo: 0, hi: None };
}

/// The reason why induction does not decide a region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure {
    pub(crate) why: String,
    /// Trip counts at which a comparison changes its result.
    pub(crate) crossings: BTreeSet<i64>,
    /// Periods that remainders need.
    moduli: BTreeSet<i64>,
    /// Number of steps after which states recurred, if they did.
    states: Option<i64>,
    /// Trip counts of runs that had a fault.
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

/// Trip counts of the run that shows the period; a kernel with a long prologue needs the larger ones.
pub(crate) const LONG: [i64; 4] = [24, 48, 96, 160];

/// Steps after the second period at which the start of the induction is tried. With more steps, the end of the shorter
/// run is further away.
const BEHIND: [i64; 6] = [2, 4, 8, 14, 24, 48];

/// The same where one base case less saves many runs: in a plane of two trip counts.
pub(crate) const BEHIND_IN_PLANE: [i64; 7] = [1, 2, 4, 8, 14, 24, 48];

/// Number of these starts that are tried where states recur up to a rotation.
const EARLY: usize = 4;

/// Factor of `max_trips` for the run that shows a longer period.
const LONGER: i64 = 10;
/// Length of such a run in periods: two on each side of the compared states, and one for the prologue.
const PERIODS: i64 = 5;

/// The reason why trip counts with another grid are not proved: the grid that is given has other CTAs.
pub(crate) const OTHER_GRID: &str = "with other trip counts the kernel has another grid";

/// Searches for the period of the main loop in a region, and for its start.
pub(crate) fn find(run: &ClassRun<'_>, at: AtTrips<'_>, region: Region) -> Result<Proof, Failure> {
    let mut failed =
        match near(run, at, region, Near { behind: &BEHIND, most: run.options.max_trips, asked: longest(run) }) {
            Ok(found) => return Ok(found),
            Err(failed) if !run.longer_periods || run.rotates => return Err(failed),
            Err(failed) => failed,
        };
    if failed.states.is_none() && failed.crossings.is_empty() && failed.faults.is_empty() && !run.other_grids {
        match without_steps(run, at, region) {
            Ok(found) => return Ok(found),
            // The region may end where a loop stops to grow.
            Err(more) if !more.crossings.is_empty() => return Err(Failure { crossings: more.crossings, ..failed }),
            Err(_) => {}
        }
    }
    if region.hi.is_none() && !failed.crossings.is_empty() && failed.faults.is_empty() {
        match in_parts(run, at, region) {
            Ok(found) => return Ok(found),
            Err(more) => failed.faults.extend(more.faults),
        }
    }
    if failed.states.is_none() && failed.crossings.is_empty() && failed.faults.is_empty() {
        match in_strides(run, at, region) {
            Ok(found) => return Ok(found),
            Err(more) => failed = failed.with(more),
        }
    }
    longer_periods(run, at, region, longest(run), failed)
}

/// Iterations of a loop that are enough for states to recur: those of [`LONG`], for a loop with a stride.
const IN_STRIDES: [i64; 2] = [24, 48];

/// Searches for the period of a loop with a stride, such as one over rows in steps of the grid. A run of all trip counts
/// of [`LONG`] then makes few iterations.
fn in_strides(run: &ClassRun<'_>, at: AtTrips<'_>, region: Region) -> Result<Proof, Failure> {
    let mut failed = Failure::default();
    let of = |n: i64| Some((at(n)?, at(n - 1)?));
    let unit = of(LONG[1]).and_then(|(a, b)| self_composition::unit(run.job(&b), run.job(&a))).unwrap_or(1);
    let longs = IN_STRIDES.iter().map(|iterations| iterations * unit);
    for long in longs.filter(|long| unit > 1 && *long > LONG[0] && *long <= LONGER * run.options.max_trips) {
        let Some((start, period)) = repeats(run, at, region.lo + long) else { continue };
        failed.states = Some(period);
        let start = start.max(region.lo);
        match from((start, &BEHIND), &[period], region.lo + long, |p| carries(run, at, p, 1, region)) {
            Ok(found) => return Ok(found),
            Err(more) => failed = failed.with(more),
        }
        if !failed.crossings.is_empty() || !failed.faults.is_empty() {
            break;
        }
    }
    Err(failed)
}

/// Starts that are tried where longer runs have no more steps.
const STILL: [i64; 3] = [1, 2, 4];

/// Lemma 5 where the longer run makes no step more, such as a loop to `min(tiles, 5)` from 5 on.
fn without_steps(run: &ClassRun<'_>, at: AtTrips<'_>, region: Region) -> Result<Proof, Failure> {
    let mut failed = Failure::default();
    for start in STILL {
        let proof = Proof { first: region.lo + start, period: 1 };
        match carries(run, at, proof, 1, region) {
            Ok(()) => return Ok(proof),
            Err(more) => failed = failed.with(more),
        }
    }
    Err(failed)
}

/// Numbers of parts of a period, tried where one part does not suffice. A comparison such as `2 * i < n` changes at a
/// fraction of the trip count, so the iterations on both sides of this place must grow.
pub(crate) const PARTS: [usize; 2] = [2, 3];

/// Searches for a period that the longer runs make in parts.
fn in_parts(run: &ClassRun<'_>, at: AtTrips<'_>, region: Region) -> Result<Proof, Failure> {
    let mut failed = Failure::default();
    // States recur in the same way before and after the place where a comparison changes.
    let Some((start, period)) = repeats(run, at, region.lo + LONG[1]) else { return Err(failed) };
    let (start, max) = (start.max(region.lo), region.lo + run.options.max_trips);
    for parts in PARTS {
        match from((start, &BEHIND), &[period * parts as i64], max, |p| carries(run, at, p, parts, region)) {
            Ok(found) => return Ok(found),
            Err(more) => failed = failed.with(more),
        }
        if !failed.faults.is_empty() {
            break;
        }
    }
    Err(failed)
}

/// Largest number of longer periods that are tried in turn.
const ROUNDS: usize = 4;

/// Searches for a period of at most `longest` steps after which all decisions can recur, where the period of states does
/// not suffice.
fn longer_periods(
    run: &ClassRun<'_>,
    at: AtTrips<'_>,
    region: Region,
    longest: i64,
    mut failed: Failure,
) -> Result<Proof, Failure> {
    let recurs = recurs(run, at).unwrap_or(1);
    let mut tried = 0;
    // A longer period can turn out to be too short for another remainder.
    for _ in 0..ROUNDS {
        if !failed.faults.is_empty() {
            break;
        }
        // The least period after which all decisions can recur, according to their divisors.
        let moduli = failed.moduli.iter().fold(1, |all, m| lcm(all, *m).min(longest + 1));
        let asked = lcm(recurs, moduli);
        let Some((long, period)) = longer(run, failed.states, asked, longest).filter(|_| asked != tried) else { break };
        tried = asked;
        let Some((start, of)) = repeats(run, at, region.lo + long) else { break };
        let periods = [lcm(of, period)];
        match from((start.max(region.lo), &BEHIND), &periods, region.lo + long, |p| carries(run, at, p, 1, region)) {
            Ok(found) => return Ok(found),
            Err(more) => failed = failed.with(more),
        }
    }
    Err(failed)
}

/// Searches for the period of the main loop and its start, for all trip counts, in a plane of two trip counts. Base cases
/// may be at most `most`.
pub(crate) fn period(run: &ClassRun<'_>, at: AtTrips<'_>, most: i64) -> Result<Proof, String> {
    let found = near(run, at, Region::ALL, Near { behind: &BEHIND_IN_PLANE, most, asked: REMAINDERS });
    found.or_else(|failed| by_remainders(run, at, most, &failed).ok_or(failed.why))
}

/// Largest period of a plane that remainders of the trip count ask for: each trip count of a period is a line.
const REMAINDERS: i64 = 24;

/// [`period`] where conditions on remainders of the trip count, such as `tiles % 4 == 0`, ask for a longer period than
/// states do.
fn by_remainders(run: &ClassRun<'_>, at: AtTrips<'_>, most: i64, failed: &Failure) -> Option<Proof> {
    let asked = failed.moduli.iter().fold(1, |all, m| lcm(all, *m).min(REMAINDERS + 1));
    if failed.moduli.is_empty() || asked > REMAINDERS || !failed.faults.is_empty() {
        return None;
    }
    let long = LONG.into_iter().find(|n| *n >= PERIODS * asked)?;
    let (start, states) = repeats(run, at, long)?;
    let period = lcm(states, asked);
    let max = most.min(run.options.max_trips);
    from((start, &BEHIND_IN_PLANE), &[period], max, |p| carries(run, at, p, 1, Region::ALL)).ok()
}

/// Largest period of a line: each remainder of it is a pair of runs, and a plane has many lines.
pub(crate) const LONGEST_OF_LINE: i64 = 96;

/// [`period`], also with a period longer than that of the states. A plane has few such lines.
pub(crate) fn period_of_line(run: &ClassRun<'_>, at: AtTrips<'_>) -> Result<Proof, String> {
    let near_start = Near { behind: &BEHIND_IN_PLANE, most: run.options.max_trips, asked: LONGEST_OF_LINE };
    let found = near(run, at, Region::ALL, near_start);
    let found = found.or_else(|failed| {
        let other = run.rotates || !failed.crossings.is_empty();
        if other { Err(failed) } else { longer_periods(run, at, Region::ALL, LONGEST_OF_LINE, failed) }
    });
    found.map_err(|failed| failed.why)
}

/// How many of the trip counts of [`LONG`] are tried where states recur up to a rotation. From the third round of a ring on,
/// each of its slots has the accesses that it always has.
fn rotated_lengths(prog: &Program) -> usize {
    let slots = prog.mbars.iter().map(|b| i64::from(b.stages)).max().unwrap_or(1);
    let enough = LONG.iter().position(|long| *long >= 6 * slots).unwrap_or(LONG.len() - 1) + 1;
    enough.max(2)
}

/// The limits of the search of [`near`].
struct Near<'s> {
    /// Steps after the second period at which the start is tried.
    behind: &'s [i64],
    /// The largest number of base cases.
    most: i64,
    /// The longest period that is tried because remainders ask for it.
    asked: i64,
}

/// Searches for a period of the states of a run of [`LONG`] trip counts.
fn near(run: &ClassRun<'_>, at: AtTrips<'_>, region: Region, limits: Near<'_>) -> Result<Proof, Failure> {
    let Near { behind, most, asked } = limits;
    let (max, lo) = (most.min(run.options.max_trips), region.lo);
    let mut failed = Failure::default();
    // A run of twice the base cases shows the period and its start.
    let enough = |n: &i64| *n == LONG[0] || *n <= 2 * max;
    let lengths = if run.rotates { &LONG[..rotated_lengths(run.given)] } else { &LONG[..] };
    let mut tried = BTreeSet::new();
    let most = shared_kernels(run, at, region);
    let mut line = None;
    let alone = |proof: Proof| carries(run, at, proof, 1, region);
    let mut shared = |proof: Proof| {
        let of = || most.as_ref().and_then(|[most, less]| Line::by_leader(run, at, (most, less)));
        let line = line.get_or_insert_with(of).as_mut();
        match line.map(|line| line.compared(proof.first as usize, proof.period as usize)) {
            Some(Compared::Carries) => Ok(()),
            Some(Compared::Diverges) => alone(proof),
            Some(Compared::Unlike) | None => Err(Failure::default()),
        }
    };
    for long in lengths.iter().copied().filter(|n| *n <= run.options.max_trips && enough(n)) {
        let Some((start, period)) = repeats(run, at, lo + long) else { continue };
        failed.states = Some(period);
        let start = start.max(lo);
        // A longer run that shows the same says nothing new.
        if !tried.insert((start, period)) {
            continue;
        }
        // Where a rotation carries over, it does so from an early start.
        let behind = if run.rotates { &behind[..behind.len().min(EARLY)] } else { behind };
        // Pairs that run alone say why none carries over, and take longer.
        let periods = [period, 2 * period];
        let found = from((start, behind), &periods, lo + max, &mut shared);
        match found.or_else(|_| from((start, behind), &periods, lo + max, alone)) {
            Ok(found) => return Ok(found),
            Err(more) => {
                for period in periods_of_remainders(run, &more, asked).into_iter().map(|p| lcm(period, p)) {
                    let found = from((start, behind), &[period], lo + max, &mut shared);
                    if let Ok(found) = found.or_else(|_| from((start, behind), &[period], lo + max, alone)) {
                        return Ok(found);
                    }
                }
                failed = failed.with(more);
            }
        }
        if run.rotates || !failed.faults.is_empty() || !failed.crossings.is_empty() && long > LONG[0] {
            break;
        }
    }
    failed.why = format!("no state recurs within {max} steps{}", failed.why);
    Err(failed)
}

/// The refined kernels with the most iterations that are looked at, and with one less. `None` where pairs of longer kernels
/// cannot share their runs up to near their ends (`common_prefix`).
fn shared_kernels(run: &ClassRun<'_>, at: AtTrips<'_>, region: Region) -> Option<[Program; 2]> {
    if region.hi.is_some() || run.given.hands_out() {
        return None;
    }
    let known = LONG.into_iter().rev().map(|n| region.lo + n).filter(|n| *n <= run.options.max_trips);
    let both = |n: i64| Some([at(n)?, at(n - 1)?]);
    let kernels = known.into_iter().find_map(both)?;
    kernels.iter().all(|prog| run.has_given_grid(prog)).then(|| kernels.each_ref().map(refine))
}

/// Largest number of periods that are tried because remainders ask for them, before longer runs.
const ASKED: usize = 2;

/// The periods of at most `longest` steps that remainders ask for, shortest first, where nothing else prevents an
/// induction. A longer run would show the same states, and take more steps than to try these periods.
fn periods_of_remainders(run: &ClassRun<'_>, failed: &Failure, longest: i64) -> Vec<i64> {
    let only = failed.crossings.is_empty() && failed.faults.is_empty() && run.longer_periods && !run.rotates;
    failed.moduli.iter().copied().filter(|m| only && *m <= longest).take(ASKED).collect()
}

/// The start and the period at which the states of a run of `long` steps recur.
fn repeats(run: &ClassRun<'_>, at: AtTrips<'_>, long: i64) -> Option<(i64, i64)> {
    let (a, b) = (at(long)?, at(long - 1)?);
    self_composition::repeats(run.job(&refine(&b)), run.job(&refine(&a)))
}

/// The number of steps after which all decisions can recur (`periods`).
pub(crate) fn recurs(run: &ClassRun<'_>, at: AtTrips<'_>) -> Option<i64> {
    let (a, b) = (at(LONG[0])?, at(LONG[0] - 1)?);
    self_composition::recurs(run.job(&b), run.job(&a), longest(run))
}

/// The longest period of the search.
pub(crate) fn longest(run: &ClassRun<'_>) -> i64 {
    LONGER * run.options.max_trips / PERIODS
}

/// A longer run and the period to search for in it. `states` is the period of states, if they recurred; `recurs` the
/// period of decisions. `None` where this period was tried, or is longer than `longest`.
pub(crate) fn longer(run: &ClassRun<'_>, states: Option<i64>, recurs: i64, longest: i64) -> Option<(i64, i64)> {
    let last = LONG[LONG.len() - 1];
    let period = lcm(states.unwrap_or(1), recurs);
    let short = PERIODS * period < last;
    let tried = states.map_or(short, |states| short && (2 * states) % period == 0);
    let asked = run.options.max_trips >= last && period <= longest;
    (asked && !tried).then_some(((PERIODS * period).max(last), period))
}

/// The induction with the first of these periods that carries over from a start below `max`; else the failure. `behind`
/// lists the steps after the second period at which the start is tried.
pub(crate) fn from(
    (start, behind): (i64, &[i64]),
    periods: &[i64],
    max: i64,
    mut carries: impl FnMut(Proof) -> Result<(), Failure>,
) -> Result<Proof, Failure> {
    let mut failed = Failure::default();
    for more in behind {
        // Contents of slots, and a parity, can recur later than the rest of the state.
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

/// Whether the trip counts carry over with the same period and start as those of another kernel.
pub(crate) fn holds(run: &ClassRun<'_>, at: AtTrips<'_>, like: Proof) -> bool {
    carries(run, at, like, 1, Region::ALL).is_ok()
}

/// Calls `shows` with refined indices, then with the kernels themselves; one success suffices.
pub(crate) fn either<const N: usize, E>(
    of: [Program; N],
    shows: impl Fn([&Program; N]) -> Result<(), E>,
) -> Result<(), E> {
    let refined = of.each_ref().map(refine);
    shows(refined.each_ref()).or_else(|why| if refined == of { Err(why) } else { shows(of.each_ref()) })
}

/// Checks that each trip count of a period carries over to the next period, as far as the region goes. The longer run
/// makes the period in `parts` parts.
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
        if ![&short, &long].into_iter().all(|prog| run.has_given_grid(prog)) {
            return Err(Failure::because(OTHER_GRID));
        }
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
    // A wrong period already fails for the first pair.
    one(first)?;
    let each: Vec<Result<(), Failure>> = (first + 1..first + period).into_par_iter().map(one).collect();
    // The first failure in order, whichever thread found it first.
    each.into_iter().collect()
}
