//! Variables that are always equal.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols;
use crate::lift::merge::{Merged, MergedKind};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Term};

use super::rings::Sets;

/// Terms that replace variables.
type Values = FxHashMap<Term, Term>;

/// What variables are set to at one place, for each set of warps: other warps have variables of their own.
pub(crate) fn by_warps(place: &[Merged]) -> impl Iterator<Item = Sets> {
    let mut found: BTreeMap<_, Sets> = BTreeMap::new();
    for n in place {
        if let MergedKind::Set(v, t) = n.kind {
            found.entry(n.warps).or_default().push((v, t));
        }
    }
    found.into_values()
}

/// The tree with one variable in place of several that are always equal.
pub(crate) fn with_one_of_each(s: &mut Shared<'_>, tree: Vec<Merged>, groups: &[Sets]) -> Vec<Merged> {
    let mut at: BTreeMap<u32, Vec<(usize, Term)>> = BTreeMap::new();
    for (n, g) in groups.iter().enumerate() {
        g.iter().for_each(|(v, t)| at.entry(*v).or_default().push((n, *t)));
    }
    // Variables that are set at the same places, and then those that are set to equal values there.
    let mut one: Values = Values::default();
    let mut count = 0;
    loop {
        let mut first: BTreeMap<Vec<(usize, Term)>, u32> = BTreeMap::new();
        let mut next = Values::default();
        for (v, sets) in &at {
            let mut memo = Values::default();
            let value = |s: &mut Shared<'_>, t: Term, memo: &mut Values| {
                if count == 0 { 0 } else { s.arena.replace(t, &one, memo) }
            };
            let key: Vec<_> = sets.iter().map(|(n, t)| (*n, value(s, *t, &mut memo))).collect();
            let rep = *first.entry(key).or_insert(*v);
            if rep != *v {
                next.insert(s.arena.atom(Atom::Var(*v)), s.arena.atom(Atom::Var(rep)));
            }
        }
        let done = count > 0 && next == one;
        one = next;
        count += 1;
        if done {
            break;
        }
    }
    if one.is_empty() {
        return tree;
    }
    let mut memo = Values::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &one, &mut memo);
    let tree: Vec<Merged> = tree.iter().map(|n| symbols::replaced(s, n, &mut f)).collect();
    let gone: BTreeSet<u32> = at.keys().copied().filter(|v| one.contains_key(&s.arena.atom(Atom::Var(*v)))).collect();
    fn kept(list: Vec<Merged>, gone: &BTreeSet<u32>) -> Vec<Merged> {
        let keep = |n: Merged| {
            let kind = match n.kind {
                MergedKind::Set(v, _) if gone.contains(&v) => return None,
                MergedKind::If(c, a, b) => MergedKind::If(c, kept(a, gone), kept(b, gone)),
                MergedKind::For(h, count, body) => MergedKind::For(h, count, kept(body, gone)),
                kind => kind,
            };
            Some(Merged { kind, ..n })
        };
        list.into_iter().filter_map(keep).collect()
    }
    kept(tree, &gone)
}
