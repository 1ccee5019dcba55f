//! Trip counts of CTAs that have a part of a size.
//!
//! A host divides by an argument, and passes the factor and the shift of the division with it. A kernel rounds up by this
//! division where it adds another argument first, so both arguments are one number `p`:
//!
//! ```text
//!   parts = (n + p - 1) / p              A part q < parts has at least one row:
//!   if q < parts:                        q + 1 <= (n - 1) / p + 1, so that p * q <= n - 1
//!     rows = min(p, n - p * q)
//! ```
//!
//! Where all that reads such a trip count stands behind the branch, the count is the successor of a symbol. Elsewhere, the
//! program does nothing in launches in which a CTA has a part and the loop over its rows has no iteration.

use rustc_hash::FxHashMap;

use crate::lift::iterations::positive::{alike, asked};
use crate::lift::iterations::residues;
use crate::lift::iterations::thresholds::pruned;
use crate::lift::merge::choices::is_fixed;
use crate::lift::merge::folded::folded;
use crate::lift::merge::{Merged, MergedKind, each_term};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Facts, Node, Op, Term};

use super::asserted::Behind;
use super::symbols::{bases, replaced, symbol_for};

/// The assumption about both arguments.
const ONE_DIVISOR: &str = "a quotient by a number of the host that rounds up by another argument has both equal";

/// The largest number of nested quotients, minima and maxima of a count.
const MOST_DEEP: usize = 8;

/// First of the numbers of symbols for trip counts that are at least one.
const FIRST: u32 = 6 * residues::FIRST;

/// The tree with trip counts of at least one, where branches of the tree say this.
pub(crate) fn from_one(
    s: &mut Shared<'_>,
    mut tree: Vec<Merged>,
    stands_for: &mut FxHashMap<Term, Term>,
) -> Vec<Merged> {
    if s.arena.host_divisors.is_empty() {
        return tree;
    }
    let mut conditions: Vec<(usize, Term)> = Vec::new();
    for n in &tree {
        let MergedKind::If(c, ..) = n.kind else { continue };
        if is_fixed(&s.arena, c) && conditions.iter().all(|(_, known)| *known != c) {
            conditions.push((n.at, c));
        }
    }
    for (at, c) in conditions {
        for holds in [true, false] {
            let bases = bases(s, &tree);
            let Some(facts) = rows_of_part(&mut s.arena, (c, holds), &bases) else { continue };
            for base in bases {
                let some = s.arena.plus(base, -1);
                let some = s.arena.ge(some);
                if s.arena.constant(some).is_some() || !has_one(&mut s.arena, base, &facts, MOST_DEEP) {
                    continue;
                }
                s.assume(s.entry.line, ONE_DIVISOR);
                if read_beside(s, &tree, (c, holds), base) {
                    let condition = if holds { c } else { s.arena.not(c) };
                    s.cases.behind.push(Behind::of(at, vec![condition], some));
                } else {
                    tree = more_than_one(s, tree, base, stands_for);
                }
            }
        }
    }
    tree
}

/// Whether anything reads a count, or what it is a quotient of, where a condition has another outcome.
fn read_beside(s: &Shared<'_>, tree: &[Merged], (c, holds): (Term, bool), count: Term) -> bool {
    let inner = match s.arena.node(count) {
        Node::Op(Op::Div, args) => match *s.arena.parts(args[0]).1 {
            [(x, _)] => x,
            _ => args[0],
        },
        _ => count,
    };
    let mut found = false;
    let mut read = |t: Term| found |= s.arena.has(t, inner);
    for n in tree {
        match &n.kind {
            MergedKind::If(other, a, b) if *other == c => each_term(if holds { b } else { a }, &mut read),
            _ => each_term(std::slice::from_ref(n), &mut read),
        }
    }
    found
}

/// The tree with the successor of a symbol for a count of at least one.
fn more_than_one(
    s: &mut Shared<'_>,
    tree: Vec<Merged>,
    count: Term,
    stands_for: &mut FxHashMap<Term, Term>,
) -> Vec<Merged> {
    let before = s.arena.plus(count, -1);
    let atom = symbol_for(s, (FIRST, stands_for), before, (1 << 31) - 1);
    let next = s.arena.plus(atom, 1);
    let mut with = FxHashMap::from_iter([(count, next)]);
    if let Node::Op(Op::Div, args) = s.arena.node(count).clone() {
        with.insert(s.arena.op(Op::DivZero, &args), next);
    }
    let (yes, no) = (s.arena.int(1), s.arena.int(0));
    for x in alike(&mut s.arena, count) {
        let [some, none] = asked(&mut s.arena, x);
        with.extend([(some, yes), (none, no)]);
    }
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    let tree = tree.iter().map(|n| replaced(s, n, &mut f)).collect();
    let tree = pruned(s, tree);
    folded(s, tree)
}

/// What a condition says where it is `q < (n + p - 1) / d`, and `d` is `p`.
fn rows_of_part(a: &mut Arena, (c, holds): (Term, bool), bases: &[Term]) -> Option<Facts> {
    let Node::Op(Op::Ge, args) = a.node(c).clone() else { return None };
    let x = if holds {
        args[0]
    } else {
        let minus = a.scale(args[0], -1);
        a.plus(minus, -1)
    };
    // At least 0 are the parts behind this one.
    let (_, list) = a.parts(x);
    let quotient = |t: Term| match a.node(t) {
        Node::Op(Op::Div, args) if a.host_divisors.contains(&args[1]) => Some((args[0], args[1])),
        _ => None,
    };
    let (parts, (dividend, d)) = list.iter().filter(|(_, by)| *by == 1).find_map(|(t, _)| Some((*t, quotient(*t)?)))?;
    let next = a.sub(parts, x);
    let q = a.plus(next, -1);
    let is_argument = |t: Term| t != d && matches!(a.node(t), Node::Atom(Atom::Param(..)));
    let arguments: Vec<Term> =
        a.parts(dividend).1.iter().filter(|(t, by)| *by == 1 && is_argument(*t)).map(|(t, _)| *t).collect();
    for p in arguments {
        let before = a.op(Op::Mul, &[p, q]);
        if !bases.iter().any(|t| a.has(*t, before)) {
            continue;
        }
        let mut facts = Facts::default();
        let last = a.sub(dividend, p);
        let left = a.sub(last, before);
        for t in [left, a.plus(p, -1)] {
            let holds = a.ge(t);
            a.learn(holds, true, &mut facts);
        }
        return Some(facts);
    }
    None
}

/// Whether facts say that a count is at least 1.
fn has_one(a: &mut Arena, t: Term, facts: &Facts, deep: usize) -> bool {
    let some = a.plus(t, -1);
    let some = a.ge(some);
    if a.decide(some, facts) == Some(true) {
        return true;
    }
    if deep == 0 {
        return false;
    }
    match a.node(t).clone() {
        Node::Op(Op::Min, args) => args.iter().all(|x| has_one(a, *x, facts, deep - 1)),
        Node::Op(Op::Max, args) => args.iter().any(|x| has_one(a, *x, facts, deep - 1)),
        Node::Op(Op::Div | Op::DivZero, args) => {
            let Some(by) = a.constant(args[1]).filter(|by| *by > 0) else { return false };
            let x = a.plus(args[0], 1 - by);
            has_one(a, x, facts, deep - 1)
        }
        _ => false,
    }
}
