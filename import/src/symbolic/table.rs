//! Sequences that become periodic: ring indices and phases.
//!
//! A register that runs through finitely many values in a loop is such a sequence of the iteration. Every function of
//! only that register is one too, and is computed value by value: `selp(i + 1 == 4, 0, i + 1)` of 0, 1, 2, 3 is 1, 2,
//! 3, 0.

use rustc_hash::FxHashMap;

use warpline_sim::ir::{gcd, lcm};

use super::{Arena, Atom, Node, Op, Term};

/// The length of the longest sequence that is tracked.
pub(crate) const LONGEST: usize = 1024;

/// The largest number of values of a variable for which functions are computed value by value.
const FEW: i64 = 64;

impl Arena {
    /// A sequence at an index that is not negative.
    pub fn table(&mut self, index: Term, mut first: Vec<i64>, mut cycle: Vec<i64>) -> Term {
        if let Some(i) = self.constant(index).and_then(|i| usize::try_from(i).ok()) {
            let v = first.get(i).copied().unwrap_or_else(|| cycle[(i - first.len()) % cycle.len()]);
            return self.int(v);
        }
        if let Some(t) = self.of_sequence(index, &first, &cycle) {
            return t;
        }
        // The shortest cycle.
        let n = cycle.len();
        let period = (1..=n).find(|p| n.is_multiple_of(*p) && (0..n).all(|i| cycle[i] == cycle[i % p])).unwrap_or(n);
        cycle.truncate(period);
        // Numbers before the cycle that continue it backwards become part of it.
        while first.last().is_some_and(|v| cycle.last() == Some(v)) {
            first.pop();
            cycle.rotate_right(1);
        }
        if first.is_empty() && cycle.len() == 1 {
            return self.int(cycle[0]);
        }
        // Behind the first values of a sequence that ends in one number.
        if cycle.len() == 1 && self.range(index).0 >= first.len() as i64 {
            return self.int(cycle[0]);
        }
        // The sequence becomes a multiple of a simpler one, whose values begin at 0 and have no common divisor.
        let all = || first.iter().chain(cycle.iter());
        let least = all().min().copied().unwrap_or(0);
        let by = all().fold(0, |g, v| gcd(g, v.wrapping_sub(least))).max(1);
        let plain = |v: &i64| v.wrapping_sub(least) / by;
        let node = Node::Table(index, first.iter().map(plain).collect(), cycle.iter().map(plain).collect());
        let t = self.intern(node);
        self.sum(least, vec![(t, by)])
    }

    /// A sequence at an index that is itself a value of a sequence, or that is each value of a variable.
    fn of_sequence(&mut self, index: Term, first: &[i64], cycle: &[i64]) -> Option<Term> {
        let at = |i: i64| {
            let i = usize::try_from(i).ok()?;
            Some(first.get(i).copied().unwrap_or_else(|| cycle[(i - first.len()) % cycle.len()]))
        };
        if let Node::Atom(Atom::Var(v)) = self.node(index) {
            let n = self.values_of(*v)?;
            return (0..n as i64).all(|i| at(i) == Some(i)).then_some(index);
        }
        let (k, parts) = self.parts(index);
        let [(t, by)] = *parts else { return None };
        let Node::Table(i, f, c) = self.node(t).clone() else { return None };
        let of = |list: &[i64]| list.iter().map(|v| at(v.checked_mul(by)?.checked_add(k)?)).collect::<Option<Vec<_>>>();
        let (first, cycle) = (of(&f)?, of(&c)?);
        Some(self.table(i, first, cycle))
    }

    /// A remainder of an iteration's index, `(i + k) % c`, or of its quotient, `((i + k) / s + l) % c`, as a sequence.
    pub(super) fn table_of_counter(&mut self, op: Op, x: Term, c: i64) -> Option<Term> {
        if op != Op::Rem || c > LONGEST as i64 {
            return None;
        }
        // i + k
        let counter = |s: &Self, t: Term| matches!(s.node(t), Node::Atom(Atom::Counter(_)));
        let (k, parts) = self.parts(x);
        if let [(t, m)] = *parts
            && counter(self, t)
            && m.abs() < LONGEST as i64
        {
            return Some(self.table(t, Vec::new(), (0..c).map(|i| (m * i + k).rem_euclid(c)).collect()));
        }
        // (i + k) / s + l
        let [(t, m)] = *parts else { return None };
        let Node::Op(Op::Div, args) = self.node(t).clone() else { return None };
        let s = self.constant(args[1])?;
        let (j, inner) = self.parts(args[0]);
        let [(i, n)] = *inner else { return None };
        if !counter(self, i) || s * c > LONGEST as i64 || m.abs() > LONGEST as i64 || n.abs() > LONGEST as i64 {
            return None;
        }
        let value = |i: i64| (m * (n * i + j).div_euclid(s) + k).rem_euclid(c);
        Some(self.table(i, Vec::new(), (0..s * c).map(value).collect()))
    }

    /// One more than the largest value of a variable that is never negative, where that is small.
    fn values_of(&self, v: u32) -> Option<usize> {
        self.memo.look();
        let (low, high) = *self.var_ranges.get(&v)?;
        (low >= 0 && high < FEW).then_some(high as usize + 1)
    }

    /// An operator on sequences of one index and constants, or on a variable with few values, computed value by value.
    pub(super) fn over_table(&mut self, op: Op, args: &[Term]) -> Option<Term> {
        let mut index = None;
        let (mut first, mut cycle) = (0, 1i64);
        for t in args {
            let (_, parts) = self.parts(*t);
            for (x, _) in parts.iter() {
                let (i, before, period) = match self.node(*x) {
                    Node::Table(i, f, c) => (*i, f.len(), c.len() as i64),
                    Node::Atom(Atom::Var(v)) => (*x, self.values_of(*v)? - 1, 1),
                    _ => return None,
                };
                if index.is_some_and(|known| known != i) {
                    return None;
                }
                index = Some(i);
                first = first.max(before);
                cycle = lcm(cycle, period);
            }
        }
        let index = index?;
        // A variable with few values has no others.
        if let Node::Atom(Atom::Var(v)) = self.node(index)
            && let Some(n) = self.values_of(*v)
        {
            (first, cycle) = (n - 1, 1);
        }
        if first + cycle as usize > LONGEST || matches!(op, Op::Load | Op::Trips | Op::HowOften | Op::Shl) {
            return None;
        }
        let mut values = Vec::with_capacity(first + cycle as usize);
        for i in 0..first + cycle as usize {
            let mut at = Vec::with_capacity(args.len());
            for t in args {
                at.push(self.sum_at(*t, i));
            }
            values.push(self.on_numbers(op, &at)?);
        }
        let tail = values.split_off(first);
        Some(self.table(index, values, tail))
    }

    /// Whether a term contains a sequence.
    pub fn has_table(&self, t: Term) -> bool {
        match self.node(t) {
            Node::Const(_) | Node::Atom(_) => false,
            Node::Sum(_, parts) => parts.iter().any(|(x, _)| self.has_table(*x)),
            Node::Op(_, args) => args.iter().any(|x| self.has_table(*x)),
            Node::Table(..) => true,
        }
    }

    /// Whether a term reads an index only inside sequences. Also computes their longest start and common cycle.
    pub fn in_tables(&self, t: Term, index: Term, prefix: &mut usize, period: &mut usize) -> bool {
        if t == index {
            return false;
        }
        match self.node(t) {
            Node::Const(_) | Node::Atom(_) => true,
            Node::Sum(_, parts) => parts.iter().all(|(x, _)| self.in_tables(*x, index, prefix, period)),
            Node::Op(_, args) => args.iter().all(|x| self.in_tables(*x, index, prefix, period)),
            Node::Table(i, first, cycle) if *i == index => {
                *prefix = (*prefix).max(first.len());
                *period = lcm(*period, cycle.len());
                *period <= LONGEST
            }
            Node::Table(i, ..) => self.in_tables(*i, index, prefix, period),
        }
    }

    /// The values of a sum of sequences of one index: this index, the first values and the cycle.
    pub fn as_sequence(&self, t: Term) -> Option<(Term, Vec<i64>, Vec<i64>)> {
        let (k, parts) = self.parts(t);
        self.sequence((k, &parts), LONGEST)
    }

    /// The same for the parts of a sum, of at most so many values.
    pub(super) fn sequence(
        &self,
        (k, parts): (i64, &[(Term, i64)]),
        most: usize,
    ) -> Option<(Term, Vec<i64>, Vec<i64>)> {
        let mut of: Option<(Term, usize, usize)> = None;
        for (x, _) in parts.iter() {
            let Node::Table(i, f, c) = self.node(*x) else { return None };
            of = match of {
                None => Some((*i, f.len(), c.len())),
                Some((j, first, cycle)) if j == *i => Some((j, first.max(f.len()), lcm(cycle, c.len()))),
                Some(_) => return None,
            };
        }
        let (index, first, cycle) = of.filter(|(_, first, cycle)| first + cycle <= most)?;
        let mut values: Vec<i64> = (0..first + cycle).map(|n| self.parts_at(k, parts, n)).collect();
        let cycle = values.split_off(first);
        Some((index, values, cycle))
    }

    /// The value of a sum of sequences at an index.
    fn sum_at(&self, t: Term, i: usize) -> i64 {
        let (k, parts) = self.parts(t);
        self.parts_at(k, &parts, i)
    }

    fn parts_at(&self, k: i64, parts: &[(Term, i64)], i: usize) -> i64 {
        parts.iter().fold(k, |sum, (t, c)| match self.node(*t) {
            Node::Table(_, first, cycle) => {
                let v = first.get(i).copied().unwrap_or_else(|| cycle[(i - first.len()) % cycle.len()]);
                sum.wrapping_add(v.wrapping_mul(*c))
            }
            Node::Atom(Atom::Var(_)) => sum.wrapping_add((i as i64).wrapping_mul(*c)),
            _ => sum,
        })
    }

    /// The value of a term for given values of atoms; `None` if it reads anything else.
    pub fn value(&mut self, t: Term, at: &impl Fn(Atom) -> Option<i64>) -> Option<i64> {
        self.value_with(t, at, &mut FxHashMap::default())
    }

    /// The value of a term for given values of atoms. `memo` has known values and receives new ones.
    pub fn value_with(
        &mut self,
        t: Term,
        at: &impl Fn(Atom) -> Option<i64>,
        memo: &mut FxHashMap<Term, Option<i64>>,
    ) -> Option<i64> {
        if let Some(v) = memo.get(&t) {
            return *v;
        }
        let v = match self.node(t).clone() {
            Node::Const(v) => Some(v),
            Node::Atom(a) => at(a),
            Node::Sum(k, parts) => parts
                .iter()
                .try_fold(k, |sum, (t, c)| Some(sum.wrapping_add(self.value_with(*t, at, memo)?.wrapping_mul(*c)))),
            Node::Op(op, args) => {
                let values: Option<Vec<i64>> = args.iter().map(|t| self.value_with(*t, at, memo)).collect();
                values.and_then(|values| self.on_numbers(op, &values))
            }
            Node::Table(i, first, cycle) => {
                let i = self.value_with(i, at, memo).and_then(|i| usize::try_from(i).ok());
                i.map(|i| first.get(i).copied().unwrap_or_else(|| cycle[(i - first.len()) % cycle.len()]))
            }
        };
        memo.insert(t, v);
        v
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_an_index_say_which_values_of_a_sequence_it_reaches() {
        let mut a = Arena::default();
        let v = a.atom(Atom::Var(0));
        assert_eq!(a.reached(v, 5), 0..5);
        a.bound_var(0, Some((1, 2)));
        assert_eq!(a.reached(v, 5), 1..3);
        // Beyond the numbers that are listed, the cycle goes on.
        a.bound_var(0, Some((1, 9)));
        assert_eq!(a.reached(v, 5), 0..5);
        // Slots of a ring have the bounds of all its values, whichever of them a launch reaches.
        let t = a.table(v, vec![0, 1, 2, 3], vec![4]);
        a.bound_var(0, Some((1, 2)));
        assert_eq!(a.range(t), (0, 4));
    }

    #[test]
    fn sums_of_sequences_of_one_index_are_sequences() {
        let mut a = Arena::default();
        let (i, j) = (a.atom(Atom::Counter(0)), a.atom(Atom::Counter(1)));
        let (x, y) = (a.table(i, vec![], vec![0, 2, 4]), a.table(i, vec![7], vec![0, 1]));
        let y = a.scale(y, 10);
        let t = a.add(x, y);
        let t = a.plus(t, 5);
        let (index, first, cycle) = a.as_sequence(t).expect("a sequence");
        assert_eq!((index, first), (i, vec![75]));
        assert_eq!(cycle, [7, 19, 5, 17, 9, 15]);
        let other = a.table(j, vec![], vec![0, 1]);
        let t = a.add(t, other);
        assert_eq!(a.as_sequence(t), None);
    }
}
