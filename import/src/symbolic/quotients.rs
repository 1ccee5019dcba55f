//! Quotients and remainders, and products that they are taken of.

use std::rc::Rc;

use super::{Arena, Atom, Facts, Node, Op, Term};

impl Arena {
    /// `y - y mod c == n c`, which a mask of the low bits makes, as `y / c == n`.
    pub(super) fn equal_quotient(&mut self, x: Term) -> Option<Term> {
        let (_, parts) = self.parts(x);
        let (rem, by) = parts.iter().copied().find(|(t, by)| {
            let divides = |args: &[Term]| self.constant(args[1]).is_some_and(|c| c > 1);
            by.abs() == 1 && matches!(self.node(*t), Node::Op(Op::Rem, args) if divides(args))
        })?;
        let Node::Op(_, args) = self.node(rem).clone() else { return None };
        let masked = self.sub(args[0], rem);
        let masked = self.scale(masked, -by);
        let rest = self.sub(x, masked);
        let (rest, c) = (self.constant(rest)?, self.constant(args[1])?);
        let quotient = self.div(args[0], args[1]);
        let quotient = self.scale(quotient, -by);
        let quotient = self.plus(quotient, rest / c);
        (rest % c == 0).then(|| self.eq(quotient))
    }

    /// `(y / d + rest) / c` as `(y + d rest) / (d c)`. The rest consists of numbers of the launch. An example of the form:
    /// a compiler divides by 148 as a shift by two bits and a division by 37.
    pub(super) fn nested_quotient(&mut self, t: Term, c: i64) -> Option<Term> {
        let (k, parts) = self.parts(t);
        let is_quotient = |(t, n): &&(Term, i64)| {
            n.abs() == 1 && matches!(self.node(*t), Node::Op(Op::Div, of) if self.constant(of[1]).is_some())
        };
        let mut quotients = parts.iter().filter(is_quotient);
        let (q, sign) = *quotients.next()?;
        let alone = parts.len() == 1 && k == 0 && sign == 1;
        if quotients.next().is_some() || !alone && !self.is_of_launch(t) {
            return None;
        }
        let Node::Op(_, args) = self.node(q).clone() else { return None };
        let d = self.constant(args[1]).filter(|d| *d > 0)?;
        let by = self.int(d.checked_mul(c)?);
        // `-(y / d)`, rounded up, is `(d - 1 - y) / d`.
        let dividend = self.scale(args[0], sign);
        let dividend = if sign < 0 { self.plus(dividend, d - 1) } else { dividend };
        let counted = self.scale(q, sign);
        let rest = self.sub(t, counted);
        let rest = self.scale(rest, d);
        let x = self.add(dividend, rest);
        Some(self.div(x, by))
    }

    /// `n max(0, y) - n c max(0, y / c) + rest`, with the remainder of `max(0, y)` by `c`.
    pub(super) fn remainder_of_largest(&mut self, k: i64, list: &[(Term, i64)]) -> Option<Term> {
        let zero = self.int(0);
        let positive = |s: &Self, t: Term| match s.node(t) {
            Node::Op(Op::Max, of) if of.contains(&zero) => of.iter().copied().find(|x| *x != zero),
            _ => None,
        };
        let found = list.iter().enumerate().find_map(|(i, (t, m))| {
            let Node::Op(Op::Div, of) = self.node(positive(self, *t)?) else { return None };
            let c = self.constant(of[1]).filter(|c| *c > 1 && m % c == 0)?;
            let n = (m / c).checked_neg()?;
            let j = list.iter().position(|(x, by)| *by == n && positive(self, *x) == Some(of[0]))?;
            Some((i, j, c))
        });
        let (i, j, c) = found?;
        let (x, n) = list[j];
        let by = self.int(c);
        let r = self.rem(x, by);
        let r = self.scale(r, n);
        let rest = list.iter().enumerate().filter(|(l, _)| *l != i && *l != j).map(|(_, p)| *p).collect();
        let rest = self.sum(k, rest);
        Some(self.add(rest, r))
    }

    /// `d == 1 ? x : x * m / 2^(32 + s)`, where `d`, `m` and `s` are arguments: `x / d`. The host computes `m` and `s` for its
    /// divisor.
    pub(super) fn by_numbers_of_host(&mut self, c: Term, a: Term, b: Term) -> Option<Term> {
        let param = |s: &Self, t: Term| matches!(s.node(t), Node::Atom(Atom::Param(..)));
        let Node::Op(Op::Eq, of) = self.node(c).clone() else { return None };
        let (-1, parts) = self.parts(of[0]) else { return None };
        let [(d, 1)] = *parts else { return None };
        let Node::Op(Op::Div, of) = self.node(b).clone() else { return None };
        let (Node::Op(Op::MulHigh, product), Node::Op(Op::Shl, shift)) = (self.node(of[0]), self.node(of[1])) else {
            return None;
        };
        let (x, m, s) = (product[0], product[1], shift[1]);
        if x != a || ![d, m, s].iter().all(|t| param(self, *t)) || self.constant(product[2]) != Some(32) {
            return None;
        }
        self.host_divisors.insert(d);
        Some(self.div(a, d))
    }

    /// A shift of the high half of a product with a magic number, as the quotient that it is. Facts must say that the
    /// number is not negative.
    pub fn quotient_under(&mut self, t: Term, facts: &Facts) -> Term {
        let found = |s: &Self| {
            let Node::Op(Op::Div, of) = s.node(t) else { return None };
            let Node::Op(Op::MulHigh, args) = s.node(of[0]) else { return None };
            let (m, bits, c) = (s.constant(args[1])?, s.constant(args[2])?, s.constant(of[1])?);
            let power = (c as u64).is_power_of_two() && bits == 32;
            let p = 1i128.checked_shl(32 + c.trailing_zeros()).filter(|p| power && *p > 0)?;
            let d = s.magic_divisor(args[0], i128::from(m), p)?;
            Some((args[0], d))
        };
        let Some((x, d)) = found(self) else { return t };
        if self.bounded(x, facts).0 < 0 {
            return t;
        }
        let by = self.int(d);
        self.div(x, by)
    }

    /// A quotient and a constant without its low bits, as a multiple of one quotient. A compiler masks the low bits of
    /// `x >> s` where other code shifts `x` further and back.
    pub(super) fn without_low_bits(&mut self, t: Term, bits: u32) -> Option<Term> {
        let (k, parts) = self.parts(t);
        let [(q, 1)] = *parts else { return None };
        let Node::Op(Op::Div, of) = self.node(q).clone() else { return None };
        let d = self.constant(of[1]).filter(|d| *d > 0)?;
        let c = 1i64.checked_shl(bits).filter(|c| *c > 0)?;
        let (x, by) = (self.plus(of[0], k.checked_mul(d)?), self.int(d.checked_mul(c)?));
        let q = self.div(x, by);
        Some(self.scale(q, c))
    }

    /// A term and the number by which another one is a multiple of it.
    pub(super) fn as_multiple(&self, t: Term) -> Option<(Term, i64)> {
        let Node::Sum(0, parts) = self.node(t) else { return None };
        let [one] = **parts else { return None };
        Some(one)
    }

    /// `16 * n * i` is a multiple of `n * i`.
    pub(super) fn mul_multiple(&mut self, a: Term, b: Term) -> Term {
        let (x, by) = self.as_multiple(a).unwrap_or((a, 1));
        let product = self.mul(x, b);
        self.scale(product, by)
    }

    /// A term with the same remainder: without remainders of multiples of the modulus.
    pub(super) fn congruent(&mut self, t: Term, c: i64) -> Term {
        match self.node(t).clone() {
            Node::Op(Op::Rem, args) if self.constant(args[1]).is_some_and(|d| d > 0 && d % c == 0) => args[0],
            Node::Op(Op::Mul, args) => {
                let (x, y) = (self.congruent(args[0], c), self.congruent(args[1], c));
                if (x, y) == (args[0], args[1]) { t } else { self.mul(x, y) }
            }
            _ => t,
        }
    }

    /// A trip count that is not tracked. Its condition has one form, whichever quotients are in use.
    pub(super) fn trips(&mut self, holds: Term) -> Term {
        let holds = self.of_dividend(holds);
        self.intern(Node::Op(Op::Trips, Rc::new([holds])))
    }

    /// A comparison of a quotient with a number, as one of its dividend: `x / 32 <= 3` is `x <= 127`.
    fn of_dividend(&mut self, t: Term) -> Term {
        let Node::Op(Op::Ge, args) = self.node(t).clone() else { return t };
        let (k, parts) = self.parts(args[0]);
        let [(q, by @ (1 | -1))] = *parts else { return t };
        let Node::Op(Op::Div, args) = self.node(q).clone() else { return t };
        let Some(c) = self.constant(args[1]).filter(|c| (1..1 << 16).contains(c) && k.abs() < 1 << 31) else {
            return t;
        };
        let (more, dividend) = self.parts(args[0]);
        if dividend.iter().all(|(_, m)| m.abs() != 1) || more.abs() >= 1 << 31 {
            return t;
        }
        let rest = if by < 0 { k * c + c - 1 - more } else { k * c + more };
        let sum = self.sum(rest, dividend.iter().map(|(x, m)| (*x, m * by)).collect());
        self.intern(Node::Op(Op::Ge, Rc::new([sum])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_magic_number_divides_where_a_condition_says_that_the_number_is_not_negative() {
        let mut a = Arena::default();
        let i = a.atom(Atom::Counter(3));
        let x = a.scale(i, 6);
        let x = a.plus(x, -1);
        let (m, bits, eight, twelve) = (a.int(2_863_311_531), a.int(32), a.int(8), a.int(12));
        let high = a.op(Op::MulHigh, &[x, m, bits]);
        let q = a.div(high, eight);
        assert_eq!(a.quotient_under(q, &Facts::default()), q);
        let mut facts = Facts::default();
        let first = a.eq(i);
        a.learn(first, false, &mut facts);
        let under = a.quotient_under(q, &facts);
        assert_eq!(under, a.div(x, twelve));
    }

    #[test]
    fn a_masked_quotient_is_a_multiple_of_one() {
        let mut a = Arena::default();
        let x = a.atom(Atom::Param(0, 0));
        let x = a.plus(x, 127);
        let (four, all) = (a.int(4), a.int(128));
        let (y, q) = (a.div(x, four), a.div(x, all));
        let whole = a.without_low_bits(y, 5).expect("a quotient");
        assert_eq!(whole, a.scale(q, 32));
    }

    #[test]
    fn a_quotient_in_a_dividend_is_part_of_it() {
        let mut a = Arena::default();
        let (x, y) = (a.atom(Atom::Param(0, 0)), a.atom(Atom::Param(1, 0)));
        let (four, all) = (a.int(4), a.int(148));
        // (8 x - y / 4 + 36) / 37, where `y / 4` rounds down, and (32 x - y + 147) / 148.
        let (q, eight) = (a.div(y, four), a.scale(x, 8));
        let left = a.sub(eight, q);
        let left = a.plus(left, 36);
        let nested = a.nested_quotient(left, 37).expect("a quotient in it");
        let many = a.scale(x, 32);
        let right = a.sub(many, y);
        let right = a.plus(right, 147);
        assert_eq!(nested, a.div(right, all));
    }

    #[test]
    fn a_masked_number_is_compared_as_a_quotient() {
        let mut a = Arena::default();
        let n = a.atom(Atom::Param(0, 0));
        let (mask, by) = (a.int(-256), a.int(256));
        let (masked, quotient) = (a.and(n, mask), a.div(n, by));
        for (number, times) in [(256, 1), (-512, -2), (0, 0)] {
            let (x, y) = (a.plus(masked, -number), a.plus(quotient, -times));
            assert_eq!(a.eq(x), a.eq(y));
        }
        // No multiple of 256 is 255.
        let x = a.plus(masked, -255);
        let x = a.eq(x);
        assert!((-600..600).all(|i| a.value(x, &|_| Some(i)) == Some(0)));
    }
}
