//! Loops around a loop, with nothing beside it.
//!
//! ```text
//!   for r in 0..R:
//!     for s in 0..S:            =>    for n in 0..R * S:
//!       body                            body
//! ```
//!
//! If the body does not read the counters, both programs do the same operations in the same order. The number `R * S` is
//! any number that is not negative, so the verifier varies it like any trip count.

use crate::lift::merge::{Merged, MergedKind, each_term};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Atom, Op, Term};

/// Makes loops around a loop one with the loop, where the body reads neither counter.
pub(crate) fn collapsed(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    tree.into_iter().map(|n| of_node(s, n)).collect()
}

fn of_node(s: &mut Shared<'_>, n: Merged) -> Merged {
    let kind = match n.kind {
        MergedKind::If(c, a, b) => MergedKind::If(c, collapsed(s, a), collapsed(s, b)),
        MergedKind::For(h, count, body) => MergedKind::For(h, count, collapsed(s, body)),
        kind => kind,
    };
    let n = Merged { kind, ..n };
    let Some((outer, outer_count, [inside])) =
        bare(s, &n).and_then(|(h, c, b)| Some((h, c, <&[_; 1]>::try_from(b).ok()?)))
    else {
        return n;
    };
    let Some((inner, inner_count, body)) = bare(s, inside) else { return n };
    let varies = |a: Atom| matches!(a, Atom::Counter(h) if h == outer) || matches!(a, Atom::Var(_));
    let mut reads = s.arena.mentions(inner_count, varies) || s.arena.mentions(outer_count, varies);
    each_term(body, &mut |t| {
        reads |= s.arena.mentions(t, |a| matches!(a, Atom::Counter(h) if h == outer || h == inner));
    });
    if reads || inside.warps != n.warps {
        return n;
    }
    let count = s.arena.op(Op::Mul, &[outer_count, inner_count]);
    Merged { kind: MergedKind::For(inner, count, body.to_vec()), at: inside.at, part: inside.part, ..n }
}

/// The header, the number of iterations and the body of a loop; a branch around it is one that asks whether the loop has
/// an iteration.
fn bare<'t>(s: &mut Shared<'_>, n: &'t Merged) -> Option<(u32, Term, &'t [Merged])> {
    let (asks, node) = match &n.kind {
        MergedKind::For(h, count, body) => return Some((*h, *count, body)),
        MergedKind::If(c, a, b) => match (a.as_slice(), b.as_slice()) {
            ([one], []) => (*c, one),
            ([], [one]) => (s.arena.not(*c), one),
            _ => return None,
        },
        _ => return None,
    };
    let MergedKind::For(h, count, body) = &node.kind else { return None };
    let negative = s.arena.scale(*count, -1);
    let none = s.arena.ge(negative);
    let some = s.arena.plus(*count, -1);
    let some = s.arena.ge(some);
    if node.warps != n.warps || asks != some && asks != s.arena.not(none) {
        return None;
    }
    let zero = s.arena.int(0);
    Some((*h, s.arena.op(Op::Max, &[*count, zero]), body))
}
