//! Bytes that a barrier expects and that are an argument: CUTLASS computes them on the host, from its tensor maps. They are
//! then those that the copies of the barrier bring, each up to where the next copy goes.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::replaced;
use crate::lift::merge::{Merged, each_op};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Node, Term};

use super::barriers::addresses;
use super::counted::by_conditions;
use super::signals::Signals;

/// The tree with numbers in place of arguments that say how many bytes a barrier expects. A CTA has `warps` warps.
pub(crate) fn stated(s: &mut Shared<'_>, tree: Vec<Merged>, warps: u32) -> Vec<Merged> {
    let tree = by_conditions(&mut s.arena, tree);
    let Some((found, at)) = bytes(&s.arena, &tree, warps) else { return tree };
    let line = s.entry.code[at.min(s.entry.code.len() - 1)].line;
    s.assume(line, "a barrier that expects as many bytes as an argument says expects those that its copies bring");
    let with: FxHashMap<Term, Term> = found.into_iter().map(|(t, n)| (t, s.arena.int(n))).collect();
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    tree.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// The arguments that say how many bytes barriers expect, with these bytes, and the first instruction that reads one.
fn bytes(a: &Arena, tree: &[Merged], warps: u32) -> Option<(BTreeMap<Term, i64>, usize)> {
    let is_argument = |t: Term| matches!(a.node(t), Node::Atom(Atom::Param(..)));
    let (mut signals, mut first) = (Signals::default(), None);
    each_op(tree, &mut |at, (w, _, e)| {
        let argument = signals.add(a, w / warps, e).filter(|(_, n)| is_argument(*n));
        first = first.or(argument.map(|_| at));
    });
    let mut found: BTreeMap<Term, i64> = BTreeMap::new();
    for (key, terms) in &signals.expected {
        let Some(t) = terms.iter().copied().find(|t| is_argument(*t)) else { continue };
        let all = signals.copies.get(key).filter(|_| terms.len() == 1)?;
        let mut sum = 0;
        for (to, issued) in all {
            sum += signals.room(&addresses(a, *to)?)? * issued.len() as i64;
        }
        // Where several barriers expect the argument, the fewest bytes count.
        found.entry(t).and_modify(|least| *least = sum.min(*least)).or_insert(sum);
    }
    Some((found, first?))
}
