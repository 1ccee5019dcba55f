//! Accesses whose place a condition chooses, as accesses on both sides of a branch.
//!
//! A thread may take its own row of a full tile, and another row of the last one. Then the address of a store has the
//! term `condition ? 32 : 1`, and its strides divide no slot. The store stands once for each outcome.

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::replaced;
use crate::lift::merge::effects_of::terms_of;
use crate::lift::merge::{Merged, MergedKind, each_op};
use crate::lift::walk::Walk;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Node, Op, Term};

/// Nodes in which the accesses of a line, and others that the same condition moves, stand once for each outcome. `None`
/// if no condition moves them.
pub(crate) fn by_condition(s: &mut Shared<'_>, tree: &[Merged], line: u32) -> Option<Vec<Merged>> {
    let mut found: Option<Term> = None;
    each_op(tree, &mut |at, (_, _, e)| {
        if s.entry.code.get(at).is_some_and(|i| i.line == line) && Walk::only_accesses(e) {
            let moves = |t: Term| conditions(&s.arena, t).into_iter().map(|(_, c)| c).min();
            found = found.or_else(|| terms_of(e).into_iter().find_map(moves));
        }
    });
    let cond = found?;
    let tree = split(s, tree.to_vec(), cond);
    let mut terms = std::collections::BTreeSet::new();
    each_op(&tree, &mut |_, (_, _, e)| terms.extend(terms_of(e)));
    terms.into_iter().for_each(|t| s.arena.note_points(t));
    Some(tree)
}

/// The parts of an address that a condition chooses, with the conditions.
fn conditions(a: &Arena, t: Term) -> Vec<(Term, Term)> {
    let (_, parts) = a.parts(t);
    let chosen = |x: &Term| match a.node(*x) {
        Node::Op(Op::If, args) => Some((*x, args[0])),
        _ => None,
    };
    parts.iter().filter_map(|(x, _)| chosen(x)).collect()
}

fn split(s: &mut Shared<'_>, list: Vec<Merged>, cond: Term) -> Vec<Merged> {
    let mut out: Vec<Merged> = Vec::with_capacity(list.len());
    let mut series: Vec<Merged> = Vec::new();
    for n in list {
        if is_chosen(s, &n, cond) {
            if series.last().is_some_and(|last| last.warps != n.warps) {
                close(s, &mut series, cond, &mut out);
            }
            series.push(n);
            continue;
        }
        close(s, &mut series, cond, &mut out);
        let kind = match n.kind {
            // Behind a branch by this condition, the outcome is known.
            MergedKind::If(c, a, b) if c == cond && !s.arena.mentions(c, |a| matches!(a, Atom::Var(_))) => {
                MergedKind::If(c, with(s, &a, cond, true), with(s, &b, cond, false))
            }
            MergedKind::If(c, a, b) => MergedKind::If(c, split(s, a, cond), split(s, b, cond)),
            MergedKind::For(h, count, body) => MergedKind::For(h, count, split(s, body, cond)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    close(s, &mut series, cond, &mut out);
    out
}

/// Whether a node only accesses memory, at a place that the condition chooses.
fn is_chosen(s: &Shared<'_>, n: &Merged, cond: Term) -> bool {
    let MergedKind::Op(ops) = &n.kind else { return false };
    let moves = |t: Term| conditions(&s.arena, t).into_iter().any(|(_, c)| c == cond);
    ops.iter().all(|(_, _, e)| Walk::only_accesses(e)) && ops.iter().any(|(_, _, e)| terms_of(e).into_iter().any(moves))
}

/// Ends a series of accesses: it stands once for each outcome.
fn close(s: &mut Shared<'_>, series: &mut Vec<Merged>, cond: Term, out: &mut Vec<Merged>) {
    let all = std::mem::take(series);
    let Some(first) = all.first().cloned() else { return };
    let (a, b) = (with(s, &all, cond, true), with(s, &all, cond, false));
    out.push(Merged { kind: MergedKind::If(cond, a, b), ..first });
}

/// Nodes with the side that an outcome chooses in place of each choice by the condition.
fn with(s: &mut Shared<'_>, list: &[Merged], cond: Term, holds: bool) -> Vec<Merged> {
    let mut with = FxHashMap::default();
    each_op(list, &mut |_, (_, _, e)| {
        for t in terms_of(e) {
            for (x, c) in conditions(&s.arena, t) {
                if let Node::Op(Op::If, args) = s.arena.node(x)
                    && c == cond
                {
                    with.insert(x, if holds { args[1] } else { args[2] });
                }
            }
        }
    });
    if with.is_empty() {
        return list.to_vec();
    }
    let mut memo = FxHashMap::default();
    let mut at = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    list.iter().map(|n| replaced(s, n, &mut at)).collect()
}
