//! Branches whose sides do the same. A tile inside of a matrix and one at its edge may differ only in the rows that they
//! store in global memory. The condition decides nothing then.
//!
//! ```text
//!   if tile * 5 % 4 == 3:
//!     v1 = v0                                     v1 = v0
//!     for i in 0..7: <steps with v1>     ─▶       for i in 0..7: <steps with v1>
//!   else:
//!     v2 = v0
//!     for j in 0..7: <steps with v2>
//! ```
//!
//! Copies of code have registers and loops of their own. So the second side may have other variables than the first one,
//! where nothing outside of the side reads them.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::lift::tree::Effect;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Atom, Node, Term};

use super::effects_of::{map_effect, terms_of};
use super::{Merged, MergedKind, Set};

/// How many terms read each variable, by the warps that read it.
type Count = BTreeMap<u32, BTreeMap<Set, usize>>;

/// How many terms of nodes read each variable.
fn reads_of(s: &Shared<'_>, list: &[Merged]) -> Count {
    fn add(s: &Shared<'_>, list: &[Merged], read: &mut Count) {
        for n in list {
            let mut term = |t: Term| {
                s.arena.each_atom(t, &mut |a| {
                    if let Atom::Var(v) = a {
                        *read.entry(v).or_default().entry(n.warps).or_default() += 1;
                    }
                });
            };
            match &n.kind {
                MergedKind::Op(ops) => ops.iter().for_each(|(_, _, e)| terms_of(e).into_iter().for_each(&mut term)),
                MergedKind::Set(_, t) => term(*t),
                MergedKind::If(c, a, b) => {
                    term(*c);
                    add(s, a, read);
                    add(s, b, read);
                }
                MergedKind::For(_, count, body) => {
                    term(*count);
                    add(s, body, read);
                }
                MergedKind::End => {}
            }
        }
    }
    let mut read = Count::new();
    add(s, list, &mut read);
    read
}

/// How many terms read a variable in code of some of these warps.
fn read_by(read: &Count, v: u32, warps: Set) -> usize {
    read.get(&v).into_iter().flatten().filter(|(by, _)| *by & warps != 0).map(|(_, n)| n).sum()
}

/// The tree without conditions of branches whose sides do the same. The first side stands for both.
pub(crate) fn without_equal(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    let mut read = reads_of(s, &tree);
    in_list(s, tree, &mut read)
}

fn in_list(s: &mut Shared<'_>, list: Vec<Merged>, read: &mut Count) -> Vec<Merged> {
    let mut out = Vec::with_capacity(list.len());
    let mut joined = false;
    for n in list {
        let kind = match n.kind {
            MergedKind::If(c, a, b) => {
                let (a, b) = (in_list(s, a, read), in_list(s, b, read));
                if !a.is_empty() && is_same(s, (&a, &b), n.warps, read) {
                    for (v, by) in reads_of(s, &b) {
                        let all = read.entry(v).or_default();
                        by.into_iter().for_each(|(warps, n)| *all.entry(warps).or_default() -= n);
                    }
                    out.extend(a);
                    joined = true;
                    continue;
                }
                MergedKind::If(c, a, b)
            }
            MergedKind::For(h, count, body) => MergedKind::For(h, count, in_list(s, body, read)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    if joined { without_copies(s, out, read) } else { out }
}

/// A list without variables that only hand on a value to the variable of both sides: `v1 = v0; v2 = v1`.
fn without_copies(s: &mut Shared<'_>, list: Vec<Merged>, read: &mut Count) -> Vec<Merged> {
    let mut out: Vec<Merged> = Vec::with_capacity(list.len());
    for mut n in list {
        if let MergedKind::Set(w, t) = n.kind
            && let Node::Atom(Atom::Var(v)) = *s.arena.node(t)
            && let Some((at, value)) = handed_on(s, &out, (v, n.warps))
            && read_by(read, v, n.warps) == 1
        {
            out.remove(at);
            read.entry(v).or_default().retain(|by, _| by & n.warps == 0);
            n.kind = MergedKind::Set(w, value);
        }
        out.push(n);
    }
    out
}

/// Where the sets at the end of a list set a variable of some warps, and to what. Nothing changes this value behind it.
fn handed_on(s: &Shared<'_>, list: &[Merged], (v, warps): (u32, Set)) -> Option<(usize, Term)> {
    let mut changed = BTreeSet::new();
    for (at, n) in list.iter().enumerate().rev() {
        let MergedKind::Set(w, t) = n.kind else { return None };
        if w == v {
            let same = n.warps == warps && !s.arena.mentions(t, |a| matches!(a, Atom::Var(x) if changed.contains(&x)));
            return same.then_some((at, t));
        }
        changed.insert(w);
    }
    None
}

/// Whether two sides of a branch of some warps do the same, perhaps with variables of their own.
fn is_same(s: &mut Shared<'_>, (a, b): (&[Merged], &[Merged]), warps: Set, read: &Count) -> bool {
    let mut names = Names::default();
    if !names.same_lists(s, a, b) {
        return false;
    }
    if names.vars.is_empty() {
        return true;
    }
    let (in_a, in_b) = (reads_of(s, a), reads_of(s, b));
    let inside = |v: u32, side: &Count| read_by(side, v, warps) == read_by(read, v, warps);
    names.vars.iter().all(|(of_b, of_a)| inside(*of_a, &in_a) && inside(*of_b, &in_b))
}

/// Whether the text of an operation states how many bytes it copies. By tensor maps, two equal ones can copy other sizes.
fn states_bytes(e: &Effect) -> bool {
    !matches!(e, Effect::BulkLoad { bytes: None, .. } | Effect::BulkStore { bytes: None, .. })
}

/// What the first side calls the variables and loops of the second one.
#[derive(Default)]
struct Names {
    vars: BTreeMap<u32, u32>,
    loops: BTreeMap<u32, u32>,
    /// Variables of the first side that have another name in the second one.
    renamed: BTreeSet<u32>,
    /// Variables that both sides read or set under one name.
    common: BTreeSet<u32>,
    /// Variables of the second side that code in a branch or a loop of the side sets, and nothing ahead of it. Behind this
    /// code, they may have a value of an earlier iteration.
    stale: BTreeSet<u32>,
}

impl Names {
    /// Whether two lists do the same, at whatever instructions.
    fn same_lists(&mut self, s: &mut Shared<'_>, a: &[Merged], b: &[Merged]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| self.same(s, x, y))
    }

    /// The same for lists in a branch or a loop.
    fn same_inner(&mut self, s: &mut Shared<'_>, a: &[Merged], b: &[Merged]) -> bool {
        let before: BTreeSet<u32> = self.vars.keys().filter(|v| !self.stale.contains(v)).copied().collect();
        let same = self.same_lists(s, a, b);
        self.stale.extend(self.vars.keys().filter(|v| !before.contains(v)));
        same
    }

    fn same(&mut self, s: &mut Shared<'_>, x: &Merged, y: &Merged) -> bool {
        x.warps == y.warps
            && match (&x.kind, &y.kind) {
                (MergedKind::Op(p), MergedKind::Op(q)) => {
                    p.len() == q.len() && p.iter().zip(q).all(|(p, q)| self.same_effect(s, p, q))
                }
                (MergedKind::If(c, a, b), MergedKind::If(d, e, f)) => {
                    self.same_term(s, *c, *d) && self.same_inner(s, a, e) && self.same_inner(s, b, f)
                }
                (MergedKind::For(h, n, a), MergedKind::For(g, m, b)) => {
                    let counts = self.same_term(s, *n, *m);
                    self.loops.insert(*g, *h);
                    counts && self.same_inner(s, a, b)
                }
                (MergedKind::Set(v, t), MergedKind::Set(w, u)) => self.same_term(s, *t, *u) && self.same_var(*v, *w),
                (MergedKind::End, MergedKind::End) => true,
                _ => false,
            }
    }

    fn same_effect(&mut self, s: &mut Shared<'_>, p: &(u32, u32, Effect), q: &(u32, u32, Effect)) -> bool {
        if (p.0, p.1) != (q.0, q.1) || std::mem::discriminant(&p.2) != std::mem::discriminant(&q.2) {
            return false;
        }
        let mut known = true;
        let renamed = map_effect(q.2.clone(), &mut |t| {
            self.renamed(s, t).unwrap_or_else(|| {
                known = false;
                t
            })
        });
        known && renamed == p.2 && states_bytes(&p.2)
    }

    fn same_term(&mut self, s: &mut Shared<'_>, t: Term, u: Term) -> bool {
        self.renamed(s, u) == Some(t)
    }

    /// A term of the second side with the names of the first one. `None` where a name stands for two variables.
    fn renamed(&mut self, s: &mut Shared<'_>, t: Term) -> Option<Term> {
        let mut atoms = Vec::new();
        s.arena.each_atom(t, &mut |a| {
            if matches!(a, Atom::Var(_) | Atom::Counter(_)) {
                atoms.push(a);
            }
        });
        let mut with = FxHashMap::default();
        for atom in atoms {
            let name = match atom {
                Atom::Var(v) => match self.vars.get(&v) {
                    Some(_) if self.stale.contains(&v) => return None,
                    Some(name) => Atom::Var(*name),
                    None if self.renamed.contains(&v) => return None,
                    None => {
                        self.common.insert(v);
                        continue;
                    }
                },
                Atom::Counter(h) => self.loops.get(&h).map_or(atom, |name| Atom::Counter(*name)),
                _ => continue,
            };
            with.insert(s.arena.atom(atom), s.arena.atom(name));
        }
        Some(if with.is_empty() { t } else { s.arena.replace(t, &with, &mut FxHashMap::default()) })
    }

    /// Whether the sides may set these variables: one variable, or two that no term has read under another name.
    fn same_var(&mut self, v: u32, w: u32) -> bool {
        if v == w {
            self.common.insert(v);
            return !self.vars.contains_key(&w) && !self.renamed.contains(&v);
        }
        if let Some(known) = self.vars.get(&w) {
            self.stale.remove(&w);
            return *known == v;
        }
        let free = |x: u32| !self.common.contains(&x) && !self.renamed.contains(&x);
        let is_free = free(v) && free(w) && !self.vars.contains_key(&v);
        if is_free {
            self.vars.insert(w, v);
            self.renamed.insert(v);
        }
        is_free
    }
}
