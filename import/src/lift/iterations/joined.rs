//! Rings whose phase is moved on by branches over the launch.
//!
//! ```text
//!   for ..:                                  for ..:
//!     if n < 7: q = (p + (s + n) / 7) % 2      p, s = n < 7 ? .. : .., (s + n) % 7
//!     else:     q = ..                       becomes
//!     p, s = q, (s + n) % 7
//!   use q, s                                 use p, s
//! ```
//!
//! The walk makes a variable of a register that the sides of a branch leave with different values. Such a variable has the
//! value of a conditional term. What it is copied to has this value, too, and behind the loop both are equal.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::replaced;
use crate::lift::merge;
use crate::lift::merge::{Merged, MergedKind};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Op, Term};

use super::data::each_set;

/// The tree with conditional terms in place of variables that both sides of a branch over the launch set from rings, and
/// these variables.
pub(crate) fn joined(s: &mut Shared<'_>, list: Vec<Merged>, found: &mut BTreeSet<u32>) -> Vec<Merged> {
    let mut out: Vec<Merged> = Vec::with_capacity(list.len());
    let mut known: Vec<Known> = Vec::new();
    for n in list {
        let kind = match n.kind {
            MergedKind::If(c, a, b) => match conditional(s, c, (&a, &b), n.warps) {
                Some((v, t)) => {
                    found.insert(v);
                    change(s, &mut known, &BTreeSet::from([v]), out.len());
                    known.retain(|k| k.var != v);
                    known.push(Known { var: v, value: t, until: usize::MAX });
                    out.push(Merged { kind: MergedKind::Set(v, t), ..n });
                    continue;
                }
                None => MergedKind::If(c, joined(s, a, found), joined(s, b, found)),
            },
            MergedKind::For(h, count, body) => MergedKind::For(h, count, joined(s, body, found)),
            MergedKind::Set(w, t) => {
                let copied = known.iter().find(|k| s.arena.atom(Atom::Var(k.var)) == t).copied();
                let place = copied.map(|k| (k, ahead(s, &out, w, k.var)));
                match place.filter(|(k, place)| *place <= k.until) {
                    Some((k, place)) => {
                        change(s, &mut known, &BTreeSet::from([w]), place);
                        out.insert(place, Merged { kind: MergedKind::Set(w, k.value), ..n });
                        continue;
                    }
                    None => MergedKind::Set(w, t),
                }
            }
            kind => kind,
        };
        let n = Merged { kind, ..n };
        change(s, &mut known, &set_in(std::slice::from_ref(&n)), out.len());
        out.push(n);
    }
    renamed(s, out, found)
}

/// The variable that both sides of a branch set, and its value as a conditional term.
fn conditional(s: &mut Shared<'_>, c: Term, (a, b): (&[Merged], &[Merged]), warps: merge::Set) -> Option<(u32, Term)> {
    let ([x], [y]) = (a, b) else { return None };
    let (MergedKind::Set(v, t), MergedKind::Set(u, other)) = (&x.kind, &y.kind) else { return None };
    let varies = |x: Atom| matches!(x, Atom::Var(_) | Atom::Counter(_) | Atom::Opaque(_));
    let moves = |s: &Shared<'_>, t: Term| s.arena.mentions(t, |x| matches!(x, Atom::Var(w) if w != *v));
    let fits = v == u && x.warps == warps && y.warps == warps && !s.arena.mentions(c, varies);
    (fits && moves(s, *t) && moves(s, *other)).then(|| (*v, s.arena.op(Op::If, &[c, *t, *other])))
}

/// The variables that nodes set.
fn set_in(list: &[Merged]) -> BTreeSet<u32> {
    let mut set = BTreeSet::new();
    each_set(list, &mut |v, _| set.extend([v]));
    set
}

/// The value of a variable that was found in a list, and the first node that changes the variable or what the value reads.
#[derive(Clone, Copy)]
struct Known {
    var: u32,
    value: Term,
    until: usize,
}

/// Records that a node changes variables.
fn change(s: &Shared<'_>, known: &mut [Known], set: &BTreeSet<u32>, at: usize) {
    for k in known {
        let reads = s.arena.mentions(k.value, |x| matches!(x, Atom::Var(u) if set.contains(&u)));
        if reads || set.contains(&k.var) {
            k.until = k.until.min(at);
        }
    }
}

/// The first place in front of the end of a list at which a copy of one variable to another has the same effect.
fn ahead(s: &Shared<'_>, list: &[Merged], to: u32, from: u32) -> usize {
    let other = |n: &&Merged| match n.kind {
        MergedKind::Set(u, t) => u != to && u != from && !s.arena.mentions(t, |x| x == Atom::Var(to)),
        _ => false,
    };
    list.len() - list.iter().rev().take_while(other).count()
}

/// A list in which code behind a loop reads what a variable that was found is copied to at the end of each iteration.
fn renamed(s: &mut Shared<'_>, list: Vec<Merged>, found: &BTreeSet<u32>) -> Vec<Merged> {
    let mut out: Vec<Merged> = Vec::with_capacity(list.len());
    let mut equal: Vec<(u32, u32)> = Vec::new();
    for n in list {
        let set = set_in(std::slice::from_ref(&n));
        if equal.iter().any(|(v, w)| set.contains(v) || set.contains(w)) {
            equal.retain(|(v, w)| !set.contains(v) && !set.contains(w));
            out.push(n.clone());
        } else {
            let with: FxHashMap<Term, Term> =
                equal.iter().map(|(v, w)| (s.arena.atom(Atom::Var(*v)), s.arena.atom(Atom::Var(*w)))).collect();
            let mut memo = FxHashMap::default();
            let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
            out.push(if with.is_empty() { n.clone() } else { replaced(s, &n, &mut f) });
        }
        if let MergedKind::For(_, _, body) = &n.kind {
            equal.extend(copies(s, body, found));
        }
    }
    out
}

/// The variables that were found, each with one that the end of a list sets to the same value.
fn copies(s: &Shared<'_>, body: &[Merged], found: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let mut list = Vec::new();
    for (i, n) in body.iter().enumerate() {
        let MergedKind::Set(v, t) = n.kind else { continue };
        if !found.contains(&v) || set_in(&body[i + 1..]).contains(&v) {
            continue;
        }
        // The first copy: what the value reads is unchanged until there.
        let rest = &body[i + 1..];
        let copy = rest.iter().position(|m| matches!(m.kind, MergedKind::Set(_, value) if value == t));
        let Some((j, MergedKind::Set(w, _))) = copy.map(|j| (j, &rest[j].kind)) else { continue };
        let (between, behind) = (set_in(&rest[..j]), set_in(&rest[j + 1..]));
        let same = !s.arena.mentions(t, |x| matches!(x, Atom::Var(u) if between.contains(&u)));
        list.extend((same && !behind.contains(w)).then_some((v, *w)));
    }
    list
}
