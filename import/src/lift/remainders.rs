//! Comparisons of a remainder with its divisor.

use crate::symbolic::{Arena, Atom, Node, Op, Term};

/// The outcome of a comparison of a remainder with its divisor: `x % c < c`. The divisor is a positive argument: nothing is
/// cut into parts of a negative size.
pub(super) fn below_divisor(a: &mut Arena, comparison: Term) -> Option<bool> {
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
