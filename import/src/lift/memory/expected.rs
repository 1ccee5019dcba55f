//! Bytes that a barrier expects and that are an argument: CUTLASS computes them on the host, from its tensor maps. They are
//! then those that the copies of the barrier bring, each up to where the next copy goes.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::replaced;
use crate::lift::merge::{Merged, each_op};
use crate::lift::tree::Effect;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Node, Term};

use super::barriers::addresses;
use super::sizes::deliveries;

/// A barrier of one CTA.
type Signalled = (Term, u32);

/// The tree with numbers in place of arguments that say how many bytes a barrier expects. A CTA has `warps` warps.
pub(crate) fn stated(s: &mut Shared<'_>, tree: Vec<Merged>, warps: u32) -> Vec<Merged> {
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
    let mut copies: BTreeMap<Signalled, BTreeMap<Term, BTreeSet<(u32, u32)>>> = BTreeMap::new();
    let mut expected: BTreeMap<Signalled, BTreeSet<Term>> = BTreeMap::new();
    let mut starts: BTreeSet<i64> = BTreeSet::new();
    let mut first = None;
    each_op(tree, &mut |at, (w, _, e)| {
        let rank = w / warps;
        match e {
            Effect::BulkLoad { to, bar, multicast, cta, .. } => {
                starts.extend(addresses(a, *to).unwrap_or_default());
                for (dest, signalled) in deliveries(a, rank, *multicast, *cta) {
                    let all = copies.entry((*bar, signalled)).or_default();
                    all.entry(*to).or_default().insert((rank, dest));
                }
            }
            Effect::Arrive { bar, expect: Some(n), cta, .. } | Effect::Expect { bar, bytes: n, cta } => {
                let cta = cta.and_then(|t| a.constant(t)).and_then(|c| u32::try_from(c).ok()).unwrap_or(rank);
                expected.entry((*bar, cta)).or_default().insert(*n);
                first = first.or_else(|| is_argument(*n).then_some(at));
            }
            Effect::Init(bar, _) => starts.extend(a.constant(*bar)),
            _ => {}
        }
    });
    let mut found: BTreeMap<Term, i64> = BTreeMap::new();
    for (key, terms) in &expected {
        let Some(t) = terms.iter().copied().find(|t| is_argument(*t)) else { continue };
        let all = copies.get(key).filter(|_| terms.len() == 1)?;
        let mut sum = 0;
        for (to, issued) in all {
            let gap = |x: i64| starts.range(x + 1..).next().map(|next| next - x);
            sum += addresses(a, *to)?.into_iter().filter_map(gap).min()? * issued.len() as i64;
        }
        // The last copy of a ring may have other memory behind it.
        found.entry(t).and_modify(|least| *least = sum.min(*least)).or_insert(sum);
    }
    Some((found, first?))
}
