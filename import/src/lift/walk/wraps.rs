//! Numbers without what is beyond their type.

use crate::symbolic::{Arena, Node, Op, Term};

/// A sum with multiples of its type in the place of larger ones: `8 (x + 2^29 - 1)` of 32 bits is `8 (x - 1)`.
pub(crate) fn without_high_multiples(a: &mut Arena, t: Term, bits: u32) -> Term {
    let (k, parts) = a.parts(t);
    let beyond = |c: i64| i32::try_from(c).is_err();
    if bits != 32 || parts.is_empty() || !parts.iter().any(|(_, c)| beyond(*c)) {
        return t;
    }
    let parts = parts.iter().map(|(t, c)| (*t, i64::from(*c as i32))).collect();
    a.sum(if beyond(k) { i64::from(k as i32) } else { k }, parts)
}

/// A number without a multiple of `x - x % m` that has only bits above those of the type.
pub(crate) fn without_high_bits(a: &mut Arena, t: Term, bits: u32) -> Term {
    let (_, parts) = a.parts(t);
    for (rem, c) in parts.iter().filter(|(_, c)| *c < 0 && bits < 63) {
        let Node::Op(Op::Rem, args) = a.node(*rem).clone() else { continue };
        let step = a.constant(args[1]).and_then(|m| m.checked_mul(*c));
        if step.is_none_or(|step| step % (1 << bits) != 0) {
            continue;
        }
        let (back, more) = (a.scale(*rem, *c), a.scale(args[0], -c));
        let whole = a.add(more, back);
        let rest = a.sub(t, whole);
        if a.parts(rest).1.len() < parts.len() {
            return rest;
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbolic::Atom;

    #[test]
    fn bits_above_those_of_a_type_are_left_out() {
        let mut a = Arena::default();
        let i = a.atom(Atom::Counter(1));
        // (i - i % 65536) * 65536 is a multiple of 2^32.
        let by = a.int(65_536);
        let rem = a.rem(i, by);
        let whole = a.sub(i, rem);
        let shifted = a.scale(whole, 65_536);
        let t = a.plus(shifted, 640);
        assert_eq!(without_high_bits(&mut a, t, 32), a.int(640));
        // Of a number of 64 bits, and of a smaller multiple, they are kept.
        assert_eq!(without_high_bits(&mut a, t, 64), t);
        let half = a.scale(whole, 32_768);
        assert_eq!(without_high_bits(&mut a, half, 32), half);
    }

    #[test]
    fn multiples_beyond_a_type_wrap() {
        let mut a = Arena::default();
        let x = a.atom(Atom::Var(0));
        let t = a.scale(x, (1 << 32) - 24);
        assert_eq!(without_high_multiples(&mut a, t, 32), a.scale(x, -24));
        assert_eq!(without_high_multiples(&mut a, t, 64), t);
    }
}
