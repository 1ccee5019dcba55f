//! When runs decide alike: what numbers decided on the way, and the states they are in.
//!
//! Runs of one kernel, or of kernels that differ in a trip count, step together: two, a period apart; or four, a period of
//! steps and a period of turns apart, in the order neither, steps, turns, both. A number x of the first is x + d in
//! another. Sums and differences carry the d on. Everything else must not notice them, now or when the same happens once
//! more, in either direction: a remainder if its divisor divides each d, a comparison if both sides move alike or apart,
//! and what says where, whether or how often only if each d is zero. Of four numbers, what the last one moves beyond the
//! other two is a d of its own: numbers that are linear in each direction are settled by these three.

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, gcd, lcm};
use warpline_sim::protocol::{Decision, Entry, Family, Snapshot};

use crate::certificate::Insertion;

/// One number as each of the runs has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    first: i64,
    /// By how much it moves: in one direction; or in each of two, and in both beyond these.
    by: [i64; 3],
}

impl Number {
    /// Of as many runs as there are numbers, two or four.
    fn of(x: &[i64]) -> Number {
        let by = match *x {
            [a, b] => [b.wrapping_sub(a), 0, 0],
            [a, b, c, d] => {
                let (over, up) = (b.wrapping_sub(a), c.wrapping_sub(a));
                [over, up, d.wrapping_sub(a).wrapping_sub(over).wrapping_sub(up)]
            }
            _ => unreachable!("two runs or four"),
        };
        Number { first: x[0], by }
    }

    fn is_constant(&self) -> bool {
        self.by == [0; 3]
    }

    fn minus(&self, other: &Number) -> Number {
        let by = |i: usize| self.by[i].wrapping_sub(other.by[i]);
        Number { first: self.first.wrapping_sub(other.first), by: [by(0), by(1), by(2)] }
    }

    /// Whether it stays on its side of zero, or at it, however far it goes on: with any number of periods, or with as many
    /// as are asked about.
    fn keeps_its_sign(&self, conditions: &mut Conditions) -> bool {
        let sign = self.first.signum();
        if sign == 0 || self.is_constant() {
            return self.is_constant();
        }
        if self.by.iter().all(|d| d.signum() != -sign) {
            return true;
        }
        // Periods after which it is not on this side any more.
        let until = |d: i64| (self.first.unsigned_abs().div_ceil(d.unsigned_abs())) as i64;
        let [d, 0, 0] = self.by else { return false };
        let until = until(d);
        if until > 1 {
            conditions.crossings.insert(until);
        }
        conditions.periods.is_some_and(|most| most < until)
    }
}

/// What is asked of pairs of runs, and what is learnt where they do not carry on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    /// Periods that the longest run has more than the shortest; any number if none is named.
    pub(crate) periods: Option<i64>,
    /// Numbers of periods with which something is decided otherwise.
    pub(crate) crossings: BTreeSet<i64>,
    /// By how many times the period is too short for a remainder.
    pub(crate) moduli: BTreeSet<i64>,
    /// One of the runs met a fault.
    pub(crate) fault: bool,
    /// Where the longer runs made a period alone.
    pub(crate) inserted: Vec<Insertion>,
}

/// At most four runs, the first one first.
pub(crate) const RUNS: usize = 4;

/// Whether the other runs decided in a step as the first one did, and those as far on will. An agent may go round a loop
/// in one step where it has nothing to do there, some runs more often: then the first half of the turns is held to their
/// first turns, the second half to their last.
pub(crate) fn decided(runs: &[&[Decision]], conditions: &mut Conditions) -> bool {
    let again = |list: &[Decision]| list.iter().filter(|x| **x == Decision::Again).count();
    let few = again(runs[0]);
    if runs.iter().all(|list| again(list) == few) {
        return all(runs, conditions);
    }
    if few < 4 || runs.iter().any(|list| again(list) < few) {
        return false;
    }
    let half = few.div_ceil(2);
    let ends = |list: &[Decision]| {
        let turns: Vec<&[Decision]> = list.split(|x| *x == Decision::Again).collect();
        let last = turns.len() - (few + 1 - half);
        turns.iter().enumerate().filter(|(i, _)| *i < half || *i >= last).map(|(_, t)| t.to_vec()).collect::<Vec<_>>()
    };
    let runs: Vec<Vec<Vec<Decision>>> = runs.iter().map(|list| ends(list)).collect();
    (0..few + 1).all(|i| all(&runs.iter().map(|turns| turns[i].as_slice()).collect::<Vec<_>>(), conditions))
}

fn all(runs: &[&[Decision]], conditions: &mut Conditions) -> bool {
    let len = runs[0].len();
    let mut step = [Decision::Again; RUNS];
    let step = &mut step[..runs.len()];
    runs.iter().all(|list| list.len() == len)
        && (0..len).all(|i| {
            step.iter_mut().zip(runs).for_each(|(x, list)| *x = list[i]);
            alike(step, conditions)
        })
}

/// What each of the runs decided in one place.
fn alike(step: &[Decision], conditions: &mut Conditions) -> bool {
    let mut x = [0; RUNS];
    let mut y = [0; RUNS];
    for (i, decisions) in step.iter().enumerate() {
        (x[i], y[i]) = match (*decisions, step[0]) {
            (Decision::Fixed(a), Decision::Fixed(_)) => (a, 0),
            (Decision::Again, Decision::Again) => (0, 0),
            (Decision::Op(o, a, b), Decision::Op(p, ..)) if o == p => (a, b),
            _ => return false,
        };
    }
    let (x, y) = (Number::of(&x[..step.len()]), Number::of(&y[..step.len()]));
    match step[0] {
        Decision::Op(o, ..) => operands(o, x, y, conditions),
        Decision::Fixed(_) | Decision::Again => x.is_constant(),
    }
}

/// Whether an operator does not notice that its operands move.
fn operands(o: Binary, x: Number, y: Number, conditions: &mut Conditions) -> bool {
    match o {
        Binary::Add | Binary::Sub => true,
        // By a constant of the compiled kernel; which of two other numbers stands could be now the one, now the other.
        Binary::Mul => {
            let moves = |n: &Number, i: usize| n.by[i] != 0 || n.by[2] != 0;
            (0..2).all(|i| !moves(&x, i) || !moves(&y, i))
        }
        Binary::Div | Binary::Rem | Binary::CeilDiv => {
            let even = y.is_constant() && (x.is_constant() || y.first != 0 && x.by.iter().all(|d| d % y.first == 0));
            if !even && y.is_constant() && y.first > 0 {
                let by = |d: &i64| y.first / gcd(y.first, d.checked_abs().unwrap_or(1));
                conditions.moduli.insert(x.by.iter().map(by).fold(1, lcm));
            }
            even
        }
        Binary::Min | Binary::Max | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => {
            x.minus(&y).keeps_its_sign(conditions)
        }
        Binary::And | Binary::Or | Binary::BitOr | Binary::BitAnd | Binary::Shl => x.is_constant() && y.is_constant(),
    }
}

/// Whether states are one state but for how far their numbers have moved. What the world does with the clocks of a
/// component is to compare them, to keep the larger of two, and to count on from the newest; those within
/// the component's window of the newest it also subtracts. So it goes on alike from states in which they are in one order,
/// and those within the window as far from the newest. How far the others are from each other it cannot tell.
pub(crate) fn states(runs: &[&Snapshot]) -> bool {
    let len = runs[0].entries.len();
    if runs.iter().any(|s| s.entries.len() != len) {
        return false;
    }
    // Most that are not one state show it here.
    let like = |(x, y): (&Entry, &Entry)| match (x, y) {
        (Entry::Count(f, _), Entry::Count(g, _)) => f == g,
        _ => x == y,
    };
    if runs[1..].iter().any(|s| !s.entries.iter().zip(&runs[0].entries).all(like)) {
        return false;
    }
    // Different ones of each component, as each of the runs has them; a state names few of them, and each often.
    let mut clocks: Vec<Vec<[i64; RUNS]>> = Vec::new();
    for (i, entry) in runs[0].entries.iter().enumerate() {
        // What variables and coordinates decide is looked at when they do.
        let Entry::Count(Family::Clock(c), _) = *entry else { continue };
        let mut clock = [0; RUNS];
        for (x, s) in clock.iter_mut().zip(runs) {
            if let Entry::Count(_, n) = s.entries[i] {
                *x = n;
            }
        }
        clocks.resize_with(clocks.len().max(c as usize + 1), Vec::new);
        let list = &mut clocks[c as usize];
        if !list.iter().rev().any(|x| *x == clock) {
            list.push(clock);
        }
    }
    let each = 0..runs.len();
    clocks.iter_mut().zip(runs[0].windows.iter()).filter(|(list, _)| !list.is_empty()).all(|(list, window)| {
        list.sort_unstable();
        let newest = list[list.len() - 1];
        let back = |c: &[i64; RUNS], run: usize| newest[run] - c[run];
        let near = |c: &&[i64; RUNS]| each.clone().any(|run| back(c, run) <= *window);
        list.windows(2).all(|w| each.clone().all(|run| w[0][run] < w[1][run]))
            && list.iter().rev().take_while(near).all(|c| each.clone().all(|run| back(c, run) == back(c, 0)))
    })
}
