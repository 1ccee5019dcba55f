//! Terms that compilers write with opposite signs, or as bits between two masks.

use std::rc::Rc;

use super::{Arena, Atom, Node, Op, Term};

impl Arena {
    /// The negative of a term over sizes in which all multiples are negative, so that equal quotients are equal terms. What
    /// coordinates of the CTA leave of a number of tiles keeps its form: it is a trip count.
    pub(super) fn negated(&mut self, t: Term) -> Option<Term> {
        let (_, parts) = self.parts(t);
        let negative = !parts.is_empty() && parts.iter().all(|(_, c)| *c < 0);
        let is_size = |a| matches!(a, Atom::Param(..) | Atom::Symbol(_) | Atom::Data(_));
        (negative && !self.mentions(t, |a| !is_size(a))).then(|| self.scale(t, -1))
    }

    /// `x == 0` of a remainder that has the sign of its dividend: whether the divisor divides. It is written as
    /// `y - (n + y) mod d`, where `y` is `n < 0 ? d - 1 : 0`.
    pub(super) fn is_multiple(&mut self, k: i64, parts: &[(Term, i64)]) -> Option<Term> {
        let [(p, c), (q, d)] = *parts else { return None };
        if k != 0 || c != -d {
            return None;
        }
        [(p, q), (q, p)].into_iter().find_map(|(sign, rest)| {
            let Node::Op(Op::IfNegative, of) = self.node(sign).clone() else { return None };
            let Node::Op(Op::Rem, args) = self.node(rest).clone() else { return None };
            let (most, by) = (self.constant(of[1])?, self.constant(args[1])?);
            if most != by - 1 {
                return None;
            }
            let other = self.sub(args[0], sign);
            let (x, y) = (self.rem(of[0], args[1]), self.rem(other, args[1]));
            (x == y).then(|| self.eq(x))
        })
    }

    /// Whether a term reads no counter of a loop and no variable. Sequences are found in the form of other terms.
    pub(super) fn is_of_launch(&self, t: Term) -> bool {
        !self.mentions(t, |a| !matches!(a, Atom::Param(..) | Atom::Place(_) | Atom::Symbol(_) | Atom::Data(_)))
    }

    /// A sum whose parts may be sums.
    pub fn flat_sum(&mut self, k: i64, parts: Vec<(Term, i64)>) -> Term {
        let mut all = self.int(k);
        for (t, c) in parts {
            let t = self.scale(t, c);
            all = self.add(all, t);
        }
        all
    }

    /// `x mod c d - x mod c` as `c (x / c mod d)`: the bits between two masks.
    ///
    /// Only for terms over the launch.
    pub(super) fn bits_between(&mut self, k: i64, list: &[(Term, i64)]) -> Option<Term> {
        let remainder = |s: &Self, t: Term| match s.node(t) {
            Node::Op(Op::Rem, args) => Some((args[0], s.constant(args[1]).filter(|c| *c > 0)?)),
            _ => None,
        };
        for (i, (t, m)) in list.iter().enumerate() {
            let Some((x, large)) = remainder(self, *t) else { continue };
            for (j, (u, n)) in list.iter().enumerate() {
                let Some((y, small)) = remainder(self, *u) else { continue };
                // The remainder of a multiple is kept as a multiple of a smaller remainder.
                let Some(by) = n.checked_neg().filter(|n| i != j && n % m == 0).map(|n| n / m) else { continue };
                let Some(c) = small.checked_mul(by).filter(|c| by > 0 && *c < large && large % c == 0) else {
                    continue;
                };
                if !self.is_of_launch(x) {
                    continue;
                }
                let y = self.scale(y, by);
                let apart = self.sub(x, y);
                let by = self.int(c);
                if self.rem(apart, by) != self.int(0) {
                    continue;
                }
                let (q, turns) = (self.div(x, by), self.int(large / c));
                let q = self.rem(q, turns);
                let q = self.scale(q, c.wrapping_mul(*m));
                let rest = list.iter().enumerate().filter(|(l, _)| *l != i && *l != j).map(|(_, p)| *p).collect();
                let rest = self.sum(k, rest);
                return Some(self.add(rest, q));
            }
        }
        None
    }

    /// The smaller or the larger of two terms.
    pub(super) fn extreme(&mut self, op: Op, a: Term, b: Term) -> Term {
        let d = self.sub(a, b);
        let (low, high) = self.range(d);
        let (less, more) = if op == Op::Min { (a, b) } else { (b, a) };
        match (high <= 0, low >= 0) {
            (true, _) => less,
            (_, true) => more,
            _ => self
                .negated_extreme(op, a, b)
                .unwrap_or_else(|| self.intern(Node::Op(op, Rc::new([a.min(b), a.max(b)])))),
        }
    }

    /// The larger of `-x - k` and `-y - m` as the smaller of `x` and `y`. Compilers count `min(x, y)` iterations by the
    /// complement.
    fn negated_extreme(&mut self, op: Op, a: Term, b: Term) -> Option<Term> {
        let ((k, p), (m, q)) = (self.parts(a), self.parts(b));
        let negative = |p: &[(Term, i64)]| !p.is_empty() && p.iter().all(|(_, c)| *c < 0);
        if !negative(&p) || !negative(&q) {
            return None;
        }
        let by = k.max(m);
        let (x, y) = (self.plus(a, by.checked_neg()?), self.plus(b, by.checked_neg()?));
        let (x, y) = (self.scale(x, -1), self.scale(y, -1));
        let opposite = self.extreme(if op == Op::Min { Op::Max } else { Op::Min }, x, y);
        let back = self.scale(opposite, -1);
        Some(self.plus(back, by))
    }

    /// A choice by the sign of the difference of both sides: `x > 2 ? y + x - 2 : y` is `y + max(0, x - 2)`. One side is a
    /// part of the other.
    pub(super) fn one_extreme(&mut self, c: Term, a: Term, b: Term) -> Option<Term> {
        let Node::Op(Op::Ge, of) = self.node(c) else { return None };
        let (sign, over) = (of[0], self.sub(a, b));
        let minus = self.scale(over, -1);
        // The larger side is chosen where the condition holds and the difference `a - b` grows with it.
        let largest = match (self.has_sign_of(over, sign), self.has_sign_of(minus, sign)) {
            (true, _) => Op::Max,
            (_, true) => Op::Min,
            _ => return None,
        };
        let within = |s: &Self, x: Term, y: Term| {
            let (of, all) = (s.parts(x).1, s.parts(y).1);
            of.iter().all(|p| all.contains(p)).then_some(())
        };
        let (base, rest) = match within(self, a, b) {
            Some(()) => (a, minus),
            None => within(self, b, a).map(|()| (b, over))?,
        };
        let zero = self.int(0);
        let rest = self.extreme(largest, rest, zero);
        Some(self.add(base, rest))
    }

    /// Whether a number is `m * x + r` with `0 <= r <= m`: not negative where `x` is not, and not positive where `x` is
    /// negative.
    fn has_sign_of(&self, t: Term, x: Term) -> bool {
        let ((k, parts), (j, of)) = (self.parts(t), self.parts(x));
        let [(first, by), ..] = *of else { return false };
        let Some((_, all)) = parts.iter().find(|(t, _)| *t == first) else { return false };
        let m = all / by;
        let same = m > 0
            && parts.len() == of.len()
            && of.iter().all(|(t, c)| c.checked_mul(m).is_some_and(|c| parts.contains(&(*t, c))));
        let left = j.checked_mul(m).and_then(|j| k.checked_sub(j));
        same && left.is_some_and(|r| (0..=m).contains(&r))
    }
}
