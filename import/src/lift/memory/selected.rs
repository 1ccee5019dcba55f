//! Barriers that form no array, of which a value of the program selects one: an operation for each, behind a comparison.

use std::collections::BTreeMap;

use crate::lift::merge::effects_of::{barrier, barrier_of};
use crate::lift::merge::{Merged, MergedKind, each_op};
use crate::lift::tree::Effect;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Op, Term};

use super::barriers::{addresses, arrays};

/// Most barriers that one operation may select from.
const MOST: usize = 8;

/// Nodes in which each operation names barriers of one array. Operations that name others are left as they are.
pub(crate) fn separated(s: &mut Shared<'_>, mut tree: Vec<Merged>) -> Vec<Merged> {
    loop {
        let mut counts: BTreeMap<i64, u32> = BTreeMap::new();
        let mut uses: Vec<Term> = Vec::new();
        each_op(&tree, &mut |_, (_, _, e)| match e {
            Effect::Init(bar, count) => {
                if let (Some(x), Some(c)) = (s.arena.constant(*bar), s.arena.constant(*count)) {
                    counts.insert(x, c as u32);
                }
            }
            e => uses.extend(barrier_of(e)),
        });
        uses.sort_unstable();
        uses.dedup();
        let lists: Option<Vec<Vec<i64>>> = uses.iter().map(|t| addresses(&s.arena, *t)).collect();
        let known = |list: &Vec<i64>| list.iter().all(|x| counts.contains_key(x));
        let Some(lists) = lists.filter(|lists| lists.iter().all(known)) else { return tree };
        let Err(group) = arrays(&counts, &lists) else { return tree };
        // First the operations that select from barriers that form no array by themselves.
        let several = |list: &[i64]| group.contains(&list[0]) && (2..=MOST).contains(&list.len());
        let alone: Vec<bool> = lists.iter().map(|l| arrays(&counts, std::slice::from_ref(l)).is_err()).collect();
        let some = lists.iter().zip(&alone).any(|(list, alone)| several(list) && *alone);
        let chosen = uses.iter().zip(lists.iter().zip(&alone));
        let chosen: BTreeMap<Term, Vec<i64>> = chosen
            .filter(|(_, (list, alone))| several(list) && (**alone || !some))
            .map(|(t, (list, _))| (*t, list.clone()))
            .collect();
        if chosen.is_empty() {
            return tree;
        }
        tree = split(s, tree, &chosen);
    }
}

/// Nodes with an operation for each barrier that one of these addresses names.
fn split(s: &mut Shared<'_>, list: Vec<Merged>, chosen: &BTreeMap<Term, Vec<i64>>) -> Vec<Merged> {
    let mut out = Vec::with_capacity(list.len());
    for n in list {
        let kind = match n.kind {
            MergedKind::If(c, a, b) => MergedKind::If(c, split(s, a, chosen), split(s, b, chosen)),
            MergedKind::For(h, count, body) => MergedKind::For(h, count, split(s, body, chosen)),
            MergedKind::Op(ops) => {
                let selects = ops.iter().filter_map(|(_, _, e)| barrier_of(e)).find(|t| chosen.contains_key(t));
                let Some(t) = selects else {
                    out.push(Merged { kind: MergedKind::Op(ops), ..n });
                    continue;
                };
                let node = |ops| Merged { kind: MergedKind::Op(ops), at: n.at, part: n.part, warps: n.warps };
                out.extend(one_each(s, &node, ops, (t, &chosen[&t]), chosen));
                continue;
            }
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    out
}

/// The operations of a node for each of the addresses that a term can have.
fn one_each(
    s: &mut Shared<'_>,
    node: &dyn Fn(Vec<(u32, u32, Effect)>) -> Merged,
    ops: Vec<(u32, u32, Effect)>,
    (t, list): (Term, &[i64]),
    chosen: &BTreeMap<Term, Vec<i64>>,
) -> Vec<Merged> {
    let mut rest: Option<Vec<Merged>> = None;
    for x in list.iter().rev() {
        let bar = s.arena.int(*x);
        let named = |e: &Effect| {
            let mut e = e.clone();
            if let Some(own) = barrier(&mut e).filter(|own| **own == t) {
                *own = bar;
            }
            e
        };
        let here = node(ops.iter().map(|(w, lanes, e)| (*w, *lanes, named(e))).collect());
        let (at, part, warps) = (here.at, here.part, here.warps);
        let here = split(s, vec![here], chosen);
        rest = Some(match rest {
            None => here,
            Some(others) => {
                let (by, minus) = (s.arena.int(-x), t);
                let difference = s.arena.add(minus, by);
                let is = s.arena.op(Op::Eq, &[difference]);
                vec![Merged { at, part, warps, kind: MergedKind::If(is, here, others) }]
            }
        });
    }
    rest.unwrap_or_default()
}
