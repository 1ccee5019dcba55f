//! Variables that straight-line code sets to a value of the launch. What follows reads the value in place of the variable.

use rustc_hash::FxHashMap;

use crate::lift::iterations::by_iteration::of_launch;
use crate::lift::iterations::data::each_set;
use crate::lift::launch::symbols::replaced;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Term};

use super::unread::without_unread;
use super::{Merged, MergedKind};

/// The tree with the values of such variables.
pub(crate) fn folded(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    let tree = list(s, tree);
    without_unread(s, tree)
}

fn list(s: &mut Shared<'_>, mut nodes: Vec<Merged>) -> Vec<Merged> {
    for i in 0..nodes.len() {
        let (before, rest) = nodes.split_at_mut(i + 1);
        let n = &before[i];
        let MergedKind::Set(v, t) = n.kind else { continue };
        if !of_launch(&s.arena, t) || s.arena.reads_words(t) {
            continue;
        }
        // As far as no other value is set, and only warps that have this one read the variable.
        let other = |m: &Merged| {
            let mut set = m.warps & !n.warps != 0;
            each_set(std::slice::from_ref(m), &mut |w, _| set |= w == v);
            set
        };
        let end = rest.iter().position(other).unwrap_or(rest.len());
        let with = FxHashMap::from_iter([(s.arena.atom(Atom::Var(v)), t)]);
        let mut memo = FxHashMap::default();
        let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
        rest[..end].iter_mut().for_each(|m| *m = replaced(s, m, &mut f));
    }
    let nested = |n: Merged| {
        let kind = match n.kind {
            MergedKind::If(c, a, b) => MergedKind::If(c, list(s, a), list(s, b)),
            MergedKind::For(h, count, body) => MergedKind::For(h, count, list(s, body)),
            kind => kind,
        };
        Merged { kind, ..n }
    };
    nodes.into_iter().map(nested).collect()
}
