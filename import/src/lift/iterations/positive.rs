//! Comparisons that a trip count decides.
//!
//! A loop of `min(n, 64 * cta + 64) / 16` iterations, rounded up, has one if and only if `n >= 1`. A comparison `n >= 1`
//! then reads the trip count: both are not free of each other. A loop of `n / 32 - 4 * cta` iterations has at most 4 if and
//! only if `n - 128 * cta <= 159`.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lift::launch::exprs::Names;
use crate::lift::launch::symbols::replaced;
use crate::lift::merge::{Merged, each_term};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Node, Op, Term};

/// Replaces comparisons that are equal to a comparison of a trip count.
pub(crate) fn by_counts(
    s: &mut Shared<'_>,
    names: &Names,
    tree: Vec<Merged>,
    stands_for: &FxHashMap<Term, Term>,
) -> Vec<Merged> {
    let mut with = FxHashMap::default();
    for count in &names.trips {
        let meaning = stands_for.get(count).copied().unwrap_or(*count);
        with.extend(begins(&mut s.arena, meaning, *count));
        let mut all = alike(&mut s.arena, meaning);
        all.extend((meaning != *count).then_some(meaning));
        for x in all {
            let (of, by) = (asked(&mut s.arena, x), asked(&mut s.arena, *count));
            with.extend(of.into_iter().zip(by));
        }
    }
    let quotients: Vec<Quotient> =
        names.trips.iter().flat_map(|t| Quotient::of(&mut s.arena, *t, stands_for)).collect();
    if !quotients.is_empty() {
        let mut seen = FxHashSet::default();
        let mut found = Vec::new();
        each_term(&tree, &mut |t| made_by(&s.arena, Op::Ge, t, &mut seen, &mut found));
        for t in found {
            let by = quotients.iter().find_map(|q| q.compared(&mut s.arena, t));
            with.extend(by.map(|by| (t, by)));
        }
    }
    let remainders = remainders(s, names, &tree, stands_for);
    if !remainders.is_empty() {
        s.assume(s.entry.line, "sizes that set trip counts are not negative");
        with.extend(remainders);
    }
    if with.is_empty() {
        return tree;
    }
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    tree.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// The condition for the first iteration of a loop, and its opposite, as comparisons of its count.
fn begins(a: &mut Arena, meaning: Term, count: Term) -> Vec<(Term, Term)> {
    let Node::Op(Op::Trips, args) = a.node(meaning).clone() else { return Vec::new() };
    let first = a.at_number(args[0], 0);
    // A condition that is the same in each iteration stands in the count itself.
    if a.constant(first).is_some() || first == args[0] {
        return Vec::new();
    }
    let some = a.plus(count, -1);
    let some = a.ge(some);
    let (opposite, none) = (a.not(first), a.not(some));
    vec![(first, some), (opposite, none)]
}

/// Remainders over the launch that are remainders of a trip count: of `n - 4 * cta` iterations, an even number is left where
/// `n` is even.
fn remainders(
    s: &mut Shared<'_>,
    names: &Names,
    tree: &[Merged],
    stands_for: &FxHashMap<Term, Term>,
) -> Vec<(Term, Term)> {
    let counts: Vec<(Term, Term)> =
        names.trips.iter().map(|t| (*t, stands_for.get(t).copied().unwrap_or(*t))).collect();
    let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
    each_term(tree, &mut |t| made_by(&s.arena, Op::Rem, t, &mut seen, &mut found));
    let mut of = |t: Term| {
        if names.covered(&s.arena, t) {
            return None;
        }
        let Node::Op(Op::Rem, args) = s.arena.node(t).clone() else { return None };
        s.arena.constant(args[1]).filter(|by| *by > 1)?;
        counts.iter().find_map(|(count, meaning)| {
            let apart = s.arena.sub(args[0], *meaning);
            let apart = s.arena.rem(apart, args[1]);
            let k = s.arena.constant(apart)?;
            let x = s.arena.plus(*count, k);
            Some((t, s.arena.rem(x, args[1])))
        })
    };
    found.into_iter().filter_map(&mut of).collect()
}

/// The terms in a term that an operator makes, each once.
pub(crate) fn made_by(a: &Arena, of: Op, t: Term, seen: &mut FxHashSet<Term>, found: &mut Vec<Term>) {
    if !seen.insert(t) {
        return;
    }
    match a.node(t) {
        Node::Const(_) | Node::Atom(_) => {}
        Node::Sum(_, parts) => parts.iter().for_each(|(x, _)| made_by(a, of, *x, seen, found)),
        Node::Op(op, args) => {
            found.extend((*op == of).then_some(t));
            args.iter().for_each(|x| made_by(a, of, *x, seen, found));
        }
        Node::Table(i, ..) => made_by(a, of, *i, seen, found),
    }
}

/// A trip count that is `whole / by`, rounded down: `n / 32 - 4 * cta` is `(n - 128 * cta) / 32`.
struct Quotient {
    count: Term,
    whole: Term,
    by: i64,
}

impl Quotient {
    /// A count as a quotient, and as a sum that is not divided.
    fn of(a: &mut Arena, count: Term, stands_for: &FxHashMap<Term, Term>) -> Vec<Quotient> {
        let meaning = stands_for.get(&count).copied().unwrap_or(count);
        let (_, parts) = a.parts(meaning);
        let mut list = Vec::new();
        if parts.len() > 1 {
            list.push(Quotient { count, whole: meaning, by: 1 });
        }
        let divided = |t: Term| match a.node(t) {
            Node::Op(Op::Div, args) => Some((args[0], a.constant(args[1]).filter(|by| *by > 1)?)),
            _ => None,
        };
        let first = parts.iter().find_map(|(t, c)| Some((*t, *c, divided(*t)?)));
        if let Some((t, 1, (x, by))) = first {
            let rest = a.sub(meaning, t);
            let rest = a.scale(rest, by);
            list.push(Quotient { count, whole: a.add(x, rest), by });
        }
        list
    }

    /// A comparison of the dividend with a constant, as one of the count.
    fn compared(&self, a: &mut Arena, t: Term) -> Option<Term> {
        let Node::Op(Op::Ge, args) = a.node(t).clone() else { return None };
        let (above, below) = (a.sub(args[0], self.whole), a.add(args[0], self.whole));
        if let Some(k) = a.constant(above) {
            // The dividend is at least -k.
            let least = -k.div_euclid(self.by);
            let more = a.plus(self.count, -least);
            return Some(a.ge(more));
        }
        // The dividend is at most k.
        let k = a.constant(below)?;
        let less = a.scale(self.count, -1);
        let less = a.plus(less, k.div_euclid(self.by));
        Some(a.ge(less))
    }
}

/// The conditions `t >= 1` and `t <= 0`.
pub(crate) fn asked(a: &mut Arena, t: Term) -> [Term; 2] {
    let (less, negative) = (a.plus(t, -1), a.scale(t, -1));
    [a.ge(less), a.ge(negative)]
}

/// The terms that are at least 1 if and only if a term is.
pub(crate) fn alike(a: &mut Arena, t: Term) -> Vec<Term> {
    let mut list: Vec<Term> = Vec::new();
    let mut open = vec![t];
    while let Some(t) = open.pop() {
        list.push(t);
        let Node::Op(op, args) = a.node(t).clone() else { continue };
        match (op, &args[..]) {
            (Op::Div | Op::DivZero, [x, by]) => {
                // The quotient is at least 1 where the dividend is at least the divisor.
                if let Some(by) = a.constant(*by).filter(|by| *by > 0) {
                    open.push(a.plus(*x, 1 - by));
                }
            }
            (Op::Min, [x, y]) => {
                open.extend((a.range(*y).0 >= 1).then_some(*x));
                open.extend((a.range(*x).0 >= 1).then_some(*y));
            }
            (Op::Max, [x, y]) => {
                open.extend((a.range(*y).1 <= 0).then_some(*x));
                open.extend((a.range(*x).1 <= 0).then_some(*y));
            }
            _ => {}
        }
    }
    list.retain(|x| *x != t);
    list
}
