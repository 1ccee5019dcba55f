//! Sizes of which a loop reads one quotient, and its conditions a finer one.
//!
//! ```text
//!   for i in 0..(n + 63) / 128:                  k = (n + 63) / 64
//!     if 2 * i + 2 < (n + 63) / 64:    ─▶        for i in 0..k / 2:
//!       <body>                                     if 2 * i + 2 < k:
//!                                                    <body>
//! ```
//!
//! Each quotient is one of the finest of them: `(n + 63) / 128` is `(n + 63) / 64 / 2`. So the finest one is a size of its
//! own, and each value of it is one of some launch. How a loop and its conditions depend on it, `residues.rs` says.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::{bases, quotients, replaced, symbol_for};
use crate::lift::merge::{Merged, MergedKind, each_node, each_term};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, NO_LOOP, Node, Op, Term};

use super::residues::LARGEST;

/// First of the numbers of symbols for the finest quotients.
const FIRST: u32 = 4 * super::residues::FIRST;

/// The tree with a symbol for the finest quotient of each size. `stands_for` receives the quotient.
pub(crate) fn quotients_of_one(
    s: &mut Shared<'_>,
    tree: Vec<Merged>,
    stands_for: &mut FxHashMap<Term, Term>,
) -> Vec<Merged> {
    let mut with = FxHashMap::default();
    let bases = bases(s, &tree);
    for t in bases.iter().copied() {
        let Node::Op(Op::Div, args) = s.arena.node(t).clone() else { continue };
        let Some(by) = s.arena.constant(args[1]).filter(|by| *by > 1) else { continue };
        let mut found = Vec::new();
        each_term(&tree, &mut |x| quotients(&s.arena, x, (args[0], 1), &mut found));
        let found: BTreeSet<(Term, i64)> = found.into_iter().collect();
        let Some((finest, least)) = found.iter().copied().min_by_key(|(_, d)| *d) else { continue };
        let several = least < by && by / least <= LARGEST as i64 && found.iter().all(|(_, d)| d % least == 0);
        // A loop behind the one over quotients goes over what is left.
        let is_left = |x: &Term| matches!(s.arena.node(*x), Node::Op(Op::Rem, of) if of[0] == finest);
        // Loops over what is left become one with the loop over the quotient (`steps.rs`).
        let loops_left = bases.iter().any(|x| matches!(s.arena.node(*x), Node::Op(Op::Rem, _)));
        let read = |s: &Shared<'_>| bases.iter().any(is_left) || is_compared(&s.arena, &tree, finest, !loops_left);
        if !several || with.contains_key(&t) || !read(s) {
            continue;
        }
        s.assume(s.entry.line, "sizes that set trip counts are not negative");
        let size = symbol_for(s, (FIRST, &mut *stands_for), finest, (1 << 31) - 1);
        for (q, d) in found {
            let more = s.arena.int(d / least);
            with.insert(q, s.arena.div(size, more));
        }
    }
    if with.is_empty() {
        return tree;
    }
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    tree.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// Whether a condition compares a quotient with the number of an iteration, or what is `left` of the quotient with a number.
fn is_compared(a: &Arena, tree: &[Merged], quotient: Term, left: bool) -> bool {
    let mut found = false;
    each_node(tree, &mut |n| {
        if let MergedKind::If(c, ..) = n.kind {
            found |= compares(a, c, quotient, left);
        }
    });
    found
}

fn compares(a: &Arena, t: Term, quotient: Term, left: bool) -> bool {
    match a.node(t) {
        Node::Op(Op::Not | Op::Both | Op::Either, args) => args.iter().any(|x| compares(a, *x, quotient, left)),
        Node::Op(Op::Ge | Op::Eq, args) => {
            let counts = |x: Term| matches!(a.node(x), Node::Atom(Atom::Counter(h)) if *h != NO_LOOP);
            let (_, parts) = a.parts(args[0]);
            let is_left = |x: Term| matches!(a.node(x), Node::Op(Op::Rem, of) if of[0] == quotient);
            parts.iter().any(|p| counts(p.0)) && parts.iter().any(|p| p.0 == quotient)
                || left && parts.iter().any(|p| is_left(p.0))
        }
        _ => false,
    }
}
