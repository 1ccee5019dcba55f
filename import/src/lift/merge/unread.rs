//! Variables that nothing reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::walk::shared::Shared;
use crate::symbolic::{Atom, Term};

use super::effects_of::terms_of;
use super::{Merged, MergedKind};

/// The tree without variables that no node reads.
pub(crate) fn without_unread(s: &Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    fn each(tree: &[Merged], f: &mut dyn FnMut(Option<u32>, Term)) {
        for n in tree {
            match &n.kind {
                MergedKind::Op(ops) => {
                    ops.iter().for_each(|(_, _, e)| terms_of(e).into_iter().for_each(|t| f(None, t)));
                }
                MergedKind::If(c, a, b) => {
                    f(None, *c);
                    each(a, f);
                    each(b, f);
                }
                MergedKind::For(_, count, body) => {
                    f(None, *count);
                    each(body, f);
                }
                MergedKind::Set(v, t) => f(Some(*v), *t),
                MergedKind::End => {}
            }
        }
    }
    let (mut read, mut open) = (BTreeSet::new(), Vec::new());
    let mut sets: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    each(&tree, &mut |of, t| {
        s.arena.each_atom(t, &mut |a| match (a, of) {
            (Atom::Var(v), Some(of)) => {
                sets.entry(of).or_default().insert(v);
            }
            (Atom::Var(v), None) => open.push(v),
            _ => {}
        });
    });
    while let Some(v) = open.pop() {
        if read.insert(v) {
            open.extend(sets.get(&v).into_iter().flatten());
        }
    }
    fn kept(tree: Vec<Merged>, read: &BTreeSet<u32>) -> Vec<Merged> {
        let keep = |n: Merged| {
            let kind = match n.kind {
                MergedKind::Set(v, _) if !read.contains(&v) => return None,
                MergedKind::If(c, a, b) => match (kept(a, read), kept(b, read)) {
                    (a, b) if a.is_empty() && b.is_empty() => return None,
                    (a, b) => MergedKind::If(c, a, b),
                },
                MergedKind::For(h, count, body) => match kept(body, read) {
                    body if body.is_empty() => return None,
                    body => MergedKind::For(h, count, body),
                },
                kind => kind,
            };
            Some(Merged { kind, ..n })
        };
        tree.into_iter().filter_map(keep).collect()
    }
    kept(tree, &read)
}
