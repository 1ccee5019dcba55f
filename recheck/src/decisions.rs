//! The side conditions of lemma 5: when numbers that differ between runs decide alike in all longer runs.
//!
//! Two runs differ by a period. Four runs differ by a period of each of two loops, in the order: neither, first,
//! second, both. A number `x` of the first run has a *gain* in each direction. Its gain in both directions at once is
//! what exceeds the sum of these two.

use warpline_sim::ir::Binary;
use warpline_sim::protocol::Decision;

/// A number of the first run, with its gains.
#[derive(Clone, Copy)]
struct Number {
    x: i128,
    gains: [i128; 3],
}

impl Number {
    fn of(values: &[i64]) -> Number {
        let less = |a: i64, b: i64| i128::from(a) - i128::from(b);
        let gains = match *values {
            [a, b] => [less(b, a), 0, 0],
            [a, b, c, d] => [less(b, a), less(c, a), less(d, c) - less(b, a)],
            _ => unreachable!("two runs or four"),
        };
        Number { x: i128::from(values[0]), gains }
    }

    fn stands(self) -> bool {
        self.gains == [0; 3]
    }

    fn minus(self, y: Number) -> Number {
        Number { x: self.x - y.x, gains: std::array::from_fn(|i| self.gains[i] - y.gains[i]) }
    }

    /// Whether the number keeps its sign with up to `periods` more periods; with any number of periods if `periods` is
    /// `None`.
    fn keeps_its_sign(self, periods: Option<i64>) -> bool {
        if self.x == 0 || self.stands() {
            return self.stands();
        }
        let away = |gain: i128| gain.signum() != -self.x.signum();
        if self.gains.into_iter().all(away) {
            return true;
        }
        let [gain, 0, 0] = self.gains else { return false };
        periods.is_some_and(|most| (self.x + i128::from(most) * gain).signum() == self.x.signum())
    }
}

/// Whether lists of decisions, one for each run, agree now and in all runs that are longer by whole periods.
///
/// An agent may pass several iterations of a loop in one move if the loop has no operation for it. Longer runs can then
/// pass more iterations. In this case the first half of the shortest list is compared with the first iterations, and
/// the second half with the last ones.
pub(crate) fn alike(runs: &[&[Decision]], periods: Option<i64>) -> bool {
    if runs.iter().all(|list| list.len() == runs[0].len()) && !runs.iter().any(|list| list.contains(&Decision::Again)) {
        return all(runs, periods);
    }
    let passes: Vec<Vec<&[Decision]>> =
        runs.iter().map(|list| list.split(|x| *x == Decision::Again).collect()).collect();
    let few = passes[0].len();
    let even = passes.iter().all(|p| p.len() == few);
    if !even && (few < 5 || passes.iter().any(|p| p.len() < few)) {
        return false;
    }
    let half = (few - 1).div_ceil(2);
    (0..few).all(|i| {
        let at = |p: &Vec<&[Decision]>| if even || i < half { i } else { p.len() - few + i };
        all(&passes.iter().map(|p| p[at(p)]).collect::<Vec<_>>(), periods)
    })
}

/// [`alike`] for lists without a loop.
fn all(runs: &[&[Decision]], periods: Option<i64>) -> bool {
    let len = runs[0].len();
    runs.iter().all(|list| list.len() == len) && (0..len).all(|i| one(runs, i, periods))
}

/// One decision, as each of the runs makes it.
fn one(runs: &[&[Decision]], i: usize, periods: Option<i64>) -> bool {
    let (mut x, mut y) = ([0; 4], [0; 4]);
    for (k, list) in runs.iter().enumerate() {
        (x[k], y[k]) = match (list[i], runs[0][i]) {
            (Decision::Fixed(a), Decision::Fixed(_)) => (a, 0),
            (Decision::Op(o, a, b), Decision::Op(p, ..)) if o == p => (a, b),
            (Decision::End { obj, axis, first, end }, Decision::End { obj: o, axis: i, .. })
                if (obj, axis) == (o, i) =>
            {
                (first, end)
            }
            _ => return false,
        };
    }
    let (x, y) = (Number::of(&x[..runs.len()]), Number::of(&y[..runs.len()]));
    match runs[0][i] {
        Decision::Op(op, ..) => operands(op, x, y, periods),
        Decision::End { .. } => operands(Binary::Lt, x, y, periods),
        Decision::Fixed(_) | Decision::Again => x.stands(),
    }
}

/// Whether the result of an operator is independent of the gains of its operands.
fn operands(op: Binary, x: Number, y: Number, periods: Option<i64>) -> bool {
    match op {
        Binary::Add | Binary::Sub => true,
        // One factor must be a constant. The product of two numbers that vary in one direction is not linear.
        Binary::Mul => {
            let moves = |n: Number, i: usize| n.gains[i] != 0 || n.gains[2] != 0;
            (0..2).all(|i| !moves(x, i) || !moves(y, i))
        }
        Binary::Div | Binary::Rem | Binary::CeilDiv => {
            y.stands() && (x.stands() || y.x != 0 && x.gains.iter().all(|gain| gain % y.x == 0))
        }
        Binary::Min | Binary::Max | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => {
            x.minus(y).keeps_its_sign(periods)
        }
        Binary::And | Binary::Or | Binary::BitOr | Binary::BitAnd | Binary::Shl => x.stands() && y.stands(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(op: Binary, short: (i64, i64), long: (i64, i64), periods: Option<i64>) -> bool {
        alike(&[&[Decision::Op(op, short.0, short.1)], &[Decision::Op(op, long.0, long.1)]], periods)
    }

    #[test]
    fn a_comparison_must_not_come_nearer_to_its_other_side() {
        assert!(two(Binary::Lt, (3, 10), (3, 12), None));
        assert!(two(Binary::Lt, (3, 10), (5, 12), None));
        assert!(!two(Binary::Lt, (3, 10), (5, 10), None));
        // 7 is below 10, and the distance shrinks by 2 with each period: up to three periods keep the order.
        assert!(two(Binary::Lt, (3, 10), (5, 10), Some(3)));
        assert!(!two(Binary::Lt, (3, 10), (5, 10), Some(4)));
        assert!(!two(Binary::Eq, (10, 10), (12, 10), None));
    }

    #[test]
    fn a_divisor_must_divide_the_gain_and_what_says_where_must_stand() {
        assert!(two(Binary::Rem, (5, 4), (9, 4), None));
        assert!(!two(Binary::Rem, (5, 4), (7, 4), None));
        assert!(!two(Binary::Div, (8, 2), (8, 4), None));
        assert!(alike(&[&[Decision::Fixed(3)], &[Decision::Fixed(3)]], None));
        assert!(!alike(&[&[Decision::Fixed(3)], &[Decision::Fixed(4)]], None));
        assert!(!alike(&[&[Decision::Fixed(3)], &[]], None));
    }

    #[test]
    fn of_four_runs_the_gain_in_both_directions_counts_as_well() {
        let four = |x: [i64; 4]| {
            let lists = x.map(|x| vec![Decision::Op(Binary::Gt, x, 0)]);
            alike(&lists.each_ref().map(Vec::as_slice), None)
        };
        assert!(four([5, 6, 8, 9]));
        assert!(four([5, 6, 8, 12]));
        assert!(!four([5, 6, 8, 8]));
    }
}
