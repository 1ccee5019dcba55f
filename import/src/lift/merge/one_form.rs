//! One form for each condition. Loops of one turn or two, and numbers that a condition chooses, write one condition in
//! several ways:
//!
//! ```text
//!   n > 2        min(1, iterations while n > 2)        (n > 2 ? 2 : 1) >= 2        (n > 2 ? 2 : 1) - 1
//! ```
//!
//! Both outcomes of a condition over the launch are tried, so each further form would double the launches.

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::replaced;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Node, Op, Term};

use super::{Merged, MergedKind};

/// The tree with one form of each condition of a branch.
pub(crate) fn conditions(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    let mut with = FxHashMap::default();
    collect(&mut s.arena, &tree, &mut with);
    if with.is_empty() {
        return tree;
    }
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    tree.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// The conditions of branches that have another form.
fn collect(a: &mut Arena, list: &[Merged], with: &mut FxHashMap<Term, Term>) {
    for n in list {
        match &n.kind {
            MergedKind::If(c, yes, no) => {
                let t = form(a, *c);
                if t != *c {
                    with.insert(*c, t);
                }
                collect(a, yes, with);
                collect(a, no, with);
            }
            MergedKind::For(_, _, body) => collect(a, body, with),
            MergedKind::Op(_) | MergedKind::Set(..) | MergedKind::End => {}
        }
    }
}

/// A condition without choices between two numbers, and without iterations of a condition that none of them changes.
fn form(a: &mut Arena, c: Term) -> Term {
    match a.node(c).clone() {
        Node::Op(Op::Both, args) => {
            let (x, y) = (form(a, args[0]), form(a, args[1]));
            a.both(x, y)
        }
        Node::Op(Op::Either, args) => {
            let (x, y) = (form(a, args[0]), form(a, args[1]));
            a.either(x, y)
        }
        Node::Op(Op::Not, args) => {
            let x = form(a, args[0]);
            a.not(x)
        }
        Node::Op(Op::Min, args) => match repeated(a, args[0], args[1]).or_else(|| repeated(a, args[1], args[0])) {
            Some(p) => form(a, p),
            None => c,
        },
        Node::Op(Op::Ge, args) => chosen(a, args[0], |v| v >= 0).unwrap_or(c),
        Node::Op(Op::Eq, args) => chosen(a, args[0], |v| v == 0).unwrap_or(c),
        Node::Op(Op::If, _) | Node::Sum(..) if a.range(c).0 >= 0 && a.range(c).1 <= 1 => {
            chosen(a, c, |v| v != 0).unwrap_or(c)
        }
        _ => c,
    }
}

/// The condition `p` of `min(1, iterations while p)`, which no iteration changes.
fn repeated(a: &Arena, one: Term, trips: Term) -> Option<Term> {
    let Node::Op(Op::Trips, args) = a.node(trips) else { return None };
    let p = args[0];
    let changes = a.mentions(p, |x| !matches!(x, Atom::Param(..) | Atom::Place(_) | Atom::Symbol(_)));
    (a.constant(one) == Some(1) && a.is_boolean(p) && !changes).then_some(p)
}

/// A test of a multiple of a choice between two numbers and a constant, as the condition of the choice.
fn chosen(a: &mut Arena, t: Term, test: impl Fn(i64) -> bool) -> Option<Term> {
    let (k, parts) = a.parts(t);
    let [(x, by)] = *parts else { return None };
    let Node::Op(Op::If, args) = a.node(x).clone() else { return None };
    let (p, yes, no) = (args[0], a.constant(args[1])?, a.constant(args[2])?);
    let of = |v: i64| by.checked_mul(v).and_then(|v| v.checked_add(k)).map(&test);
    let (yes, no) = (of(yes)?, of(no)?);
    if !a.is_boolean(p) {
        return None;
    }
    Some(match (yes, no) {
        (true, false) => form(a, p),
        (false, true) => {
            let p = form(a, p);
            a.not(p)
        }
        _ => a.int(i64::from(yes)),
    })
}
