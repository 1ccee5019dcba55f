//! Loops behind a condition that another role has in its count.
//!
//! One role may have `if (!none && n >= 2) for (i < n - 1)`, another `for (i < (none ? 0 : max(n, 1) - 1))`. Both have the
//! same number of iterations. The first then gets the count of the second, without the condition.

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::{counts, replaced, size, with_atoms};
use crate::lift::merge::{Merged, MergedKind};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Node, Op, Term};

/// The tree in which such loops have no condition.
pub(crate) fn counted(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    let mut list = Vec::new();
    counts(&tree, &mut list);
    list.sort_unstable();
    list.dedup();
    inner(s, tree, &list)
}

fn inner(s: &mut Shared<'_>, tree: Vec<Merged>, list: &[Term]) -> Vec<Merged> {
    let mut out = Vec::with_capacity(tree.len());
    for n in tree {
        let kind = match n.kind {
            MergedKind::If(c, a, b) => {
                let (a, b) = (inner(s, a, list), inner(s, b, list));
                let not = s.arena.not(c);
                let all = [(c, &a, &b), (not, &b, &a)].into_iter().find_map(|(none, a, b)| one(s, none, (a, b), list));
                if let Some(all) = all {
                    out.extend(all);
                    continue;
                }
                MergedKind::If(c, a, b)
            }
            MergedKind::For(h, count, body) => MergedKind::For(h, count, inner(s, body, list)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    out
}

/// A loop and what is set behind it, for a branch that does only this if a condition is false. If the condition is true,
/// the branch must set what the loop would leave without an iteration.
fn one(s: &mut Shared<'_>, none: Term, (idle, busy): (&[Merged], &[Merged]), list: &[Term]) -> Option<Vec<Merged>> {
    let (first, sets) = busy.split_first()?;
    let MergedKind::For(h, count, body) = &first.kind else { return None };
    let n = size(&s.arena, *count);
    let (k, sum) = s.arena.parts(n);
    if sum.is_empty() || idle.len() != sets.len() {
        return None;
    }
    let by = list.iter().find_map(|t| choice(&mut s.arena, *t, none, n))?;
    // Where the loop runs, its count and the other count are equal.
    let other = s.arena.plus(by, -k);
    let nothing = s.arena.int(-k);
    let mut memo = FxHashMap::default();
    let mut instead = |a: &mut Arena, t: Term| with_atoms(a, t, &[(sum.clone(), other)], &mut memo);
    let body = body.iter().map(|x| replaced(s, x, &mut instead)).collect();
    let mut out = vec![Merged { kind: MergedKind::For(*h, by, body), ..first.clone() }];
    for (x, y) in idle.iter().zip(sets) {
        let (MergedKind::Set(v, at_none), MergedKind::Set(w, t)) = (&x.kind, &y.kind) else { return None };
        let t = backwards(&mut s.arena, *t, &mut |a, x| {
            let x = with_atoms(a, x, &[(sum.clone(), nothing)], &mut FxHashMap::default());
            a.constant(x)
        });
        let at_zero = with_atoms(&mut s.arena, t, &[(sum.clone(), nothing)], &mut FxHashMap::default());
        if v != w || x.warps != y.warps || at_zero != *at_none {
            return None;
        }
        let t = instead(&mut s.arena, t);
        out.push(Merged { kind: MergedKind::Set(*v, t), ..y.clone() });
    }
    Some(out)
}

/// A sum of sequences in which cycles begin earlier, such as at index -1, if the index has this value without an iteration.
fn backwards(a: &mut Arena, t: Term, index_at_none: &mut impl FnMut(&mut Arena, Term) -> Option<i64>) -> Term {
    let (k, parts) = a.parts(t);
    let mut all = a.int(k);
    for (x, c) in parts.iter() {
        let x = match a.node(*x).clone() {
            Node::Table(i, first, cycle) if first.is_empty() => match index_at_none(a, i) {
                Some(least @ -64..=-1) => {
                    let n = cycle.len() as i64;
                    let from = |m: i64| cycle[(m + least).rem_euclid(n) as usize];
                    let i = a.plus(i, -least);
                    a.table(i, Vec::new(), (0..n).map(from).collect())
                }
                _ => *x,
            },
            _ => *x,
        };
        let x = a.scale(x, *c);
        all = a.add(all, x);
    }
    all
}

/// A part of a count that is `none ? 0 : max(0, n)`, where a condition is `none` or `n <= 0`.
fn choice(a: &mut Arena, count: Term, none: Term, n: Term) -> Option<Term> {
    let (_, parts) = a.parts(size(a, count));
    let [(t, 1)] = *parts else { return None };
    let t = match a.node(t).clone() {
        // `max(1, x)` is `max(0, x - 1)` and one.
        Node::Op(Op::Max, args) if a.constant(args[0]).is_some() => args[1],
        Node::Op(Op::Max, args) if a.constant(args[1]).is_some() => args[0],
        _ => t,
    };
    let (mut conditions, mut open) = (Vec::new(), vec![none]);
    while let Some(c) = open.pop() {
        match a.node(c).clone() {
            Node::Op(Op::Either, args) => open.extend(args.iter()),
            _ => conditions.push(c),
        }
    }
    let negative = a.scale(n, -1);
    let empty = a.ge(negative);
    let (zero, one) = (a.int(0), a.int(1));
    let apart: Vec<Term> = conditions.iter().copied().filter(|c| *c != empty).collect();
    let mut least = None;
    for c in &apart {
        let t = a.replace(t, &FxHashMap::from_iter([(*c, one)]), &mut FxHashMap::default());
        let v = a.constant(t)?;
        if *least.get_or_insert(v) != v {
            return None;
        }
    }
    let by = a.plus(t, -least?);
    let with = apart.iter().map(|c| (*c, zero)).collect();
    let otherwise = a.replace(by, &with, &mut FxHashMap::default());
    let is_most = apart.len() < conditions.len() && is_positive_part(a, otherwise, n);
    (is_most || otherwise == n && a.range(n).0 >= 0).then_some(by)
}

/// Whether a term is `max(0, n)`, written as a maximum and a constant.
fn is_positive_part(a: &mut Arena, t: Term, n: Term) -> bool {
    let (k, parts) = a.parts(t);
    let [(x, 1)] = *parts else { return false };
    let Node::Op(Op::Max, args) = a.node(x).clone() else { return false };
    let [x, y] = [args[0], args[1]].map(|x| a.plus(x, k));
    let is_zero = |t: Term| a.constant(t) == Some(0);
    x == n && is_zero(y) || y == n && is_zero(x)
}
