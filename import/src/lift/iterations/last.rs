//! Comparisons in a loop that hold in each iteration but the last one, such as whether there is a next tile.
//!
//! A loop goes on as long as `y(i) >= 0` holds, and compares `x(i) >= 0` in its body, where `x(i) >= y(i + 1)` for every
//! launch. In each iteration but the last one, the loop goes on, so `y(i + 1) >= 0`, and the comparison holds. In the last
//! iteration it is a value of the launch: both outcomes are proved. Where `x(i) >= y(i)`, the comparison always holds: a last
//! iteration that the loop leaves at its end stands behind the loop, with nodes of its own. A comparison that fails in each
//! iteration but the last one is the opposite of one that holds.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::replaced;
use crate::lift::merge::{Merged, MergedKind, each_node};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, NO_LOOP, Node, Op, Term};

/// Nodes in which these comparisons are comparisons of the number of the iteration with the trip count.
pub(crate) fn decided(s: &mut Shared<'_>, list: Vec<Merged>) -> Vec<Merged> {
    let mut out = Vec::with_capacity(list.len());
    for n in list {
        let kind = match n.kind {
            MergedKind::If(c, a, b) => MergedKind::If(c, decided(s, a), decided(s, b)),
            MergedKind::For(h, count, body) => {
                let body = decided(s, body);
                MergedKind::For(h, count, in_loop(s, h, count, body))
            }
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    out
}

fn in_loop(s: &mut Shared<'_>, h: u32, count: Term, body: Vec<Merged>) -> Vec<Merged> {
    let mut stays = Vec::new();
    goes_on(&s.arena, count, 0, &mut stays);
    let i = s.arena.atom(Atom::Counter(h));
    let in_all: Vec<Term> = stays.iter().filter(|(_, behind)| *behind == 0).map(|(y, _)| *y).collect();
    let in_all: Vec<Term> = in_all.into_iter().map(|y| s.arena.at_iteration(y, NO_LOOP, i)).collect();
    // What holds in each iteration but the last one.
    for (y, behind) in &mut stays {
        let next = s.arena.plus(i, 1 - *behind);
        *y = s.arena.at_iteration(*y, NO_LOOP, next);
    }
    let found = conditions(&s.arena, &body, h);
    let last = s.arena.plus(count, -1);
    let mut with: FxHashMap<Term, Term> = FxHashMap::default();
    for t in found {
        let fails = s.arena.not(t);
        for (c, holds) in [(t, true), (fails, false)] {
            let always = in_all.iter().any(|y| s.arena.follows(c, *y));
            if !always && !stays.iter().any(|(y, _)| s.arena.follows(c, *y)) {
                continue;
            }
            let later = s.arena.sub(last, i);
            let later = s.arena.plus(later, -1);
            let before = s.arena.ge(later);
            let at_last = s.arena.replace(c, &FxHashMap::from_iter([(i, last)]), &mut FxHashMap::default());
            // Where both are equal and the loop has one exit, the comparison does not hold in the last iteration.
            let same = one_exit(&s.arena, count) && c == stays[0].0;
            let new = match (always, same) {
                (true, _) => s.arena.int(1),
                (_, true) => before,
                _ => s.arena.op(Op::Either, &[before, at_last]),
            };
            let new = if holds { new } else { s.arena.not(new) };
            with.insert(t, new);
            break;
        }
    }
    if with.is_empty() {
        return body;
    }
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    body.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// Comparisons with the number of the iteration that hold as long as a loop with this trip count goes on. Beside each is how
/// many iterations the loop makes behind those in which it holds: 1 where the loop is left at its end.
fn goes_on(a: &Arena, count: Term, behind: i64, found: &mut Vec<(Term, i64)>) {
    let (k, parts) = a.parts(count);
    if let ([(t, 1)], true) = (&*parts, k != 0) {
        return goes_on(a, *t, behind + k, found);
    }
    match a.node(count) {
        Node::Op(Op::Max, args) if a.constant(args[1]) == Some(0) => goes_on(a, args[0], behind, found),
        Node::Op(Op::Max, args) if a.constant(args[0]) == Some(0) => goes_on(a, args[1], behind, found),
        Node::Op(Op::Min, args) => args.iter().for_each(|t| goes_on(a, *t, behind, found)),
        Node::Op(Op::Trips, args) if (0..=1).contains(&behind) => {
            if let Node::Op(Op::Ge, _) = a.node(args[0]) {
                found.push((args[0], behind));
            }
        }
        _ => {}
    }
}

/// Whether one comparison alone ends a loop with this trip count.
fn one_exit(a: &Arena, count: Term) -> bool {
    match (a.node(count), &*a.parts(count).1) {
        (Node::Op(Op::Trips, _), _) => true,
        (Node::Op(Op::Max, args), _) => args.iter().any(|t| one_exit(a, *t)),
        (_, [(t, 1)]) if *t != count => one_exit(a, *t),
        _ => false,
    }
}

/// The comparisons of values of the launch with the counter of a loop, in conditions.
fn conditions(a: &Arena, list: &[Merged], h: u32) -> BTreeSet<Term> {
    let mut found = BTreeSet::new();
    each_node(list, &mut |n| {
        if let MergedKind::If(t, ..) | MergedKind::Set(_, t) = &n.kind {
            comparisons(a, *t, h, &mut found);
        }
    });
    found
}

fn comparisons(a: &Arena, t: Term, h: u32, found: &mut BTreeSet<Term>) {
    match a.node(t) {
        Node::Op(op @ (Op::Ge | Op::Either | Op::Both), args) => {
            let counts = a.mentions(t, |x| x == Atom::Counter(h));
            let of_launch = a.mentions(t, |x| matches!(x, Atom::Param(..) | Atom::Place(_)));
            let other = |x: Atom| !matches!(x, Atom::Param(..) | Atom::Place(_)) && x != Atom::Counter(h);
            if counts && of_launch && !a.mentions(t, other) {
                found.insert(t);
            }
            // A disjunction is one condition of the last iteration, as an unsigned comparison is.
            if op != &Op::Ge {
                args.iter().for_each(|x| comparisons(a, *x, h, found));
            }
        }
        Node::Op(_, args) => args.iter().for_each(|x| comparisons(a, *x, h, found)),
        Node::Sum(_, parts) => parts.iter().for_each(|(x, _)| comparisons(a, *x, h, found)),
        Node::Const(_) | Node::Atom(_) | Node::Table(..) => {}
    }
}
