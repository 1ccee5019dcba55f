//! Self-composition: two runs of one kernel that differ by some steps of its loops, compared in lockstep.
//!
//! ```text
//!   short  ────────a─────────────────a'──────────── end      both step together, but for
//!                  │ ╲               │ ╲                     the periods that only the long
//!   long   ────────a──b──────────────a'─b'───────── end      run has: a─b, a'─b', ...
//! ```
//!
//! The runs step together until a decision differs, because the short run approaches its end. Before that, at place
//! `a`, the long run inserts one period alone and reaches place `b`. Its state at `b` equals the state of the short run
//! up to a shift. From there on the runs step together again. Each pass through a growing loop has its own insertion.
//!
//! **Hypothesis.** In the period after `a`, the runs are compared twice: before the long run inserts its period, and
//! after. A number in a decision is `x` in the short run. In the long run the number is `x + d` in the inserted period,
//! and `x + e` in the period after it. Neither `d` nor `e`, added any number of times, changes the decision
//! (`shift_invariance`). The states of both runs at `a`, and at `b`, are equal up to a shift.
//!
//! **Claim.** Every run that is longer by a multiple of the difference ends as these two do, with the same findings.
//!
//! **Proof.** The number is `x + (k - j + 1) d + (j - 1) e` in the j-th of k inserted periods. So its decision is that
//! of the short run. Before `a` the number is `x + k d`, and after `b` it is `x + k e`. The world itself compares only
//! clocks, whose order does not depend on a shift.
//!
//! The long run may insert the difference in parts, one before a comparison such as `2 * i < n` changes, and one after
//! it. Each part is a period in the sense above: the change of a number in the j-th of k copies is linear in j and k.

use rustc_hash::FxHashMap;
use warpline_sim::ir::{Loop, gcd, lcm};
use warpline_sim::protocol::Snapshot;

use crate::execution::canonical::{CanonicalRun, Job, StepOutcome};
use crate::induction::lockstep::Reached;
use crate::induction::loop_counter::grown;
use crate::induction::loop_counter::{Watch, step_of};
use crate::induction::periods::{self, Places};
use crate::induction::shift_invariance::{self, Conditions};

/// The steps of a run through its finest loop with operations, among the loops that grow from a shorter run to this one.
struct Marks<T> {
    /// The number of trip counts in which the finest loop makes a whole step.
    step: i64,
    /// The same number for each growing loop.
    steps: Vec<i64>,
    /// The number of the first step of the longest pass, of all steps of the run.
    first: usize,
    /// The data kept at each step of the first of the longest passes, with the number of the iteration that starts there. Iterations
    /// without an operation are missing.
    list: Vec<(i64, T)>,
}

/// The marks of a run up to the one that `keep` refuses; `keep` has the number of each mark.
fn marks<T>(
    shorter: Job<'_>,
    job: Job<'_>,
    mut keep: impl FnMut(usize, &CanonicalRun<'_>) -> Option<T>,
) -> Option<Marks<T>> {
    let loops = grown(shorter.prog, job.prog);
    let steps: Vec<i64> = loops.iter().map(|(l, by)| trips(step_of(job.prog, l), *by)).collect();
    // The finest loop in which some role has operations.
    let mut finest: Vec<(i64, &Loop)> = steps.iter().copied().zip(loops.iter().map(|(l, _)| *l)).collect();
    finest.retain(|(_, l)| l.index().is_some());
    finest.sort_by_key(|(step, _)| *step);
    let mut found = None;
    for (step, l) in finest {
        let (first, list) = marks_of(job, l, &mut keep)?;
        let empty = list.is_empty();
        let marks = Marks { step, steps: steps.clone(), first, list };
        if !empty {
            return Some(marks);
        }
        found = found.or(Some(marks));
    }
    found
}

/// The number of the first mark of the longest pass through a loop, and the marks of this pass.
fn marks_of<T>(
    job: Job<'_>,
    l: &Loop,
    keep: &mut impl FnMut(usize, &CanonicalRun<'_>) -> Option<T>,
) -> Option<(usize, Vec<(i64, T)>)> {
    let mut watch = Watch::of(job.prog, l, None, 0)?;
    let mut walk = CanonicalRun::new(job);
    let mut marks = Vec::new();
    let mut passes = vec![0];
    loop {
        let made = walk.next();
        if let StepOutcome::RunEnded(_) = made {
            break;
        }
        let before = watch.last;
        if watch.steps(&walk, &made) > 0 {
            // An outer loop has restarted the loop.
            if watch.last < before {
                passes.push(marks.len());
            }
            let Some(kept) = keep(marks.len(), &walk) else { break };
            marks.push((watch.iteration(), kept));
        }
    }
    passes.push(marks.len());
    // The first of the longest passes: slots are in a steady state sooner in later ones.
    let pass = passes.windows(2).rev().max_by_key(|w| w[1] - w[0])?;
    let first = pass[0];
    let list = marks.drain(first..pass[1]).collect();
    Some((first, list))
}

/// The number of trip counts after which all decisions can recur, if it is at most `most` (`periods`).
pub(crate) fn recurs(shorter: Job<'_>, job: Job<'_>, most: i64) -> Option<i64> {
    let Marks { step, list, .. } = marks(shorter, job, |_, walk| Some(Places::of(walk)))?;
    let list: Vec<Places> = list.into_iter().map(|(_, places)| places).collect();
    let (middle, most) = (list.len() / 2, most / step);
    let steps = periods::recurs(job.prog, list.get(middle - SEEN.min(middle)..middle)?, most)?;
    let by_index = periods::recurs_by_index(job.prog, &grown(shorter.prog, job.prog), most)?;
    Some(lcm(steps, by_index) * step)
}

/// The number of trip counts in which the finest growing loop makes one more iteration. A loop over rows in steps of 8 CTAs
/// has 8.
pub(crate) fn unit(shorter: Job<'_>, job: Job<'_>) -> Option<i64> {
    marks(shorter, job, |_, _| Some(())).map(|marks| marks.step)
}

/// Number of steps that show the change of numbers.
pub(crate) const SEEN: usize = 4;

/// The start and the period of repetition of a run, both as trip counts, from a loop that grows from `shorter` to it.
pub(crate) fn repeats(shorter: Job<'_>, job: Job<'_>) -> Option<(i64, i64)> {
    let Marks { steps, step, first, list: marks } = marks(shorter, job, |_, walk| Some(walk.outline()))?;
    if marks.is_empty() {
        // The loop has no operation, so every iteration is like any other.
        return Some((0, steps.iter().copied().fold(1, lcm)));
    }
    let last = marks.len() / 2;
    let states = states(shorter, job, first, &marks[..(last + 1).min(marks.len())])?;
    let like = |i: usize, p: usize| match (states.get(i)?, states.get(i + p)?) {
        (Some(a), Some(b)) if marks[i].1 == marks[i + p].1 => Some(shift_invariance::states(&[a, b])),
        _ => Some(false),
    };
    // Iterations between marks: more than marks where nothing is done in some.
    let long = |i: usize, p: usize| marks[i + p].0 - marks[i].0;
    let twice = |middle: usize, p: usize| {
        long(middle - p, p) == long(middle - 2 * p, p)
            && like(middle - p, p) == Some(true)
            && like(middle - 2 * p, p) == Some(true)
    };
    // Well before the end, and as near the middle as that allows. Where CTAs share out the steps of a tile, others may
    // start another part just there.
    let before = |middle: usize| (1..=middle / 2).find(|p| twice(middle, *p)).map(|p| (middle, p));
    let (middle, marked) = [last, 3 * marks.len() / 8].into_iter().find_map(before)?;
    let period = long(middle - marked, marked);
    let mut first = middle - marked;
    while first > 0 && long(first - 1, marked) == period && like(first - 1, marked) == Some(true) {
        first -= 1;
    }
    let start = marks[first].0 - marks[0].0;
    // A multiple of the whole steps of every loop.
    let period = steps.iter().copied().fold(period * step, lcm);
    Some((start * step, period))
}

/// The states at marks of a run, of those whose outline another one has.
fn states(shorter: Job<'_>, job: Job<'_>, first: usize, list: &[(i64, u64)]) -> Option<Vec<Option<Snapshot>>> {
    let mut often: FxHashMap<u64, usize> = FxHashMap::default();
    list.iter().for_each(|(_, outline)| *often.entry(*outline).or_default() += 1);
    let mut kept = Vec::with_capacity(list.len());
    marks(shorter, job, |mark, walk| {
        if let Some((_, outline)) = mark.checked_sub(first).and_then(|i| list.get(i)) {
            kept.push((often[outline] > 1).then(|| walk.state()));
        }
        (kept.len() < list.len()).then_some(())
    })?;
    Some(kept)
}

/// In how many trip counts a loop makes a whole step: with each, one more, if its bound grows by as much as its index does.
pub(crate) fn trips(step: i64, by: i64) -> i64 {
    step / gcd(step, by)
}

/// Compares two runs for this many periods. The error says where they diverge, with what was learned. The long run
/// makes its period in `parts` parts.
pub(crate) fn alike(
    short: Job<'_>,
    long: Job<'_>,
    periods: Option<i64>,
    parts: usize,
) -> Result<(), (String, Conditions)> {
    beside(short, long, periods, parts).map(drop)
}

/// [`alike`], with what was learned in either case.
pub(crate) fn beside(
    short: Job<'_>,
    long: Job<'_>,
    periods: Option<i64>,
    parts: usize,
) -> Result<Conditions, (String, Conditions)> {
    let start = Reached::in_parts(vec![CanonicalRun::new(short), CanonicalRun::new(long)], parts);
    let conditions = start.conditions.clone();
    if let Ok(mut conditions) = conditions.lock() {
        conditions.periods = periods;
    }
    let over = start.run_to_end();
    let conditions = conditions.lock().map(|conditions| conditions.clone()).unwrap_or_default();
    over.map_or_else(|why| Err((why, conditions.clone())), |()| Ok(conditions.clone()))
}
