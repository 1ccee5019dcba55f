//! Division by a constant whose magic number has 33 bits.
//!
//! ```text
//!   h = x * m / 2^32        x / d = (h + (x - h) / 2) / c        with (2^32 + m) d = 2^33 c + a small number
//! ```
//!
//! The constants of a sum are moved out of quotients. So `(m (y - 1)) / 2^32` is kept as `(m y + 2^32 - m) / 2^32 - 1`. The
//! quotient of `y - 1` then has other constants than that of `y`.

use super::{Arena, Node, Op, Term};

/// The largest multiple of 2^32 by which the constant of a product may differ.
const MOST_MOVED: i64 = 4;

/// The high half of a product with a magic number.
struct High {
    /// The number that is multiplied.
    x: Term,
    /// The magic number without its highest bit.
    m: i64,
    /// What the high half is more than the quotient that stands for it.
    more: i64,
}

impl Arena {
    /// The quotient that `(k + parts) / c` is, where the sum is that of a division by such a number. The compiler divides
    /// an unsigned number so, and `x` is one: its value in a launch is not negative.
    pub(super) fn long_magic(&mut self, k: i64, parts: &[(Term, i64)], c: i64) -> Option<Term> {
        let [(t, 1), (u, 1)] = *parts else { return None };
        if !(c as u64).is_power_of_two() || c > 1 << 16 {
            return None;
        }
        [(t, u), (u, t)].into_iter().find_map(|(h, half)| {
            let Node::Op(Op::Div, args) = self.node(half).clone() else { return None };
            if self.constant(args[1]) != Some(2) {
                return None;
            }
            // The high half may be known as a quotient by the same number: `(x + x / 7) / 8` is `x / 7` of every number.
            let quotient = match self.node(h) {
                Node::Op(Op::Div, of) if self.constant(of[1]) == Some(2 * c - 1) && c > 1 => Some(of[0]),
                _ => None,
            };
            let High { x, m, more } = match quotient {
                Some(x) => High { x, m: 0, more: 0 },
                None => self.high_of(h, args[0])?,
            };
            // x - h, less what `half` halves: an even number, so that both halves differ by a whole one. Multiples of `2 c`
            // were moved out of all quotients.
            let left = self.sub(x, h);
            let left = self.sub(left, args[0]);
            let (differ, moved) = self.parts(left);
            if moved.iter().any(|(_, by)| by % (2 * c) != 0) {
                return None;
            }
            let moved: Vec<(Term, i64)> = moved.iter().map(|(t, by)| (*t, -by / (2 * c))).collect();
            let differ = differ.checked_sub(more).filter(|d| d % 2 == 0)?;
            // The sum, less the one that is divided.
            let beside = k.checked_sub(more)?.checked_sub(differ / 2).filter(|d| d % c == 0)?;
            if quotient.is_some() {
                let moved = self.sum(beside / c, moved);
                return Some(self.add(h, moved));
            }
            let (m, p) = ((1i128 << 32) + i128::from(m), i128::from(c) << 33);
            let d = (p + m / 2) / m;
            let error = m * d - p;
            let exact = d > 1 && error >= 0 && error << 31 < p;
            let by = self.int(i64::try_from(d).ok().filter(|_| exact)?);
            self.divides_unsigned |= more != 0 && self.range(x).0 < 0;
            let q = self.div(x, by);
            let moved = self.sum(beside / c, moved);
            Some(self.add(q, moved))
        })
    }

    /// The product whose high half a term stands for. `other + h` is the number, but for a constant and multiples that
    /// were moved out of it.
    fn high_of(&mut self, h: Term, other: Term) -> Option<High> {
        match self.node(h).clone() {
            Node::Op(Op::MulHigh, of) if self.constant(of[2]) == Some(32) => {
                Some(High { x: of[0], m: self.constant(of[1])?, more: 0 })
            }
            Node::Op(Op::Div, of) if self.constant(of[1]) == Some(1 << 32) => {
                let y = self.add(other, h);
                let (_, parts) = self.parts(y);
                let (first, by) = *parts.first()?;
                let (r, scaled) = self.parts(of[0]);
                let m = scaled.iter().find(|(t, _)| *t == first)?.1.checked_div(by).filter(|m| *m > 0)?;
                let whole = |(t, by): &(Term, i64)| (by % m == 0).then_some((*t, by / m));
                let plain = scaled.iter().map(whole).collect::<Option<Vec<_>>>()?;
                let plain = self.sum(0, plain);
                let product = self.scale(plain, m);
                // The constant of the product is what is left of it, and some multiple of 2^32 that was moved out.
                let constant = |more: i64| r.checked_add(more << 32).filter(|r| r % m == 0).map(|r| (more, r / m));
                let (more, e) = (-MOST_MOVED..=MOST_MOVED).find_map(constant)?;
                let (product, x) = (self.plus(product, r), self.plus(plain, e));
                (product == of[0]).then_some(High { x, m, more })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbolic::Atom;

    /// `x / 7` as compilers compute it for a number of 32 bits without a sign.
    fn by_seven(a: &mut Arena, x: Term) -> Term {
        let (all, two, four) = (a.int(1 << 32), a.int(2), a.int(4));
        let product = a.scale(x, 613_566_757);
        let h = a.div(product, all);
        let left = a.sub(x, h);
        let half = a.div(left, two);
        let sum = a.add(half, h);
        a.div(sum, four)
    }

    #[test]
    fn a_sum_with_a_constant_is_divided_like_one_without() {
        let mut a = Arena::default();
        let y = a.atom(Atom::Param(0, 0));
        for k in [0, 1, 5, 6, -1, -2] {
            let x = a.plus(y, k);
            let (q, seven) = (by_seven(&mut a, x), a.int(7));
            assert_eq!(q, a.div(x, seven), "{k}");
        }
        // A multiple of 8 that was moved out of all quotients is no part of the half.
        let (n, all, two, four, seven) = (a.atom(Atom::Param(1, 0)), a.int(1 << 32), a.int(2), a.int(4), a.int(7));
        let steps = a.scale(n, 16);
        let x = a.add(y, steps);
        let product = a.scale(x, 613_566_757);
        let h = a.div(product, all);
        let left = a.sub(y, h);
        let half = a.div(left, two);
        let sum = a.add(half, h);
        let (q, whole) = (a.div(sum, four), a.div(x, seven));
        let moved = a.scale(n, -2);
        assert_eq!(q, a.add(whole, moved));
        // Of a number that is not negative, the high half is a quotient itself.
        let x = a.atom(Atom::Counter(0));
        let (q, seven) = (by_seven(&mut a, x), a.int(7));
        assert_eq!(q, a.div(x, seven));
        // Another magic number is none of a division.
        let (all, two, four) = (a.int(1 << 32), a.int(2), a.int(4));
        let x = a.plus(y, -1);
        let product = a.scale(x, 613_566_755);
        let h = a.div(product, all);
        let left = a.sub(x, h);
        let half = a.div(left, two);
        let sum = a.add(half, h);
        let (q, seven) = (a.div(sum, four), a.int(7));
        assert_ne!(q, a.div(x, seven));
    }
}
