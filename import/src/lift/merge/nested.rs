//! Branches inside of a branch, with nothing beside them: both are one branch under two conditions.
//!
//! ```text
//!   if !(length == 0):                   if !(length == 0 or length == 1):
//!     if !(length == 1):          ─▶       <body>
//!       <body>
//! ```
//!
//! Both outcomes of a condition over the launch are tried, so each further condition doubles the launches.

use rustc_hash::FxHashMap;

use crate::lift::launch::exprs::{Names, opposite};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Term};

use super::{Merged, MergedKind, each_term};

/// The tree with one branch for two, where trip counts decide neither condition and nothing else reads them: neither other
/// nodes, nor other terms.
pub(crate) fn joined(
    s: &mut Shared<'_>,
    names: &Names,
    tree: Vec<Merged>,
    (nodes, terms): (&[Merged], &[Term]),
) -> Vec<Merged> {
    let mut read: FxHashMap<Term, usize> = FxHashMap::default();
    let mut reads = |t: Term| *read.entry(t).or_default() += 1;
    each_term(&tree, &mut reads);
    each_term(nodes, &mut reads);
    terms.iter().for_each(|t| reads(*t));
    in_list(&mut s.arena, names, &read, tree)
}

fn in_list(a: &mut Arena, names: &Names, read: &FxHashMap<Term, usize>, list: Vec<Merged>) -> Vec<Merged> {
    let mut one = |n: Merged| {
        let kind = match n.kind {
            MergedKind::If(c, yes, no) => {
                let (yes, no) = (in_list(a, names, read, yes), in_list(a, names, read, no));
                of_one(a, (names, read), n.warps, (c, yes, no))
            }
            MergedKind::For(h, count, body) => MergedKind::For(h, count, in_list(a, names, read, body)),
            same => same,
        };
        Merged { kind, ..n }
    };
    list.into_iter().map(&mut one).collect()
}

/// A branch, or one branch for it and the only node of its only side.
fn of_one(
    a: &mut Arena,
    of: (&Names, &FxHashMap<Term, usize>),
    warps: u128,
    (c, mut yes, mut no): (Term, Vec<Merged>, Vec<Merged>),
) -> MergedKind {
    let side = if no.is_empty() { &mut yes } else { &mut no };
    let inner = match side.as_slice() {
        [Merged { kind: MergedKind::If(d, p, q), warps: same, .. }]
            if *same == warps && p.is_empty() != q.is_empty() =>
        {
            Some((*d, p.is_empty()))
        }
        _ => None,
    };
    let Some((d, inner_no)) = inner.filter(|_| yes.is_empty() != no.is_empty()) else {
        return MergedKind::If(c, yes, no);
    };
    if !is_free(a, of, c) || !is_free(a, of, d) {
        return MergedKind::If(c, yes, no);
    }
    let outer = if no.is_empty() { c } else { a.not(c) };
    let within = if inner_no { a.not(d) } else { d };
    let both = a.both(outer, within);
    let side = if no.is_empty() { yes } else { no };
    let body =
        side.into_iter().flat_map(|n| if let MergedKind::If(_, p, q) = n.kind { [p, q].concat() } else { vec![n] });
    MergedKind::If(both, body.collect(), Vec::new())
}

/// Whether a condition is one of the launch that trip counts do not decide, and that one branch alone reads.
fn is_free(a: &mut Arena, (names, read): (&Names, &FxHashMap<Term, usize>), c: Term) -> bool {
    if a.mentions(c, |x| matches!(x, Atom::Counter(_) | Atom::Var(_))) || read.get(&c) != Some(&1) {
        return false;
    }
    let mut varied = true;
    names.leaves(a, c, &mut |t| varied &= names.is_varied(t));
    let other = opposite(a, c).unwrap_or_else(|| a.not(c));
    !varied && read.keys().all(|t| *t == c || !a.has(*t, c) && !a.has(*t, other))
}
