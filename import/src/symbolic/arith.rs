//! Sums, products and division.

use std::rc::Rc;

use warpline_sim::ir::gcd;

use super::memo::Key;
use super::{Arena, Atom, Node, Op, Term};

/// Smaller values are no bound of a number of 32 bits.
const UNBOUNDED: i64 = -(1 << 31);

impl Arena {
    /// The sum.
    pub fn add(&mut self, a: Term, b: Term) -> Term {
        self.remembered(Key::Add(a.min(b), a.max(b)), |s| {
            let ((x, p), (y, q)) = (s.parts(a), s.parts(b));
            let parts = p.iter().chain(q.iter()).copied().collect();
            s.sum(x.wrapping_add(y), parts)
        })
    }

    /// The sum of a constant and multiples of what a function makes of each part.
    pub fn sum_of(&mut self, k: i64, parts: &[(Term, i64)], f: &mut dyn FnMut(&mut Arena, Term) -> Term) -> Term {
        let mut all = self.int(k);
        for (x, c) in parts {
            let x = f(self, *x);
            let x = self.scale(x, *c);
            all = self.add(all, x);
        }
        all
    }

    /// A multiple.
    pub fn scale(&mut self, a: Term, c: i64) -> Term {
        self.remembered(Key::Scale(a, c), |s| {
            let (k, p) = s.parts(a);
            let parts = p.iter().map(|(t, x)| (*t, x.wrapping_mul(c))).collect();
            s.sum(k.wrapping_mul(c), parts)
        })
    }

    /// The difference.
    pub fn sub(&mut self, a: Term, b: Term) -> Term {
        let b = self.scale(b, -1);
        self.add(a, b)
    }

    /// A term plus a constant.
    pub fn plus(&mut self, a: Term, c: i64) -> Term {
        let c = self.int(c);
        self.add(a, c)
    }

    /// The product.
    pub fn mul(&mut self, a: Term, b: Term) -> Term {
        match (self.constant(a), self.constant(b)) {
            (_, Some(c)) => self.scale(a, c),
            (Some(c), _) => self.scale(b, c),
            // The iteration before: `n * (i - 1)` is `n * i - n`.
            _ if self.is_other_iteration(a) => self.mul_iteration(b, a),
            _ if self.is_other_iteration(b) => self.mul_iteration(a, b),
            _ if self.as_multiple(a).is_some() => self.mul_multiple(a, b),
            _ if self.as_multiple(b).is_some() => self.mul_multiple(b, a),
            _ => self.intern(Node::Op(Op::Mul, Rc::new([a.min(b), a.max(b)]))),
        }
    }

    /// Whether a term is another iteration than the one of a counter.
    fn is_other_iteration(&self, t: Term) -> bool {
        let Node::Sum(k, parts) = self.node(t) else { return false };
        *k != 0 && matches!(**parts, [(x, 1)] if matches!(self.node(x), Node::Atom(Atom::Counter(_))))
    }

    fn mul_iteration(&mut self, n: Term, iteration: Term) -> Term {
        let (k, parts) = self.parts(iteration);
        let (all, more) = (self.mul(n, parts[0].0), self.scale(n, k));
        self.add(all, more)
    }

    /// A sum in which two choices by the sign of one number become one.
    pub(super) fn signs_of(&mut self, k: i64, list: &[(Term, i64)]) -> Option<Term> {
        let choice = |s: &Self, t: Term| match s.node(t) {
            Node::Op(Op::IfNegative, args) => Some((args[0], s.constant(args[1])?)),
            _ => None,
        };
        let (i, x, first) = list.iter().enumerate().find_map(|(i, (t, m))| {
            let (x, v) = choice(self, *t)?;
            let again = list[i + 1..].iter().any(|(t, _)| choice(self, *t).is_some_and(|(y, _)| y == x));
            again.then(|| (i, x, v.wrapping_mul(*m)))
        })?;
        let (mut all, mut rest) = (first, list.to_vec());
        rest.remove(i);
        rest.retain(|(t, m)| match choice(self, *t) {
            Some((y, v)) if y == x => {
                all = all.wrapping_add(v.wrapping_mul(*m));
                false
            }
            _ => true,
        });
        let all = self.int(all);
        let sign = if self.constant(all) == Some(0) { all } else { self.if_negative(x, all) };
        let rest = self.sum(k, rest);
        Some(self.add(rest, sign))
    }

    /// `k + list` of the form `m * (x - c * (x / c)) + rest`, with a remainder in place of the difference.
    pub(super) fn remainder_of(&mut self, k: i64, list: &[(Term, i64)]) -> Option<Term> {
        for (i, (t, m)) in list.iter().enumerate() {
            let Node::Op(op @ (Op::Div | Op::DivZero), args) = self.node(*t).clone() else { continue };
            let (x, by) = (args[0], args[1]);
            let Some(c) = self.constant(by).filter(|c| *c > 0) else {
                // x - q * n with a divisor that is not a constant is a sum with a product: see `product_remainder`.
                continue;
            };
            if let Some(t) = self.remainder_of_quotient(k, list, (i, x, c)) {
                return Some(t);
            }
            if m % c != 0 {
                continue;
            }
            let n = -(m / c);
            let (k0, parts) = self.parts(x);
            let rest: Vec<(Term, i64)> = list.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, p)| *p).collect();
            // The rest must contain n times x.
            let holds =
                n != 0 && !parts.is_empty() && parts.iter().all(|(t, c)| rest.contains(&(*t, c.wrapping_mul(n))));
            if !holds {
                continue;
            }
            let left: Vec<(Term, i64)> = rest.into_iter().filter(|(t, _)| !parts.iter().any(|(p, _)| p == t)).collect();
            if op == Op::DivZero {
                let (low, _) = self.range(x);
                if low < 0 {
                    continue;
                }
            }
            let by = self.int(c);
            let r = self.rem(x, by);
            let mut all = self.scale(r, n);
            all = self.plus(all, k.wrapping_sub(k0.wrapping_mul(n)));
            for (t, c) in left {
                let x = self.scale(t, c);
                all = self.add(all, x);
            }
            return Some(all);
        }
        None
    }

    /// `n (x / d) - n c (x / (c d)) + rest`, with the remainder of `x / d` by `c`. The quotient of a quotient is kept as
    /// one quotient.
    fn remainder_of_quotient(&mut self, k: i64, list: &[(Term, i64)], (i, x, by): (usize, Term, i64)) -> Option<Term> {
        let m = list[i].1;
        let is_down = |s: &Self, t: Term| matches!(s.node(t), Node::Op(Op::Div, _));
        list.get(i).filter(|(t, _)| is_down(self, *t))?;
        let (j, c) = list.iter().enumerate().find_map(|(j, (t, n))| {
            let Node::Op(Op::Div, args) = self.node(*t) else { return None };
            let d = self.constant(args[1]).filter(|d| args[0] == x && *d > 1 && by % d == 0 && by > *d)?;
            (n.checked_mul(by / d)? == m.checked_neg()?).then_some((j, by / d))
        })?;
        let (t, n) = list[j];
        let c = self.int(c);
        let r = self.rem(t, c);
        let r = self.scale(r, n);
        let rest = list.iter().enumerate().filter(|(l, _)| *l != i && *l != j).map(|(_, p)| *p).collect();
        let rest = self.sum(k, rest);
        Some(self.add(rest, r))
    }

    /// Floor division.
    pub fn div(&mut self, a: Term, b: Term) -> Term {
        if let Some(t) = self.over_table(Op::Div, &[a, b]) {
            return t;
        }
        let Some(c) = self.constant(b).filter(|c| *c > 0) else {
            return self.intern(Node::Op(Op::Div, Rc::new([a, b])));
        };
        if c == 1 {
            return a;
        }
        if let Some(a) = self.without_remainder(a, c) {
            return self.div(a, b);
        }
        let (k, p) = self.parts(a);
        if p.is_empty() {
            return self.int(k.div_euclid(c));
        }
        let (whole, rest): (Vec<_>, Vec<_>) = p.iter().copied().partition(|(_, x)| x % c == 0);
        let mut parts: Vec<(Term, i64)> = whole.into_iter().map(|(t, x)| (t, x / c)).collect();
        let (q, r) = (k.div_euclid(c), k.rem_euclid(c));
        if rest.is_empty() {
            return self.sum(q, parts);
        }
        if let Some(t) =
            self.magic(k, &p, c).or_else(|| self.long_magic(k, &p, c)).or_else(|| self.high_magic(k, &p, c))
        {
            return t;
        }
        // All else in the dividend is a multiple of `g`, as is the divisor: what is left of the number by `g` is no part.
        let g = rest.iter().fold(c, |g, (_, x)| gcd(g, *x));
        let inner = self.sum(r - r.rem_euclid(g), rest);
        let (low, high) = self.range(inner);
        if low >= 0 && high < c {
            return self.sum(q, parts);
        }
        if let Some(x) = self.negated(inner) {
            // The quotient of a negative number, rounded down, is the quotient of the number, rounded up.
            let x = self.plus(x, c - 1);
            let t = self.div(x, b);
            parts.push((t, -1));
            return self.flat_sum(q, parts);
        }
        if matches!(self.node(inner), Node::Op(Op::Div, _))
            && let Some(t) = self.nested_quotient(inner, c)
        {
            parts.push((t, 1));
            return self.sum(q, parts);
        }
        if let Some(t) = self.table_of_counter(Op::Div, inner, c) {
            parts.push((t, 1));
            return self.sum(q, parts);
        }
        self.divided(inner, c, Op::Div);
        let by = self.int(c);
        let t = self.intern(Node::Op(Op::Div, Rc::new([inner, by])));
        parts.push((t, 1));
        self.sum(q, parts)
    }

    /// A dividend in which `c (x / c)` stands for `x - x mod c`.
    fn without_remainder(&mut self, t: Term, c: i64) -> Option<Term> {
        let (_, parts) = self.parts(t);
        parts.iter().find_map(|(r, m)| {
            let Node::Op(Op::Rem, args) = self.node(*r).clone() else { return None };
            let x = args[0];
            if self.constant(args[1]) != Some(c) || self.parts(x).1.len() != 1 || !self.is_of_launch(x) {
                return None;
            }
            parts.iter().find(|(t, n)| *t == x && n.checked_neg() == Some(*m))?;
            let (q, back) = (self.div(x, args[1]), self.sub(*r, x));
            let (q, back) = (self.scale(q, c.checked_mul(-m)?), self.scale(back, -m));
            let without = self.add(t, back);
            Some(self.add(without, q))
        })
    }

    /// Records a divisor, so that a comparison of a dividend can become a comparison of its quotient.
    pub(super) fn divided(&mut self, x: Term, c: i64, op: Op) {
        let (k, parts) = self.parts(x);
        let list = self.divisors.entry(parts).or_default();
        if !list.contains(&(k, c, op)) {
            list.push((k, c, op));
        }
    }

    /// Division by a constant as a multiplication with a magic number: `x * m / 2^s`.
    fn magic(&mut self, k: i64, parts: &[(Term, i64)], c: i64) -> Option<Term> {
        if !(c as u64).is_power_of_two() || c < 16 {
            return None;
        }
        // Factors of two belong to the dividend: a counter that grows by two.
        let m = parts.iter().fold(k, |g, (_, x)| gcd(g, *x));
        let m = m >> m.trailing_zeros();
        if m < 3 {
            return None;
        }
        let x = self.sum(k / m, parts.iter().map(|(t, x)| (*t, x / m)).collect());
        self.magic_of(x, m as i128, c as i128)
    }

    /// Division by a constant as the high half of a product with a magic number, shifted by more bits.
    fn high_magic(&mut self, k: i64, parts: &[(Term, i64)], c: i64) -> Option<Term> {
        let [(t, 1)] = *parts else { return None };
        let Node::Op(Op::MulHigh, args) = self.node(t).clone() else { return None };
        let (m, bits) = (self.constant(args[1])?, self.constant(args[2])?);
        let x = args[0];
        let low = self.range(x).0;
        // While a loop is solved, the sign of what it carries is not known.
        let any = low < UNBOUNDED && !self.mentions(x, |a| matches!(a, Atom::Carried(..)));
        // A shift says that the number has no sign.
        let any = any || self.shifted(x).is_some();
        if k != 0 || !(c as u64).is_power_of_two() || !matches!(bits, 32 | 64) || !(low >= 0 || any) {
            return None;
        }
        let m = if bits == 64 { i128::from(m as u64) } else { i128::from(m) };
        let d = self.magic_divisor(x, m, 1i128.checked_shl(bits as u32 + c.trailing_zeros()).filter(|p| *p > 0)?)?;
        self.divides_unsigned |= low < 0;
        if let Some(t) = self.nested_quotient(x, d) {
            return Some(t);
        }
        let by = self.int(d);
        Some(self.div(x, by))
    }

    /// The quotient of the larger of a number and zero, as the larger of the number's quotient and zero.
    fn largest_last(&mut self, q: Term) -> Term {
        let Node::Op(Op::Div, args) = self.node(q).clone() else { return q };
        let Node::Op(Op::Max, of) = self.node(args[0]).clone() else { return q };
        let (zero, by) = (self.int(0), args[1]);
        if self.constant(by).is_none_or(|c| c <= 0) || !of.contains(&zero) {
            return q;
        }
        let Some(x) = of.iter().copied().find(|t| *t != zero) else { return q };
        let inner = self.div(x, by);
        self.extreme(Op::Max, inner, zero)
    }

    /// The number by which `x * m / p`, rounded down, divides every x of 31 bits that is not negative.
    pub(super) fn magic_divisor(&self, x: Term, m: i128, p: i128) -> Option<i64> {
        if m <= 0 {
            return None;
        }
        let d = (p + m / 2) / m;
        let error = m * d - p;
        // A quotient is of a number of 31 bits.
        let by = match self.node(x) {
            Node::Op(Op::Div, args) => self.constant(args[1]).filter(|c| *c > 0).unwrap_or(1),
            _ => 1,
        };
        let most = self.range(x).1.min(((1 << 31) - 1) / by).min(self.shifted(x).unwrap_or(i64::MAX));
        if d <= 1 || error < 0 || error * (most as i128) >= p {
            return None;
        }
        i64::try_from(d).ok()
    }

    /// `x * m / p`, rounded down, as a division by a small number, if it is one for every x of 31 bits. For a negative x,
    /// it is one less than the quotient that rounds to zero.
    pub fn magic_of(&mut self, x: Term, m: i128, p: i128) -> Option<Term> {
        let d = self.magic_divisor(x, m, p)?;
        let error = m * i128::from(d) - p;
        let low = self.range(x).0;
        let by = self.int(d);
        if low >= 0 {
            let q = self.div(x, by);
            return Some(self.largest_last(q));
        }
        // Without an error, a multiple of d would be its own quotient.
        if error == 0 || error << 31 > p {
            return None;
        }
        let quotient = self.div_zero(x, by);
        let minus = self.int(-1);
        let sign = self.op(Op::IfNegative, &[x, minus]);
        Some(self.add(quotient, sign))
    }

    /// The high half of a product of numbers with this many bits, negative where they are signed.
    pub(super) fn mul_high(&mut self, x: Term, m: Term, bits: Term) -> Term {
        if let (Some(v), Some(by), Some(b)) = (self.constant(x), self.constant(m), self.constant(bits))
            && b.abs() == 32
        {
            let v = if b < 0 { v as i32 as i128 } else { v as u32 as i128 };
            return self.int(((v * by as i128) >> 32) as i64);
        }
        let small = self.range(x).0 >= 0 && self.range(x).1 < 1 << 31;
        if let (true, Some(by), Some(-32 | 32)) = (small, self.constant(m), self.constant(bits))
            && let Some(t) = self.magic_of(x, by as i128, 1 << 32)
        {
            return t;
        }
        self.intern(Node::Op(Op::MulHigh, Rc::new([x, m, bits])))
    }

    /// Remainder of floor division.
    pub fn rem(&mut self, a: Term, b: Term) -> Term {
        if let Some(t) = self.over_table(Op::Rem, &[a, b]) {
            return t;
        }
        let Some(c) = self.constant(b).filter(|c| *c > 0) else {
            return self.intern(Node::Op(Op::Rem, Rc::new([a, b])));
        };
        let (k, p) = self.parts(a);
        // Multiples that the modulus divides can be left out; others are reduced.
        let rest: Vec<(Term, i64)> = p.iter().copied().filter(|(_, x)| x % c != 0).collect();
        let congruent: Vec<(Term, i64)> = rest.iter().map(|(t, x)| (self.congruent(*t, c), *x)).collect();
        if congruent != rest {
            let same = self.flat_sum(k.rem_euclid(c), congruent);
            return self.rem(same, b);
        }
        let inner = self.sum(k.rem_euclid(c), rest);
        if let Some(v) = self.constant(inner) {
            return self.int(v.rem_euclid(c));
        }
        let (low, high) = self.range(inner);
        if low >= 0 && high < c {
            return inner;
        }
        // A common divisor of all multiples and the modulus moves out of the remainder.
        let (k, p) = self.parts(inner);
        let g = p.iter().fold(c, |g, (_, x)| gcd(g, x.unsigned_abs() as i64));
        if g > 1 {
            let parts = p.iter().map(|(t, x)| (*t, x / g)).collect();
            let small = self.sum(k.div_euclid(g), parts);
            let by = self.int(c / g);
            let r = self.rem(small, by);
            let r = self.scale(r, g);
            return self.plus(r, k.rem_euclid(g));
        }
        if let Node::Op(Op::Rem, args) = self.node(inner).clone()
            && self.constant(args[1]).is_some_and(|d| d % c == 0)
        {
            return self.rem(args[0], b);
        }
        if let Some(x) = self.negated(inner) {
            let x = self.plus(x, -1);
            let r = self.rem(x, b);
            let r = self.scale(r, -1);
            return self.plus(r, c - 1);
        }
        if let Some(t) = self.table_of_counter(Op::Rem, inner, c) {
            return t;
        }
        let by = self.int(c);
        self.intern(Node::Op(Op::Rem, Rc::new([inner, by])))
    }

    /// Division that rounds to zero.
    pub fn div_zero(&mut self, a: Term, b: Term) -> Term {
        let (low, _) = self.range(a);
        let (positive, _) = self.range(b);
        if low >= 0 && positive > 0 {
            return self.div(a, b);
        }
        match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) if y != 0 => self.int(x.wrapping_div(y)),
            (_, Some(1)) => a,
            (_, Some(c)) if c > 0 => {
                self.divided(a, c, Op::DivZero);
                self.intern(Node::Op(Op::DivZero, Rc::new([a, b])))
            }
            _ => self.intern(Node::Op(Op::DivZero, Rc::new([a, b]))),
        }
    }

    /// `x < 0 ? c : 0`, the summand of a division that rounds to zero.
    pub(super) fn if_negative(&mut self, x: Term, c: Term) -> Term {
        if let Some(t) = self.if_wrapped(x, c) {
            return t;
        }
        let (low, high) = self.range(x);
        match (low >= 0, high < 0) {
            (true, _) => self.int(0),
            (_, true) => c,
            _ => self.intern(Node::Op(Op::IfNegative, Rc::new([x, c]))),
        }
    }

    /// `x < 0 ? c : 0` of a multiple that wraps, such as bits of a small number that a shift has brought to the sign.
    fn if_wrapped(&mut self, x: Term, c: Term) -> Option<Term> {
        let c = self.constant(c)?;
        let (k, parts) = self.parts(x);
        let [(t, by)] = *parts else { return None };
        let (low, high) = self.range(t);
        let wraps = by.checked_mul(high).and_then(|v| v.checked_add(k)).is_none();
        if low < 0 || high >= 64 || !wraps {
            return None;
        }
        let value = |i: i64| if k.wrapping_add(by.wrapping_mul(i)) < 0 { c } else { 0 };
        Some(self.table(t, (0..high).map(value).collect(), vec![value(high)]))
    }

    /// Shift to the right by a constant that keeps the sign: floor division. `(x + (x < 0 ? 2^s - 1 : 0)) >> s` rounds to zero.
    pub fn shift_right(&mut self, a: Term, s: u32) -> Term {
        let by = self.int(1i64 << s.min(62));
        let (k, p) = self.parts(a);
        for (t, c) in p.iter() {
            let Node::Op(Op::IfNegative, args) = self.node(*t).clone() else { continue };
            let mask = self.constant(args[1]);
            let rest = self.sum(k, p.iter().copied().filter(|(x, _)| x != t).collect());
            if *c == 1 && mask == Some((1i64 << s.min(62)) - 1) && rest == args[0] {
                return self.div_zero(rest, by);
            }
        }
        self.div(a, by)
    }

    /// Shift to the right by a number that is not constant. An unsigned number is taken not to be negative.
    pub fn shift_right_by(&mut self, a: Term, s: Term, signed: bool) -> Term {
        self.divides_unsigned |= !signed && self.range(a).0 < 0;
        let one = self.int(1);
        let by = self.op(Op::Shl, &[one, s]);
        self.div(a, by)
    }
}
