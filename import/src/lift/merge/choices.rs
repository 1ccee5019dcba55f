//! Choices by conditions of branches around them.
//!
//! ```text
//!   n = c ? size : 0                     if c:
//!   if c:                          ─▶      for i in 0..size:
//!     for i in 0..n:
//! ```
//!
//! A role may choose a size first and ask the condition of the choice afterwards. Inside of the branch, the choice is one of
//! its sides. Other roles have this side alone, so that their loops have the same trip count.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lift::iterations::positive::made_by;
use crate::lift::launch::exprs::opposite;
use crate::lift::launch::symbols::replaced;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, NO_LOOP, Node, Op, Term};

use super::{Merged, MergedKind, each_term};

/// The tree without choices that a branch around them decides.
pub(crate) fn decided(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
    each_term(&tree, &mut |t| made_by(&s.arena, Op::If, t, &mut seen, &mut found));
    let condition = |t: &Term| match s.arena.node(*t) {
        Node::Op(_, args) => Some(args[0]),
        _ => None,
    };
    let conditions: FxHashSet<Term> = found.iter().filter_map(condition).collect();
    if conditions.is_empty() { tree } else { list(s, tree, &conditions) }
}

fn list(s: &mut Shared<'_>, nodes: Vec<Merged>, conditions: &FxHashSet<Term>) -> Vec<Merged> {
    let mut out = Vec::with_capacity(nodes.len());
    for n in nodes {
        let kind = match n.kind {
            MergedKind::If(c, a, b) => {
                let forms = if is_fixed(&s.arena, c) { forms(&mut s.arena, c) } else { Vec::new() };
                let chosen = forms.iter().any(|(t, _)| conditions.contains(t));
                let [a, b] = [(a, true), (b, false)].map(|(side, holds)| {
                    let side = if chosen { under(s, side, &forms, holds) } else { side };
                    list(s, side, conditions)
                });
                MergedKind::If(c, a, b)
            }
            MergedKind::For(h, count, body) => MergedKind::For(h, count, list(s, body, conditions)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    out
}

/// Whether a condition has one outcome in a launch and a CTA.
pub(crate) fn is_fixed(a: &Arena, c: Term) -> bool {
    let of_launch = |x: Atom| matches!(x, Atom::Param(..) | Atom::Place(_) | Atom::Counter(NO_LOOP));
    !a.mentions(c, |x| !of_launch(x)) && !a.reads_words(c)
}

/// The forms of a condition, each with its value where the condition holds.
fn forms(a: &mut Arena, c: Term) -> Vec<(Term, bool)> {
    let mut all = vec![(c, true), (a.not(c), false)];
    all.extend(opposite(a, c).map(|t| (t, false)));
    all
}

/// The nodes of a side of a branch, with the outcome of its condition.
fn under(s: &mut Shared<'_>, side: Vec<Merged>, forms: &[(Term, bool)], holds: bool) -> Vec<Merged> {
    let with: FxHashMap<Term, Term> =
        forms.iter().map(|(t, value)| (*t, s.arena.int(i64::from(*value == holds)))).collect();
    let (mut memo, mut seen) = (FxHashMap::default(), FxHashMap::default());
    let mut f = |a: &mut Arena, t: Term| {
        let chosen = *seen.entry(t).or_insert_with(|| chooses(a, t, &with));
        if chosen { a.replace(t, &with, &mut memo) } else { t }
    };
    side.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// Whether one of these conditions chooses in a term.
fn chooses(a: &Arena, t: Term, conditions: &FxHashMap<Term, Term>) -> bool {
    let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
    made_by(a, Op::If, t, &mut seen, &mut found);
    found.iter().any(|t| matches!(a.node(*t), Node::Op(_, args) if conditions.contains_key(&args[0])))
}
