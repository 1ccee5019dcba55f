//! Operators and terms on numbers, without terms in between.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{Arena, Node, Op, Term};

/// Magnitude below which the sums and differences of this module do not overflow.
const SMALL: i64 = 1 << 61;

/// The values of a term for each combination of values of other terms.
type Column = Rc<[i64]>;

/// An operator on numbers; `None` where the result is no number, or where [`Arena::op`] has more to say of it.
pub(super) fn folded(op: Op, args: &[i64]) -> Option<i64> {
    if args.iter().any(|v| !(-SMALL..SMALL).contains(v)) {
        return None;
    }
    Some(match (op, args) {
        (Op::Div, [a, b]) if *b > 0 => a.div_euclid(*b),
        (Op::Rem, [a, b]) if *b > 0 => a.rem_euclid(*b),
        (Op::DivZero, [a, b]) if *b != 0 => a.wrapping_div(*b),
        (Op::Mul, [a, b]) => a.wrapping_mul(*b),
        (Op::Min, [a, b]) => *a.min(b),
        (Op::Max, [a, b]) => *a.max(b),
        (Op::And, [a, b]) => a & b,
        (Op::Or, [a, b]) => a | b,
        (Op::Xor, [a, b]) => a ^ b,
        (Op::Ge, [a]) => (*a >= 0) as i64,
        (Op::Eq, [a]) => (*a == 0) as i64,
        (Op::Not, [a]) => (*a == 0) as i64,
        (Op::Both, [a, b]) => [0, *b][(*a != 0) as usize],
        (Op::Either, [0, b]) => *b,
        (Op::Either, [a, 0]) => *a,
        (Op::Either, [_, _]) => 1,
        (Op::If, [c, a, b]) => [*b, *a][(*c != 0) as usize],
        (Op::IfNegative, [a, b]) => [0, *b][(*a < 0) as usize],
        _ => return None,
    })
}

impl Arena {
    /// An operator on numbers; `None` where the result is no number.
    pub(super) fn on_numbers(&mut self, op: Op, args: &[i64]) -> Option<i64> {
        folded(op, args).or_else(|| {
            let list: Vec<Term> = args.iter().map(|v| self.int(*v)).collect();
            let t = self.op(op, &list);
            self.constant(t)
        })
    }

    /// The values of a term for every combination of the values of some of its terms; `None` if it reads other atoms.
    pub(crate) fn combinations(&mut self, t: Term, of: &BTreeMap<Term, Vec<i64>>) -> Option<BTreeSet<i64>> {
        let points = of.values().map(Vec::len).product();
        let (mut known, mut each) = (FxHashMap::default(), 1);
        for (x, values) in of {
            let column = (0..points).map(|p| values[p / each % values.len()]).collect();
            known.insert(*x, column);
            each *= values.len();
        }
        Some(self.column(t, points, &mut known)?.iter().copied().collect())
    }

    fn column(&mut self, t: Term, points: usize, known: &mut FxHashMap<Term, Column>) -> Option<Column> {
        if let Some(column) = known.get(&t) {
            return Some(column.clone());
        }
        let new: Vec<i64> = match self.node(t).clone() {
            Node::Const(v) => vec![v; points],
            Node::Atom(_) => return None,
            Node::Sum(k, parts) => {
                let mut sums = vec![k; points];
                for (x, c) in parts.iter() {
                    let column = self.column(*x, points, known)?;
                    sums.iter_mut().zip(column.iter()).for_each(|(s, v)| *s = s.wrapping_add(v.wrapping_mul(*c)));
                }
                sums
            }
            Node::Op(op, args) => {
                let columns = args.iter().map(|x| self.column(*x, points, known)).collect::<Option<Vec<_>>>()?;
                let mut at = Vec::with_capacity(columns.len());
                let value = |p| {
                    at.clear();
                    at.extend(columns.iter().map(|c| c[p]));
                    self.on_numbers(op, &at)
                };
                (0..points).map(value).collect::<Option<_>>()?
            }
            Node::Table(i, first, cycle) => {
                let value = |i: &i64| {
                    let i = usize::try_from(*i).ok()?;
                    Some(first.get(i).copied().unwrap_or_else(|| cycle[(i - first.len()) % cycle.len()]))
                };
                self.column(i, points, known)?.iter().map(value).collect::<Option<_>>()?
            }
        };
        let new: Column = new.into();
        known.insert(t, new.clone());
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Atom;
    use super::*;

    #[test]
    fn an_operator_on_numbers_is_that_of_their_terms() {
        let ops = [
            Op::Div,
            Op::Rem,
            Op::DivZero,
            Op::Mul,
            Op::Min,
            Op::Max,
            Op::And,
            Op::Or,
            Op::Xor,
            Op::Both,
            Op::Either,
            Op::IfNegative,
        ];
        let values = [-(1 << 40), -17, -1, 0, 1, 2, 3, 64, 1 << 40];
        let mut a = Arena::default();
        for (x, y) in values.iter().flat_map(|x| values.map(|y| (*x, y))) {
            let (p, q) = (a.int(x), a.int(y));
            for op in ops {
                // Logic is of booleans.
                if matches!(op, Op::Both | Op::Either) && !((0..2).contains(&x) && (0..2).contains(&y)) {
                    continue;
                }
                let t = a.simplified(op, &[p, q]);
                assert_eq!(a.constant(t), folded(op, &[x, y]), "{op:?} {x} {y}");
            }
            for (op, args) in [(Op::Ge, vec![x]), (Op::Eq, vec![x]), (Op::Not, vec![x]), (Op::If, vec![y, x, 5])] {
                let list: Vec<Term> = args.iter().map(|v| a.int(*v)).collect();
                let t = a.simplified(op, &list);
                assert_eq!(a.constant(t), folded(op, &args), "{op:?} {args:?}");
            }
        }
    }

    #[test]
    fn combinations_are_those_of_all_values() {
        let mut a = Arena::default();
        let (x, y) = (a.atom(Atom::Var(0)), a.atom(Atom::Var(1)));
        let three = a.int(3);
        let (sum, left) = (a.add(x, y), a.rem(y, three));
        let t = a.scale(left, 10);
        let t = a.add(sum, t);
        let of = BTreeMap::from([(x, vec![0, 100]), (y, vec![2, 4])]);
        assert_eq!(a.combinations(t, &of), Some(BTreeSet::from([22, 122, 14, 114])));
        assert_eq!(a.combinations(t, &BTreeMap::from([(x, vec![1])])), None);
    }
}
