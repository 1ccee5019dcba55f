//! Bounds of terms.

use warpline_sim::ir::gcd;

use super::{Arena, Atom, Node, Op, Place, Term};

/// Stands for a missing bound.
const FAR: i64 = 1 << 62;

/// The largest value of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Largest {
    /// The largest value, unless one of the operands is larger.
    pub number: i64,
    /// These operands, by their places.
    pub operands: Vec<usize>,
}

impl Arena {
    /// Smallest and largest value; beyond 2^61 where there is no bound.
    pub fn range(&self, t: Term) -> (i64, i64) {
        if let Node::Const(v) = self.node(t) {
            return (*v, *v);
        }
        let known = if self.has_passing_bounds(t) {
            self.memo.look();
            &self.passing_ranges
        } else {
            &self.ranges
        };
        if let Some(known) = known.borrow().get(&t) {
            return *known;
        }
        let bounds = self.bounds(t);
        known.borrow_mut().insert(t, bounds);
        bounds
    }

    /// The bounds of a variable or a counter change.
    pub(super) fn forget_passing_bounds(&mut self) {
        self.passing_ranges.borrow_mut().clear();
        self.memo.bounds_change();
    }

    /// Other bounds change.
    pub(super) fn forget_bounds(&mut self) {
        self.forget_passing_bounds();
        self.ranges.borrow_mut().clear();
        self.memo.clear();
    }

    /// Says that a new opaque value is not negative.
    pub fn bound_opaque(&mut self, n: u32) {
        self.natural.insert(n);
    }

    /// Says that a parameter at an offset is not negative.
    pub fn bound_param(&mut self, parameter: u16, offset: u32) {
        self.natural_params.insert((parameter, offset));
    }

    /// Says that a term is a number of so many bits, shifted to the right by `s`.
    pub fn bound_shifted(&mut self, t: Term, (bits, signed): (u32, bool), s: u32) {
        let bits = if signed { bits - 1 } else { bits };
        if bits <= 32 && self.constant(t).is_none() {
            let most = (1i64 << bits.saturating_sub(s)) - 1;
            let known = self.shifted.entry(t).or_insert((most, !signed));
            *known = (most.min(known.0), known.1 || !signed);
        }
    }

    /// The largest value of an unsigned number that was shifted to the right, as far as the shift says it. The number is
    /// not negative in any launch where arithmetic does not overflow.
    pub(super) fn shifted(&self, t: Term) -> Option<i64> {
        self.shifted.get(&t).filter(|(_, unsigned)| *unsigned).map(|(most, _)| *most)
    }

    /// The largest value of a signed number that was shifted to the right.
    pub fn most_shifted(&self, t: Term) -> Option<i64> {
        self.shifted.get(&t).filter(|(_, unsigned)| !unsigned).map(|(most, _)| *most)
    }

    /// The largest value of a function.
    fn largest_of(&self, args: &[Term]) -> i64 {
        let known = self.constant(args[0]).and_then(|name| self.largest.get(&name));
        known.map_or(FAR, |l| {
            l.operands.iter().fold(l.number, |m, n| m.max(args.get(*n).map_or(FAR, |t| self.range(*t).1)))
        })
    }

    /// Whether the value of a function is not negative.
    fn is_natural(&self, args: &[Term]) -> bool {
        let needs = self.constant(args[0]).and_then(|name| self.natural_functions.get(&name));
        needs.is_some_and(|needs| needs.iter().all(|n| self.range(args[*n]).0 >= 0))
    }

    fn bounds(&self, t: Term) -> (i64, i64) {
        let clip = |v: i128| v.clamp(-(FAR as i128), FAR as i128) as i64;
        match self.node(t) {
            Node::Const(v) => (*v, *v),
            Node::Atom(a) => match a {
                Atom::Place(Place::Ctas(_) | Place::Clusters(_)) => (1, (1 << 31) - 1),
                Atom::Counter(h) => (0, self.counter_ranges.get(h).copied().unwrap_or((1 << 31) - 1)),
                Atom::Place(p) => (0, self.place_ranges.get(p).copied().unwrap_or((1 << 31) - 1)),
                Atom::Symbol(n) => self.symbol_ranges.get(n).copied().unwrap_or((-FAR, FAR)),
                Atom::Opaque(n) if self.natural.contains(n) => (0, FAR),
                Atom::Param(p, offset) if self.natural_params.contains(&(*p, *offset)) => (0, (1 << 31) - 1),
                Atom::Var(v) => self.var_ranges.get(v).copied().unwrap_or((-FAR, FAR)),
                _ => (-FAR, FAR),
            },
            Node::Sum(k, parts) => {
                let (mut low, mut high) = (*k as i128, *k as i128);
                let beyond = self.beyond(parts);
                for (n, (t, c)) in parts.iter().enumerate() {
                    // `x - min(x, y)` is at least 0.
                    if let Some((x, m, most)) = beyond
                        && (n == x || n == m)
                    {
                        high += if n == x { most as i128 * *c as i128 } else { 0 };
                        continue;
                    }
                    let (a, b) = self.range(*t);
                    let (x, y) = (a as i128 * *c as i128, b as i128 * *c as i128);
                    low += x.min(y);
                    high += x.max(y);
                }
                (clip(low), clip(high))
            }
            Node::Table(_, first, cycle) => {
                let all = || first.iter().chain(cycle.iter());
                (all().min().copied().unwrap_or(0), all().max().copied().unwrap_or(0))
            }
            Node::Op(op, args) => self.range_of(*op, args),
        }
    }

    /// The entries of a sequence of `n` numbers that an index reaches: all but those outside of its bounds.
    pub fn reached(&self, index: Term, n: usize) -> std::ops::Range<usize> {
        let (low, high) = self.range(index);
        match (usize::try_from(low), usize::try_from(high)) {
            (Ok(low), Ok(high)) if low <= high && high < n => low..high + 1,
            _ => 0..n,
        }
    }

    /// A part `x` of a sum that also has the part `-min(x, y)`, this part, and the largest value of both together.
    fn beyond(&self, parts: &[(Term, i64)]) -> Option<(usize, usize, i64)> {
        parts.iter().enumerate().find_map(|(m, (t, c))| {
            let Node::Op(Op::Min, args) = self.node(*t) else { return None };
            let n = parts.iter().position(|(x, d)| args.contains(x) && *d > 0 && d.checked_neg() == Some(*c))?;
            let other = args.iter().find(|y| **y != parts[n].0)?;
            let most = self.range(parts[n].0).1 as i128 - self.range(*other).0 as i128;
            Some((n, m, most.clamp(0, FAR as i128) as i64))
        })
    }

    fn range_of(&self, op: Op, args: &[Term]) -> (i64, i64) {
        let at = |i: usize| args.get(i).map_or((-FAR, FAR), |t| self.range(*t));
        match op {
            Op::Div => match (at(0), at(1)) {
                ((a, b), (c, d)) if c > 0 && c == d => (a.div_euclid(c), b.div_euclid(c)),
                ((a, b), (c, _)) if c > 0 && a >= 0 => (0, b),
                _ => (-FAR, FAR),
            },
            Op::DivZero => match (at(0), at(1)) {
                ((a, b), (c, d)) if c > 0 && c == d => (a / c, b / c),
                ((a, b), (c, _)) if c > 0 => (a.min(0), b.max(0)),
                _ => (-FAR, FAR),
            },
            Op::Rem => match at(1) {
                (c, d) if c > 0 => (0, d - 1),
                _ => (-FAR, FAR),
            },
            Op::Min => (at(0).0.min(at(1).0), at(0).1.min(at(1).1)),
            Op::Max => (at(0).0.max(at(1).0), at(0).1.max(at(1).1)),
            Op::And => match (at(0), at(1)) {
                ((a, b), (c, d)) if a >= 0 && c >= 0 => (0, b.min(d)),
                ((a, b), _) if a >= 0 => (0, b),
                (_, (c, d)) if c >= 0 => (0, d),
                _ => (-FAR, FAR),
            },
            Op::Or | Op::Xor => match (at(0), at(1)) {
                ((a, b), (c, d)) if a >= 0 && c >= 0 && b < FAR && d < FAR => {
                    (0, ((b.max(d) as u64 + 1).next_power_of_two() - 1) as i64)
                }
                _ => (-FAR, FAR),
            },
            Op::Ge | Op::Eq | Op::Not | Op::Both | Op::Either => (0, 1),
            Op::If => {
                // Where the condition is that the value is not negative, it is not.
                let same = matches!(self.node(args[0]), Node::Op(Op::Ge, x) if x[0] == args[1]);
                let least = if same { at(1).0.max(0) } else { at(1).0 };
                (least.min(at(2).0), at(1).1.max(at(2).1))
            }
            Op::IfNegative => (at(1).0.min(0), at(1).1.max(0)),
            Op::Trips => (0, (1 << 31) - 1),
            Op::HowOften => (0, at(1).1.max(0)),
            Op::Mul => match (at(0), at(1)) {
                ((a, b), (c, d)) if a >= 0 && c >= 0 => {
                    ((a as i128 * c as i128).min(FAR as i128) as i64, (b as i128 * d as i128).min(FAR as i128) as i64)
                }
                _ => (-FAR, FAR),
            },
            Op::MulHigh if at(0).0 >= 0 => (0, at(0).1),
            Op::Load if self.constant(args[0]).is_some_and(|at| self.predicates.contains(&at)) => (0, 1),
            Op::Load if self.is_natural(args) => (0, self.largest_of(args)),
            Op::Load if self.constant(args[0]) == Some(super::outcomes::LENGTH) => (0, (1 << 31) - 1),
            Op::Shl | Op::MulHigh | Op::Load => (-FAR, FAR),
        }
    }

    /// The number of trailing zero bits that every value has.
    pub fn low_zeros(&self, t: Term) -> u32 {
        match self.node(t) {
            Node::Const(v) => v.trailing_zeros(),
            Node::Sum(k, parts) => {
                let least = parts.iter().map(|(t, c)| c.trailing_zeros() + self.low_zeros(*t)).min().unwrap_or(64);
                least.min(k.trailing_zeros()).max(self.rounded(*k, parts))
            }
            Node::Op(Op::Min | Op::Max, args) => self.low_zeros(args[0]).min(self.low_zeros(args[1])),
            Node::Table(_, first, cycle) => {
                first.iter().chain(cycle.iter()).map(|v| v.trailing_zeros()).min().unwrap_or(0)
            }
            Node::Op(Op::If, args) => self.low_zeros(args[1]).min(self.low_zeros(args[2])),
            _ => 0,
        }
    }

    /// A number that divides a term in all launches; 0 for the term 0.
    pub fn step(&self, t: Term) -> i64 {
        let (k, parts) = self.parts(t);
        parts.iter().fold(k, |g, (x, c)| gcd(g, c.abs() << self.low_zeros(*x).min(20)))
    }

    /// The number of low bits that are zero in a sum with a part `-(y % 2^s)`. The other parts differ from `y` by a
    /// multiple of `2^s`. 0 for any other sum.
    fn rounded(&self, k: i64, parts: &[(Term, i64)]) -> u32 {
        let of = |(t, c): &(Term, i64)| {
            let Node::Op(Op::Rem, args) = self.node(*t) else { return None };
            let m = self.constant(args[1]).filter(|m| *c == -1 && *m > 0 && (*m as u64).is_power_of_two())?;
            let (inner, rest) = self.parts(args[0]);
            let coefficient = |list: &[(Term, i64)], x: Term| list.iter().find(|(y, _)| *y == x).map_or(0, |(_, c)| *c);
            let others = parts.iter().filter(|(x, _)| x != t);
            let even = others.chain(rest.iter()).filter(|(x, _)| x != t).all(|(x, _)| {
                let d = coefficient(parts, *x).wrapping_sub(coefficient(&rest, *x));
                d % m == 0
            });
            (even && (k - inner) % m == 0).then(|| m.trailing_zeros())
        };
        parts.iter().find_map(of).unwrap_or(0)
    }

    /// Whether it is 0 or 1.
    pub fn is_boolean(&self, t: Term) -> bool {
        let (low, high) = self.range(t);
        low >= 0 && high <= 1
    }
}
