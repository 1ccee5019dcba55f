//! Turns of persistent loops in the CTAs of a cluster.
//!
//! A persistent loop goes on while the number of a CTA's tile is one. Each CTA of a cluster has a number of its own. The
//! host makes all tiles a multiple of the cluster's, so the CTAs of a cluster have as many. The text does not say that, so
//! it is an assumption.

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::replaced;
use crate::lift::merge::{Merged, MergedKind};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Node, Op, Term};

/// Terms of one CTA, and the terms of the first CTA in their place.
type Pairs = FxHashMap<Term, Term>;

/// The nodes of a warp of a CTA, with as many turns as those of the same warp of the first CTA.
pub(crate) fn alike(s: &mut Shared<'_>, list: Vec<Merged>, first: &[Merged]) -> Vec<Merged> {
    let mut turns = Pairs::default();
    loops(&mut s.arena, &list, first, &mut turns);
    if turns.is_empty() {
        return list;
    }
    s.assume(
        s.entry.line,
        "the CTAs of a cluster have the same number of tiles, as a host makes all tiles a multiple of them",
    );
    let mut with = turns.clone();
    conditions(&s.arena, (&list, first), &turns, &mut with);
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    list.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// The number of turns in a trip count.
fn turns_of(a: &Arena, t: Term) -> Option<Term> {
    match a.node(t) {
        Node::Op(Op::Trips, _) => Some(t),
        Node::Op(_, args) => args.iter().find_map(|x| turns_of(a, *x)),
        Node::Sum(_, parts) => parts.iter().find_map(|(x, _)| turns_of(a, *x)),
        Node::Const(_) | Node::Atom(_) | Node::Table(..) => None,
    }
}

/// Calls `f` on the branches and loops that stand at the same place. Between them, the CTAs may do different operations.
fn both(list: &[Merged], first: &[Merged], f: &mut impl FnMut(&MergedKind, &MergedKind)) {
    let mut rest = first;
    for x in list.iter().filter(|n| matches!(n.kind, MergedKind::If(..) | MergedKind::For(..))) {
        let is_same = |y: &Merged| x.at == y.at && std::mem::discriminant(&x.kind) == std::mem::discriminant(&y.kind);
        let Some(n) = rest.iter().position(is_same) else { continue };
        let y = &rest[n];
        rest = &rest[n + 1..];
        f(&x.kind, &y.kind);
        match (&x.kind, &y.kind) {
            (MergedKind::If(_, a, b), MergedKind::If(_, c, d)) => {
                both(a, c, f);
                both(b, d, f);
            }
            (MergedKind::For(_, _, a), MergedKind::For(_, _, b)) => both(a, b, f),
            _ => {}
        }
    }
}

fn loops(a: &mut Arena, list: &[Merged], first: &[Merged], found: &mut Pairs) {
    both(list, first, &mut |x, y| {
        if let (MergedKind::For(_, n, _), MergedKind::For(_, m, _)) = (x, y)
            && let (Some(t), Some(u)) = (turns_of(a, *n), turns_of(a, *m))
            && t != u
            && a.replace(*n, &Pairs::from_iter([(t, u)]), &mut FxHashMap::default()) == *m
        {
            found.insert(t, u);
        }
    });
}

/// Conditions over what decides the number of turns: whether there is a tile.
fn conditions(a: &Arena, (list, first): (&[Merged], &[Merged]), turns: &Pairs, with: &mut Pairs) {
    both(list, first, &mut |x, y| {
        let (MergedKind::If(c, ..), MergedKind::If(d, ..)) = (x, y) else { return };
        let of = |c: Term, t: Term| {
            let known = a.atoms(t);
            !a.mentions(c, |x| !matches!(x, Atom::Counter(_)) && !known.contains(&x))
        };
        if c != d && turns.iter().any(|(t, u)| of(*c, *t) && of(*d, *u)) {
            with.insert(*c, *d);
        }
    });
}
