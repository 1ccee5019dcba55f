//! Shift invariance: when the decisions and states of runs agree for any number of inserted periods.
//!
//! Compared runs of one kernel step together. Two runs differ by a period. Four runs differ by a period of steps and a
//! period of outer iterations, in the order neither, steps, outer iterations, both. A number is `x` in the first run
//! and `x + d` in another. Sums and differences propagate `d`. Every other operation must be independent of `d`, now
//! and for any multiple of it in either direction. A remainder is, if its divisor divides each `d`. A comparison is, if
//! both sides change equally or move apart. A number that says where, whether or how often needs `d = 0`. For four
//! runs, the change of the last beyond the sum of the other two is a `d` of its own. These three changes suffice for
//! numbers that are linear in each direction.

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, gcd, lcm};
use warpline_sim::protocol::{Decision, Entry, Family, Snapshot};

use crate::certificate::Insertion;

/// One number in each of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    first: i64,
    /// The changes: in one direction; or in each of two directions, and in both beyond these.
    by: [i64; 3],
}

impl Number {
    /// The number with its values in two or four runs.
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

    /// Whether the number keeps its sign, for any number of periods or for the number in the conditions.
    fn keeps_its_sign(&self, conditions: &mut Conditions) -> bool {
        let sign = self.first.signum();
        if sign == 0 || self.is_constant() {
            return self.is_constant();
        }
        if self.by.iter().all(|d| d.signum() != -sign) {
            return true;
        }
        // The number of periods after which the sign changes.
        let until = |d: i64| (self.first.unsigned_abs().div_ceil(d.unsigned_abs())) as i64;
        let [d, 0, 0] = self.by else { return false };
        let until = until(d);
        if until > 1 {
            conditions.crossings.insert(until);
        }
        conditions.periods.is_some_and(|most| most < until)
    }
}

/// The conditions on compared runs, and what was learned where they fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    /// Largest number of periods by which the longest run exceeds the shortest; `None` for any number.
    pub(crate) periods: Option<i64>,
    /// Numbers of periods at which a decision changes.
    pub(crate) crossings: BTreeSet<i64>,
    /// Factors by which the period is too short for a remainder.
    pub(crate) moduli: BTreeSet<i64>,
    /// Whether one of the runs had a fault.
    pub(crate) fault: bool,
    /// The places where the longer runs inserted a period.
    pub(crate) inserted: Vec<Insertion>,
}

/// Largest number of runs.
pub(crate) const RUNS: usize = 4;

/// Whether the other runs decided in a step as the first run did, and still do after any number of periods. In one step
/// an agent may pass several iterations of a loop without an operation, and some runs pass more. Then the first half of
/// the iterations is compared with the first ones of each run, and the second half with the last ones.
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

/// Whether the decision of each run in one place is the same.
fn alike(step: &[Decision], conditions: &mut Conditions) -> bool {
    let mut x = [0; RUNS];
    let mut y = [0; RUNS];
    for (i, decisions) in step.iter().enumerate() {
        (x[i], y[i]) = match (*decisions, step[0]) {
            (Decision::Fixed(a), Decision::Fixed(_)) => (a, 0),
            (Decision::Again, Decision::Again) => (0, 0),
            (Decision::Op(o, a, b), Decision::Op(p, ..)) if o == p => (a, b),
            (Decision::End { obj, axis, first, end }, Decision::End { obj: o, axis: i, .. })
                if (obj, axis) == (o, i) =>
            {
                (first, end)
            }
            _ => return false,
        };
    }
    let (x, y) = (Number::of(&x[..step.len()]), Number::of(&y[..step.len()]));
    match step[0] {
        Decision::Op(o, ..) => operands(o, x, y, conditions),
        Decision::End { .. } => operands(Binary::Lt, x, y, conditions),
        Decision::Fixed(_) | Decision::Again => x.is_constant(),
    }
}

/// Whether the result of an operator is independent of changes of its operands.
fn operands(o: Binary, x: Number, y: Number, conditions: &mut Conditions) -> bool {
    match o {
        Binary::Add | Binary::Sub => true,
        // One factor must be a constant of the compiled kernel; a factor that varies makes the product nonlinear.
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

/// Whether states are equal up to a shift of their numbers. The world compares the clocks of a component, keeps the
/// larger of two, and counts on from the newest. It subtracts only clocks within the component's window of the newest.
/// So it continues alike from states whose clocks have the same order, if clocks within the window have the same
/// distance from the newest. Distances of other clocks do not matter.
pub(crate) fn states(runs: &[&Snapshot]) -> bool {
    let len = runs[0].entries.len();
    if runs.iter().any(|s| s.entries.len() != len) {
        return false;
    }
    // Most unequal states already differ here.
    let like = |(x, y): (&Entry, &Entry)| match (x, y) {
        (Entry::Count(f, _), Entry::Count(g, _)) => f == g,
        _ => x == y,
    };
    if runs[1..].iter().any(|s| !s.entries.iter().zip(&runs[0].entries).all(like)) {
        return false;
    }
    // Distinct clocks of each component, with one value for each run. A state names few clocks, and each one often.
    let mut clocks: Vec<Vec<[i64; RUNS]>> = Vec::new();
    for (i, entry) in runs[0].entries.iter().enumerate() {
        // Variables and coordinates are compared where they decide something.
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
