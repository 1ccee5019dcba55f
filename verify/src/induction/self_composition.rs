//! Two runs of one kernel that differ by some steps of its loops, laid beside each other.
//!
//! ```text
//!   short  ────────a─────────────────a'──────────── end      both step together, but for
//!                  │ ╲               │ ╲                     the periods that only the long
//!   long   ────────a──b──────────────a'─b'───────── end      run has: a─b, a'─b', ...
//! ```
//!
//! They step together until the end comes into sight of the short one: a number decides otherwise. Before that, at a, the
//! long run alone makes one period more, after which its state, at b, is that of the short one but for how far its
//! numbers have moved; from there on they step together again. Each pass through a loop that grows has its period.
//!
//! What this shows. Two runs are laid beside each other in the period behind a twice: before the long one makes a period
//! alone, and after. A number that decides there is x in the short run and, in the long one, x + d in the period that it makes
//! alone (which is the period behind a of the first time), x + e in the one after it; and neither d nor e, added however
//! often, makes it decide otherwise (`shift_invariance`). In the j-th of k periods that a longer run makes alone the number is
//! x + (k - j + 1) d + (j - 1) e, so it decides as in the short run. Before a and behind b it is x + k d and x + k e. What
//! the world itself compares are its clocks, and in both runs at a, and at b, it is in one state but for how far these have
//! moved. So every run that is longer by a multiple of the difference ends as these two did, with the same findings.
//!
//! The long run may make the difference in parts, one before a comparison such as `2 * i < n` comes out otherwise, and one
//! behind it. Each part is a period in the sense above: what is added to a number in the j-th of k is linear in j and k.

use crate::induction::shift_invariance::{self, Conditions};
use warpline_sim::ir::{gcd, lcm};

use crate::execution::canonical::{CanonicalRun, Job, StepOutcome};
use crate::induction::lockstep::Reached;
use crate::induction::loop_counter::grown;
use crate::induction::loop_counter::{Watch, step_of};
use crate::induction::periods::{self, Places};

/// A run's steps through the loop that counts most finely, of those that grow from a shorter run to it.
struct Marks<T> {
    /// In how many trip counts it makes a whole step...
    step: i64,
    /// ...and each of those that grow.
    steps: Vec<i64>,
    /// What was kept of each step of the longest pass, and the iteration that began with it; none where nobody has anything
    /// to do in it.
    list: Vec<(i64, T)>,
}

fn marks<T>(shorter: Job<'_>, job: Job<'_>, keep: impl Fn(&CanonicalRun<'_>) -> T) -> Option<Marks<T>> {
    let loops = grown(shorter.prog, job.prog);
    let steps: Vec<i64> = loops.iter().map(|(l, by)| trips(step_of(job.prog, l), *by)).collect();
    // The index of the loop that counts most finely.
    let (step, (l, _)) = steps.iter().zip(&loops).filter(|(_, (l, _))| l.index().is_some()).min_by_key(|(s, _)| **s)?;
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
            // A loop around it begins it anew.
            if watch.last < before {
                passes.push(marks.len());
            }
            marks.push((watch.iteration(), keep(&walk)));
        }
    }
    passes.push(marks.len());
    let pass = passes.windows(2).max_by_key(|w| w[1] - w[0])?;
    let list = marks.drain(pass[0]..pass[1]).collect();
    Some(Marks { step: *step, steps, list })
}

/// After how many trip counts all that numbers decide can be back, if that is no more than `most` (`periods`).
pub(crate) fn recurs(shorter: Job<'_>, job: Job<'_>, most: i64) -> Option<i64> {
    let Marks { step, list, .. } = marks(shorter, job, Places::of)?;
    let list: Vec<Places> = list.into_iter().map(|(_, places)| places).collect();
    let middle = list.len() / 2;
    let steps = periods::recurs(job.prog, list.get(middle - SEEN.min(middle)..middle)?, most / step)?;
    Some(steps * step)
}

/// Steps that show by how much numbers move.
pub(crate) const SEEN: usize = 4;

/// Where a run begins to repeat, and how often, both as trip counts; read off a loop that grows from `shorter` to it.
pub(crate) fn repeats(shorter: Job<'_>, job: Job<'_>) -> Option<(i64, i64)> {
    let Marks { steps, step, list: marks } = marks(shorter, job, |walk| (walk.outline(), walk.state()))?;
    if marks.is_empty() {
        // Nobody has anything to do in it: then every turn is like any other.
        return Some((0, steps.iter().copied().fold(1, lcm)));
    }
    // Well before the end, and as near the middle as that allows.
    let like = |i: usize, p: usize| {
        let ((_, a), (_, b)) = (marks.get(i)?, marks.get(i + p)?);
        Some(a.0 == b.0 && shift_invariance::states(&[&a.1, &b.1]))
    };
    let middle = marks.len() / 2;
    // Iterations between marks: more than marks where nothing is done in some.
    let long = |i: usize, p: usize| marks[i + p].0 - marks[i].0;
    let twice = |p: &usize| {
        long(middle - p, *p) == long(middle - 2 * p, *p)
            && like(middle - p, *p) == Some(true)
            && like(middle - 2 * p, *p) == Some(true)
    };
    let marked = (1..=middle / 2).find(twice)?;
    let period = long(middle - marked, marked);
    let mut first = middle - marked;
    while first > 0 && long(first - 1, marked) == period && like(first - 1, marked) == Some(true) {
        first -= 1;
    }
    let start = marks[first].0 - marks[0].0;
    // As often as every loop makes whole steps.
    let period = steps.iter().copied().fold(period * step, lcm);
    Some((start * step, period))
}

/// In how many trip counts a loop makes a whole step: with each, one more, if its bound grows by as much as its index does.
pub(crate) fn trips(step: i64, by: i64) -> i64 {
    step / gcd(step, by)
}

/// Holds two runs beside each other for so many periods, or says where they are not one kernel and what was learnt. The long
/// one makes its period in so many parts.
pub(crate) fn alike(
    short: Job<'_>,
    long: Job<'_>,
    periods: Option<i64>,
    parts: usize,
) -> Result<(), (String, Conditions)> {
    beside(short, long, periods, parts).map(drop)
}

/// The same; what was learnt in either case.
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
