//! Bitwise operations of terms.

use std::rc::Rc;

use super::{Arena, Node, Op, Term};

impl Arena {
    /// Bitwise and.
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) => return self.int(x & y),
            (Some(_), None) => return self.and(b, a),
            _ => {}
        }
        let Some(mask) = self.constant(b) else {
            return self.intern(Node::Op(Op::And, Rc::new([a.min(b), a.max(b)])));
        };
        if mask == 0 {
            return self.int(0);
        }
        let (low, high) = self.range(a);
        // A mask of low bits.
        if mask > 0 && (mask as u64 + 1).is_power_of_two() {
            let by = self.int(mask + 1);
            return self.rem(a, by);
        }
        // A mask of all but the low bits.
        let free = mask.trailing_zeros();
        let upper = mask >> free;
        let covers =
            upper == -1 || (low >= 0 && high <= mask | ((1i64 << free) - 1) && (upper as u64 + 1).is_power_of_two());
        // A mask of 32 bits on a number with at most 32 bits.
        let covers = covers || (low >= 0 && high < 1 << 32 && upper == (0xffff_ffffi64 >> free));
        // The high bits that the mask leaves out are those that a shift has filled with zeros.
        let within = self.shifted(a).is_some_and(|most| most <= mask | ((1i64 << free) - 1));
        let within = within && (upper as u64 + 1).is_power_of_two();
        if within && let Some(t) = self.without_low_bits(a, free) {
            return t;
        }
        if covers || within {
            let by = self.int(1i64 << free);
            let r = self.rem(a, by);
            return self.sub(a, r);
        }
        // A mask of bits in the middle.
        if mask > 0 && (upper as u64 + 1).is_power_of_two() {
            let by = self.int(mask | ((1i64 << free) - 1));
            let by = self.plus(by, 1);
            let x = self.rem(a, by);
            let by = self.int(1i64 << free);
            let r = self.rem(x, by);
            return self.sub(x, r);
        }
        // Two runs of bits: the slot of a ring in an unrolled loop, where the compiler knows the bits between.
        if mask > 0 {
            let run = ((1i64 << upper.trailing_ones()) - 1) << free;
            let rest = mask - run;
            if (rest >> rest.trailing_zeros()) & ((rest >> rest.trailing_zeros()) + 1) == 0 {
                let (run, rest) = (self.int(run), self.int(rest));
                let (x, y) = (self.and(a, run), self.and(a, rest));
                return self.add(x, y);
            }
        }
        self.intern(Node::Op(Op::And, Rc::new([a, b])))
    }

    /// Splits a term into a multiple of 2^s and a number below 2^s, for the smallest s that allows it.
    fn split(&self, t: Term) -> (u32, i64) {
        let (k, p) = self.parts(t);
        let zeros = p.iter().map(|(t, c)| c.trailing_zeros() + self.low_zeros(*t)).min().unwrap_or(63).min(62);
        (zeros, k & ((1i64 << zeros) - 1))
    }

    /// Bitwise or.
    pub fn or(&mut self, a: Term, b: Term) -> Term {
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            return self.int(x | y);
        }
        if self.disjoint(a, b) || self.disjoint(b, a) {
            return self.add(a, b);
        }
        if let Some(t) = self.on_low_bits(a, b, |x, y| x | y) {
            return t;
        }
        self.intern(Node::Op(Op::Or, Rc::new([a.min(b), a.max(b)])))
    }

    /// Flips the highest bit of a remainder: half of the modulus is added, and taken away where that passes the end. The
    /// slot after the next one of a ring of four is `8 * (i % 4) ^ 16`.
    fn half_way(&mut self, t: Term, flips: Term) -> Option<Term> {
        let flips = self.constant(flips)?;
        let (0, parts) = self.parts(t) else { return None };
        let [(r, by)] = *parts else { return None };
        let Node::Op(Op::Rem, of) = self.node(r).clone() else { return None };
        let m = self.constant(of[1]).filter(|m| *m >= 2 && (*m as u64).is_power_of_two())?;
        let single = by > 0 && (by as u64).is_power_of_two() && by.checked_mul(m / 2) == Some(flips);
        single.then(|| {
            let later = self.plus(of[0], m / 2);
            let slot = self.rem(later, of[1]);
            self.scale(slot, by)
        })
    }

    /// Bitwise exclusive or.
    pub fn xor(&mut self, a: Term, b: Term) -> Term {
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            return self.int(x ^ y);
        }
        if a == b {
            return self.int(0);
        }
        if self.disjoint(a, b) || self.disjoint(b, a) {
            return self.add(a, b);
        }
        if let Some(t) = self.on_low_bits(a, b, |x, y| x ^ y).or_else(|| self.flipped(a, b)) {
            return t;
        }
        if let Some(t) = self.xor_of_multiples(a, b) {
            return t;
        }
        if let Some(t) = self.half_way(a, b).or_else(|| self.half_way(b, a)) {
            return t;
        }
        let bit = |s: &Self, t: Term| s.is_boolean(t);
        match (self.constant(a), self.constant(b)) {
            (_, Some(1)) if bit(self, a) => return self.not(a),
            (Some(1), _) if bit(self, b) => return self.not(b),
            (Some(k), _) if self.is_multiple_of_boolean(b, k) => return self.sub(a, b),
            (_, Some(k)) if self.is_multiple_of_boolean(a, k) => return self.sub(b, a),
            _ => {}
        }
        self.intern(Node::Op(Op::Xor, Rc::new([a.min(b), a.max(b)])))
    }

    /// `32 ^ 32 x` is `32 (1 ^ x)`.
    fn xor_of_multiples(&mut self, a: Term, b: Term) -> Option<Term> {
        let (number, t) = match (self.constant(a), self.constant(b)) {
            (Some(k), None) => (k, b),
            (None, Some(k)) => (k, a),
            _ => return None,
        };
        let (k, parts) = self.parts(t);
        let zeros = parts.iter().fold((number | k).trailing_zeros(), |z, (_, c)| z.min(c.trailing_zeros()));
        if !(1..62).contains(&zeros) {
            return None;
        }
        let parts = parts.iter().map(|(x, c)| (*x, c >> zeros)).collect();
        let (number, t) = (self.int(number >> zeros), self.sum(k >> zeros, parts));
        let t = self.xor(number, t);
        Some(self.scale(t, 1 << zeros))
    }

    /// Whether a term is a number or 0.
    fn is_multiple_of_boolean(&self, t: Term, k: i64) -> bool {
        let (constant, parts) = self.parts(t);
        constant == 0 && matches!(*parts, [(x, c)] if c == k && self.is_boolean(x))
    }

    /// Whether no bit can be set in both terms: `b` lies within the trailing zero bits of `a`, or in a gap of its bits.
    fn disjoint(&self, a: Term, b: Term) -> bool {
        let (zeros, low) = self.split(a);
        let (least, most) = self.range(b);
        if least < 0 {
            return false;
        }
        if most < 1 << zeros {
            return match self.constant(b) {
                Some(v) => v & low == 0,
                None => low == 0 || (most < 1 << low.trailing_zeros()),
            };
        }
        // A constant without any bit that the other term may have.
        let (al, ah) = self.range(a);
        let Some(v) = self.constant(b).filter(|_| al >= 0 && ah < 1 << 61) else { return false };
        let below = ((ah as u64 + 1).next_power_of_two() - 1) as i64;
        v & (below & !((1i64 << zeros) - 1) | low) == 0
    }

    /// The bits that every value has, and those that some value can have besides; none where they are not known.
    pub fn bits_of(&self, t: Term) -> Option<(i64, i64)> {
        let below = |high: i64| ((high as u64 + 1).next_power_of_two() - 1) as i64;
        let ranged = || {
            let (low, high) = self.range(t);
            (low >= 0 && high < 1 << 61).then(|| (0, below(high) & !((1i64 << self.low_zeros(t).min(62)) - 1)))
        };
        match self.node(t) {
            Node::Const(v) => Some((*v, 0)),
            Node::Op(Op::Or, args) => {
                let ((a, x), (b, y)) = (self.bits_of(args[0])?, self.bits_of(args[1])?);
                Some((a | b, (x | y) & !(a | b)))
            }
            // An unsigned minimum with a constant.
            Node::Op(Op::Min, args) => ranged().or_else(|| {
                let most = args.iter().filter_map(|x| self.constant(*x)).find(|c| (0..1 << 61).contains(c))?;
                Some((0, below(most) & !((1i64 << self.low_zeros(t).min(62)) - 1)))
            }),
            Node::Sum(k, parts) => self.bits_of_sum(*k, parts).or_else(ranged),
            _ => ranged(),
        }
    }

    /// The same for a sum of which no two parts can have one bit.
    fn bits_of_sum(&self, k: i64, parts: &[(Term, i64)]) -> Option<(i64, i64)> {
        let mut all = (k >= 0).then_some((k, 0i64))?;
        for (x, c) in parts {
            let (known, more) = self.bits_of(*x)?;
            (*c > 0 && (*c as u64).is_power_of_two()).then_some(())?;
            let (known, more) = (known.checked_mul(*c)?, more.checked_mul(*c)?);
            if (all.0 | all.1) & (known | more) != 0 {
                return None;
            }
            all = (all.0 | known, all.1 | more);
        }
        Some(all)
    }

    /// The exclusive or with a constant that flips all bits that may vary, or none of them: `bit * 8192 ^ 24576` is
    /// `24576 - bit * 8192`.
    fn flipped(&mut self, a: Term, b: Term) -> Option<Term> {
        let (x, v) = self.constant(b).map(|v| (a, v)).or_else(|| Some((b, self.constant(a)?)))?;
        let (known, more) = self.bits_of(x)?;
        if v < 0 || self.is_boolean(x) {
            return None;
        }
        match v & more {
            0 => Some(self.plus(x, (known ^ v) - known)),
            all if all == more => {
                let negative = self.scale(x, -1);
                Some(self.plus(negative, known + more + ((known ^ v) & !more)))
            }
            _ => None,
        }
    }

    /// One side is a multiple of 2^s and a known number below it, the other a known number below 2^s.
    fn on_low_bits(&mut self, a: Term, b: Term, f: impl Fn(i64, i64) -> i64) -> Option<Term> {
        for (x, y) in [(a, b), (b, a)] {
            let Some(v) = self.constant(y) else { continue };
            let (zeros, low) = self.split(x);
            if (0..1i64 << zeros).contains(&v) {
                return Some(self.plus(x, f(low, v) - low));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbolic::Atom;

    #[test]
    fn the_highest_bit_of_a_remainder_is_half_of_a_ring() {
        let mut a = Arena::default();
        let (i, four) = (a.atom(Atom::Var(1)), a.int(4));
        let slot = a.rem(i, four);
        let place = a.scale(slot, 8);
        let (high, low) = (a.int(16), a.int(8));
        let later = a.plus(i, 2);
        let later = a.rem(later, four);
        let later = a.scale(later, 8);
        let flipped = a.xor(place, high);
        assert_eq!(a.show(flipped), a.show(later));
        assert_eq!(flipped, later);
        // Another bit passes nothing on.
        let other = a.xor(place, low);
        let next = a.plus(i, 1);
        let next = a.rem(next, four);
        let next = a.scale(next, 8);
        assert_ne!(other, next);
    }

    #[test]
    fn a_mask_of_two_runs_of_bits_is_a_sum() {
        let mut a = Arena::default();
        let n = a.atom(Atom::Param(0, 0));
        for mask in [5, 81920, 0b1100110, 1 << 40 | 3] {
            let m = a.int(mask);
            let t = a.and(n, m);
            assert!(matches!(a.node(t), Node::Sum(..)), "{mask}");
            for i in [0, 1, 5, 81920, -1, -70000, i64::MAX] {
                assert_eq!(a.value(t, &|_| Some(i)), Some(i & mask), "{mask} of {i}");
            }
        }
        // Three runs stay as they are.
        let m = a.int(0b10101);
        let t = a.and(n, m);
        assert!(matches!(a.node(t), Node::Op(Op::And, _)));
    }

    #[test]
    fn multiples_are_combined_by_their_factors() {
        let mut a = Arena::default();
        let n = a.atom(Atom::Param(0, 0));
        for (number, by, k) in [(32, 32, 0), (32, 96, 64), (48, 16, -16), (-64, 32, 32)] {
            let t = a.scale(n, by);
            let (t, number_term) = (a.plus(t, k), a.int(number));
            let both = a.xor(number_term, t);
            let (_, parts) = a.parts(both);
            assert!(matches!(*parts, [(_, c)] if c % 16 == 0), "{number} {by} {k}");
            for i in -5..20 {
                assert_eq!(a.value(both, &|_| Some(i)), Some(number ^ (by * i + k)), "{number} {by} {k} at {i}");
            }
        }
    }

    #[test]
    fn what_a_divisor_does_not_see_is_no_part_of_a_dividend() {
        let mut a = Arena::default();
        let (n, m) = (a.atom(Atom::Param(0, 0)), a.atom(Atom::Param(1, 0)));
        let by = a.int(26);
        for k in -3..30 {
            let parts = vec![(n, 2), (m, 132)];
            let (x, even) = (a.sum(k, parts.clone()), a.sum(k - k.rem_euclid(2), parts));
            let (q, same) = (a.div(x, by), a.div(even, by));
            assert_eq!(q, same);
            for i in -40..40i64 {
                let read = |x: Atom| Some(if x == Atom::Param(0, 0) { i } else { 3 });
                assert_eq!(a.value(q, &read), Some((2 * i + 396 + k).div_euclid(26)), "{k} at {i}");
            }
        }
    }

    /// `x > 0 ? (x - 1) / c + 1 : -(-x / c)`, where both quotients round to zero.
    #[test]
    fn a_choice_of_two_quotients_that_round_up_is_one() {
        let mut a = Arena::default();
        let (n, c) = (a.atom(Atom::Param(0, 0)), a.int(64));
        let less = a.plus(n, -1);
        let positive = a.ge(less);
        let up = a.div_zero(less, c);
        let up = a.plus(up, 1);
        let negative = a.scale(n, -1);
        let down = a.div_zero(negative, c);
        let down = a.scale(down, -1);
        let t = a.cond(positive, up, down);
        assert!(!matches!(a.node(t), Node::Op(Op::If, _)));
        for i in -200..200i64 {
            assert_eq!(a.value(t, &|_| Some(i)), Some((i + 63).div_euclid(64)), "{i}");
        }
    }

    #[test]
    fn a_constant_flips_all_bits_that_vary_or_none() {
        let mut a = Arena::default();
        let n = a.atom(Atom::Param(0, 0));
        let two = a.int(2);
        let bit = a.rem(n, two);
        let four = a.int(4);
        let both = a.rem(n, four);
        for (t, v) in [(bit, 8192), (bit, 24), (both, 16), (both, 3), (both, 19)] {
            let shifted = a.scale(t, 8);
            let x = a.plus(shifted, 4096);
            let c = a.int(v * 8);
            let flipped = a.xor(x, c);
            assert!(!matches!(a.node(flipped), Node::Op(Op::Xor, _)), "{v}");
            for i in 0..8 {
                let mut at = |t: Term| a.value(t, &|_| Some(i));
                assert_eq!(at(flipped), at(x).map(|x| x ^ (v * 8)), "{v} at {i}");
            }
        }
        // One bit of two.
        let c = a.int(1);
        let t = a.xor(both, c);
        assert!(matches!(a.node(t), Node::Op(Op::Xor, _)));
    }
}
