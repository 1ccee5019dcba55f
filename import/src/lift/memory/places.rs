//! Accesses whose place in a slot depends on the iteration, as one access for each place behind a comparison.
//!
//! A row of a tile that is stored in two halves, in alternating order, has strides that divide no slot. An iteration
//! accesses one of a few places, and a sequence or a counter says which. So series of accesses stand once for each of its
//! values.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::replaced;
use crate::lift::merge::effects_of::terms_of;
use crate::lift::merge::{Merged, MergedKind, each_op};
use crate::lift::tree::Effect;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Term};

/// Most values of a sequence or a counter.
const MOST: i64 = 8;
/// Most sequences and counters.
pub(crate) const MOST_SPLITS: usize = 16;

/// A part of an address that takes few values.
#[derive(Clone, Copy)]
struct Part {
    of: Term,
    stride: i64,
    low: i64,
    high: i64,
}

/// Nodes in which the accesses of a line, and others with the same stride of the same sequence, stand once for each
/// value. `None` if no sequence or counter with few values is found there.
pub(crate) fn told_apart(s: &mut Shared<'_>, tree: &[Merged], line: u32) -> Option<Vec<Merged>> {
    let mut found: Vec<Part> = Vec::new();
    each_op(tree, &mut |at, (_, _, e)| {
        if s.entry.code.get(at).is_some_and(|i| i.line == line)
            && let Effect::Touch(_, runs) = e
        {
            found.extend(runs.iter().flat_map(|(t, _)| parts(&s.arena, *t)));
        }
    });
    // Rings have larger strides than places inside of a slot.
    let part = found.into_iter().min_by_key(|p| (p.stride, p.of))?;
    let tree = split(s, tree.to_vec(), part);
    let terms: BTreeSet<Term> = {
        let mut all = BTreeSet::new();
        each_op(&tree, &mut |_, (_, _, e)| all.extend(terms_of(e)));
        all
    };
    terms.into_iter().for_each(|t| s.arena.note_points(t));
    Some(tree)
}

/// The parts of an address that only counters decide and that take few values.
fn parts(a: &Arena, t: Term) -> Vec<Part> {
    let (_, parts) = a.parts(t);
    let few = |(x, c): &(Term, i64)| {
        let (low, high) = a.range(*x);
        let counted = !a.mentions(*x, |a| !matches!(a, Atom::Counter(_)));
        (counted && (1..MOST).contains(&high.checked_sub(low)?)).then_some(Part { of: *x, stride: c.abs(), low, high })
    };
    parts.iter().filter_map(few).collect()
}

/// Whether an operation accesses memory at a place that this part decides.
fn is_at(a: &Arena, e: &Effect, p: Part) -> bool {
    let decides = |t: Term| a.parts(t).1.iter().any(|(x, c)| *x == p.of && c.abs() == p.stride);
    matches!(e, Effect::Touch(_, runs) if runs.iter().any(|(t, _)| decides(*t)))
}

fn split(s: &mut Shared<'_>, list: Vec<Merged>, p: Part) -> Vec<Merged> {
    let mut out = Vec::with_capacity(list.len());
    let mut series: Vec<Merged> = Vec::new();
    for n in list {
        match n.kind {
            MergedKind::Op(ref ops) if ops.iter().all(|(_, _, e)| matches!(e, Effect::Touch(..))) => {
                // A series has the operations of the same warps.
                if series.last().is_some_and(|last| last.warps != n.warps) {
                    close(s, &mut series, p, &mut out);
                }
                series.push(n);
                continue;
            }
            _ => close(s, &mut series, p, &mut out),
        }
        let kind = match n.kind {
            MergedKind::If(c, a, b) => MergedKind::If(c, split(s, a, p), split(s, b, p)),
            MergedKind::For(h, count, body) => MergedKind::For(h, count, split(s, body, p)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
    }
    close(s, &mut series, p, &mut out);
    out
}

/// Ends a series of accesses: it stands once for each value, if the part decides a place of one of them.
fn close(s: &mut Shared<'_>, series: &mut Vec<Merged>, p: Part, out: &mut Vec<Merged>) {
    let all = std::mem::take(series);
    let mut any = false;
    each_op(&all, &mut |_, (_, _, e)| any |= is_at(&s.arena, e, p));
    let Some(first) = all.first().filter(|_| any).cloned() else {
        out.extend(all);
        return;
    };
    let mut rest: Vec<Merged> = with(s, &all, p.of, p.high);
    for v in (p.low..p.high).rev() {
        let is = s.arena.plus(p.of, -v);
        let is = s.arena.eq(is);
        let here = with(s, &all, p.of, v);
        rest = match s.arena.constant(is) {
            Some(0) => rest,
            Some(_) => here,
            None => vec![Merged { kind: MergedKind::If(is, here, rest), ..first.clone() }],
        };
    }
    out.extend(rest);
}

/// Accesses with a value in place of a term.
fn with(s: &mut Shared<'_>, series: &[Merged], of: Term, value: i64) -> Vec<Merged> {
    let value = s.arena.int(value);
    let with = FxHashMap::from_iter([(of, value)]);
    let mut memo = FxHashMap::default();
    let mut at = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    series.iter().map(|n| replaced(s, n, &mut at)).collect()
}
