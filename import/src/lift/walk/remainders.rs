//! Remainders by an argument: comparisons with the divisor, and bounds.

use crate::symbolic::{Arena, Atom, Node, Op, Term};

/// The outcome of a comparison of a remainder with its divisor: `x % c < c`. The divisor is a positive argument: nothing is
/// cut into parts of a negative size.
pub(crate) fn below_divisor(a: &mut Arena, comparison: Term) -> Option<bool> {
    let Node::Op(Op::Ge, of) = a.node(comparison) else { return None };
    let difference = of[0];
    let (_, parts) = a.parts(difference);
    for (part, sign) in parts.iter().copied().filter(|(_, c)| c.abs() == 1) {
        // `x % c` is `x - c * (x / c)`.
        let Node::Op(Op::Mul, factors) = a.node(part).clone() else { continue };
        for (divisor, quotient) in [(factors[0], factors[1]), (factors[1], factors[0])] {
            let Node::Op(Op::Div | Op::DivZero, of) = a.node(quotient).clone() else { continue };
            if of[1] != divisor || !matches!(a.node(divisor), Node::Atom(Atom::Param(..))) {
                continue;
            }
            let remainder = a.sub(of[0], part);
            let less = a.sub(remainder, divisor);
            let rest = match sign {
                -1 => a.sub(difference, less),
                _ => a.add(difference, less),
            };
            match (sign, a.constant(rest)) {
                (-1, Some(k)) if k <= 0 => return Some(false),
                (1, Some(k)) if k >= -1 => return Some(true),
                _ => {}
            }
        }
    }
    None
}

/// A lower bound of a term, where remainders and quotients of numbers that are not negative are not negative. The divisor
/// is a positive argument.
pub(crate) fn least(a: &mut Arena, t: Term) -> i64 {
    let quotient = |a: &Arena, q: Term| match a.node(q) {
        Node::Op(Op::Div | Op::DivZero, of) => {
            let positive = matches!(a.node(of[1]), Node::Atom(Atom::Param(..)));
            (positive && a.range(of[0]).0 >= 0).then(|| (of[0], of[1]))
        }
        _ => None,
    };
    let mut rest = t;
    for (part, c) in a.parts(t).1.iter().copied().filter(|(_, c)| *c < 0) {
        let Node::Op(Op::Mul, factors) = a.node(part).clone() else { continue };
        for (divisor, q) in [(factors[0], factors[1]), (factors[1], factors[0])] {
            if let Some((x, _)) = quotient(a, q).filter(|(_, by)| *by == divisor) {
                // What is left without `x % c`.
                let remainder = a.sub(x, part);
                let remainder = a.scale(remainder, -c);
                rest = a.sub(rest, remainder);
                break;
            }
        }
    }
    for (part, c) in a.parts(rest).1.iter().copied().filter(|(_, c)| *c > 0) {
        if quotient(a, part).is_some() {
            let all = a.scale(part, c);
            rest = a.sub(rest, all);
        }
    }
    a.range(rest).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remainder_of_a_number_that_is_not_negative_has_a_bound() {
        let mut a = Arena::default();
        let (x, n) = (a.atom(Atom::Counter(1)), a.atom(Atom::Param(0, 0)));
        let q = a.op(Op::DivZero, &[x, n]);
        let product = a.op(Op::Mul, &[q, n]);
        let remainder = a.sub(x, product);
        let row = a.scale(remainder, 1024);
        let at = a.scale(q, 4);
        let at = a.add(row, at);
        let at = a.plus(at, 512);
        assert_eq!(least(&mut a, at), 512);
        let below = a.plus(x, -600);
        let below = a.op(Op::DivZero, &[below, n]);
        let below = a.plus(below, 512);
        assert!(least(&mut a, below) < 0);
    }
}
