//! Bytes that a barrier expects and that depend on a count of tiles, such as `tiles left < 2 ? tiles left : 2` of them.
//!
//! ```text
//!   arrive full expect 8192 * min(2, n)        arrive full expect n >= 2 ? 16384 : 8192
//!   tma a0 signals full                  ─▶    tma a0 signals full
//!   if n >= 2: tma a1 signals full             if n >= 2: tma a1 signals full
//! ```
//!
//! What is known of the count around the arrival bounds it from below, and the minimum from above. Each number in between
//! is chosen by a condition that decides which copies come.

use std::collections::BTreeSet;

use crate::lift::launch::exprs::opposite;
use crate::lift::merge::effects_of::map_effect;
use crate::lift::merge::{Merged, MergedKind, each_node};
use crate::lift::tree::Effect;
use crate::symbolic::{Arena, Atom, Facts, Node, Op, Term};

/// The largest number of values that a count may have.
const MOST: i64 = 4;

/// The tree with choices of numbers in place of minima in the bytes that barriers expect.
pub(crate) fn by_conditions(a: &mut Arena, tree: Vec<Merged>) -> Vec<Merged> {
    let mut conditions = BTreeSet::new();
    each_node(&tree, &mut |n| {
        if let MergedKind::If(c, ..) = n.kind {
            conditions.insert(c);
        }
    });
    list(a, tree, &conditions, &Facts::default())
}

fn list(a: &mut Arena, nodes: Vec<Merged>, conditions: &BTreeSet<Term>, facts: &Facts) -> Vec<Merged> {
    let one = |n: Merged| {
        let kind = match n.kind {
            MergedKind::If(c, x, y) => {
                let [x, y] = [(x, true), (y, false)].map(|(side, holds)| {
                    let mut known = facts.clone();
                    a.learn(c, holds, &mut known);
                    list(a, side, conditions, &known)
                });
                MergedKind::If(c, x, y)
            }
            MergedKind::For(h, count, body) => {
                let mut known = facts.clone();
                goes_on(a, h, count, &mut known);
                MergedKind::For(h, count, list(a, body, conditions, &known))
            }
            MergedKind::Op(ops) => {
                let of = |(w, l, e): (u32, u32, Effect)| (w, l, effect(a, e, conditions, facts));
                MergedKind::Op(ops.into_iter().map(of).collect())
            }
            same => same,
        };
        Merged { kind, ..n }
    };
    nodes.into_iter().map(one).collect()
}

/// Adds that an iteration is one of the loop: with `n / c + m` iterations, `c (i + 1)` is at most `n + c m`.
fn goes_on(a: &mut Arena, h: u32, count: Term, facts: &mut Facts) {
    let i = a.atom(Atom::Counter(h));
    let mut counts = vec![(count, 1)];
    for (q, _) in a.parts(count).1.iter().filter(|(_, by)| *by == 1) {
        let Node::Op(Op::Div, args) = a.node(*q).clone() else { continue };
        let Some(c) = a.constant(args[1]).filter(|c| *c > 0) else { continue };
        let others = a.sub(count, *q);
        let others = a.scale(others, c);
        counts.push((a.add(args[0], others), c));
    }
    for (n, c) in counts {
        let done = a.scale(i, c);
        let left = a.sub(n, done);
        let left = a.plus(left, -c);
        let holds = a.ge(left);
        a.learn(holds, true, facts);
    }
}

fn effect(a: &mut Arena, e: Effect, conditions: &BTreeSet<Term>, facts: &Facts) -> Effect {
    let (Effect::Arrive { expect: Some(bytes), .. } | Effect::Expect { bytes, .. }) = e else { return e };
    match chosen(a, bytes, conditions, facts) {
        Some(new) => map_effect(e, &mut |t| if t == bytes { new } else { t }),
        None => e,
    }
}

/// A multiple of `min(k, x)` as a choice between numbers, by conditions of the tree.
fn chosen(a: &mut Arena, bytes: Term, conditions: &BTreeSet<Term>, facts: &Facts) -> Option<Term> {
    // A variable may be set behind the condition.
    if a.mentions(bytes, |x| matches!(x, Atom::Var(_))) {
        return None;
    }
    let (k, parts) = a.parts(bytes);
    let [(m, by)] = *parts else { return None };
    let Node::Op(Op::Min, args) = a.node(m).clone() else { return None };
    let (most, x) = match (a.constant(args[0]), a.constant(args[1])) {
        (Some(most), None) => (most, args[1]),
        (None, Some(most)) => (most, args[0]),
        _ => return None,
    };
    let least = (most.checked_sub(MOST)?..=most).rev().find(|n| {
        let more = a.plus(x, -n);
        let more = a.ge(more);
        a.decide(more, facts) == Some(true)
    })?;
    let number = |a: &mut Arena, n: i64| a.int(k.wrapping_add(by.wrapping_mul(n)));
    let mut choice = number(a, least);
    for n in least + 1..=most {
        let more = a.plus(x, -n);
        let more = a.ge(more);
        let fewer = opposite(a, more)?;
        let here = number(a, n);
        choice = match (conditions.contains(&more), conditions.contains(&fewer)) {
            (true, _) => a.op(Op::If, &[more, here, choice]),
            (false, true) => a.op(Op::If, &[fewer, choice, here]),
            (false, false) => return None,
        };
    }
    Some(choice)
}
