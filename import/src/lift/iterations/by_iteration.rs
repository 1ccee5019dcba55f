//! What differs by iteration of a loop over tiles, such as "this tile has a bias" or the length of the row of a tile.
//!
//! ```text
//!   for i in 0..jobs:                          for i in 0..jobs:
//!     if (first + i * ctas) % n == 0:    ─▶      if numbers(i) % 2 == 1:
//!       <body>                                     <body>
//!     for j in 0..length[first + i]:     ─▶      for j in 0..numbers(i) / 2:
//! ```
//!
//! A condition over the iteration and values of the launch has one outcome in each iteration, the same for all roles that
//! ask. So has a word of memory that the kernel does not change. The program has a number of each iteration, known only at
//! run time. Each condition is a bit of it. The rest is what the trip counts of loops inside depend on. A proof lets these
//! numbers be any. That is more than any launch has, so a fault may be one of no launch.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::lift::launch::exprs::opposite;
use crate::lift::launch::symbols::{bases, replaced};
use crate::lift::merge::unread::without_unread;
use crate::lift::merge::{Merged, MergedKind, each_node, each_term};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, NO_LOOP, Node, Op, Term};

use super::kept;
use super::thresholds::{as_extremes, is_of_launch};

/// The largest number of conditions. A proof tries each combination of their outcomes in each iteration.
const MOST: usize = 6;

/// What the numbers of iterations stand for.
#[derive(Default)]
struct Found {
    /// The conditions, over the iteration of no loop.
    conditions: Vec<Term>,
    /// What trip counts depend on, over the iteration of no loop.
    length: Option<Term>,
}

/// Replaces what differs by iteration by parts of the numbers of iterations, and says how many conditions are bits of them.
/// `None` where there is nothing to replace, or too much.
/// `with_steps` leaves out iterations in which no loop with such a length has a step.
pub(crate) fn numbered(s: &mut Shared<'_>, tree: Vec<Merged>, with_steps: bool) -> Option<(Vec<Merged>, u32)> {
    let bases = bases(s, &tree);
    let mut memo = FxHashMap::default();
    let mut first = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| {
        let t = a.pulled(t, &mut memo);
        a.first_apart(t, &mut first)
    };
    let tree: Vec<Merged> = tree.iter().map(|n| replaced(s, n, &mut f)).collect();
    let mut found = Found::default();
    let counts = counts(s, &tree);
    let largest = common(&mut s.arena, &counts).first().copied();
    let tree = in_loops(s, tree, &mut |s, h, body| {
        put(s, &body, |s, with| {
            for t in conditions(s, &body, h, &bases) {
                let any = s.arena.of_no_loop(t, h);
                let by_length = largest.is_some_and(|length| is_by_length(&mut s.arena, any, length));
                let plain = if by_length { t } else { plain(&mut s.arena, t) };
                with.insert(t, plain);
            }
        })
    });
    let counts = self::counts(s, &tree);
    // All lengths depend on one: the largest part that all have, if nothing else reads what it is computed from.
    let parts = common(&mut s.arena, &counts);
    let tree = match (parts.first(), parts.last()) {
        (Some(whole), Some(base)) => none_by_whole(s, tree, *base, *whole),
        _ => tree,
    };
    found.length = parts.last().copied();
    if let (Some(whole), Some(base)) = (parts.first(), parts.last())
        && !reads_beside(s, &tree, *base, *whole)
    {
        found.length = Some(*whole);
    }
    let one = counts.is_empty() || found.length.is_some();
    let least = match found.length.filter(|_| with_steps) {
        Some(length) => least_length(&mut s.arena, length, &counts)?,
        None if with_steps => return None,
        None => 0,
    };
    let least = found.length.map_or(least, |length| s.arena.range(length).0.clamp(least, MOST_LEAST));
    let kept = kept::conditions(s, &tree);
    let tree = in_loops(s, tree, &mut |s, h, body| {
        let mut body = body;
        // Roles without a loop inside may ask whether there are iterations.
        if let Some(any) = found.length {
            let i = s.arena.atom(Atom::Counter(h));
            let (t, length) = (s.arena.at_iteration(any, NO_LOOP, i), s.arena.length(h));
            let length = s.arena.plus(length, least);
            let mut memo = FxHashMap::default();
            let mut f = |a: &mut Arena, x: Term| with_length(a, x, (t, length), &mut memo);
            body = body.iter().map(|n| replaced(s, n, &mut f)).collect();
        }
        put(s, &body, |s, with| {
            for t in asked(&body).into_iter().filter(|t| kept.contains(t)) {
                with.insert(t, s.arena.outcome(found.conditions.len() as u32, h));
                found.conditions.push(t);
            }
            for t in conditions(s, &body, h, &bases) {
                let any = s.arena.of_no_loop(t, h);
                let other = opposite(&mut s.arena, any);
                let known = found.conditions.iter().position(|x| *x == any || Some(*x) == other);
                let number = known.unwrap_or(found.conditions.len());
                if known.is_none() {
                    found.conditions.push(any);
                }
                let outcome = s.arena.outcome(number as u32, h);
                let same = found.conditions[number] == any;
                with.insert(t, if same { outcome } else { s.arena.not(outcome) });
            }
        })
    });
    let tree = without_unread(s, tree);
    if found.length.is_some() {
        s.assume(s.entry.line, "sizes that set trip counts are not negative");
    }
    if with_steps {
        s.assume(s.entry.line, "a loop whose length differs by iteration has at least one step each time");
    }
    let any = found.length.is_some() || !found.conditions.is_empty();
    let outcomes = found.conditions.len();
    (any && one && outcomes <= MOST).then_some((tree, outcomes as u32))
}

/// The conditions of branches.
fn asked(list: &[Merged]) -> Vec<Term> {
    let mut found = Vec::new();
    each_node(list, &mut |n| {
        if let MergedKind::If(c, ..) = n.kind {
            found.push(c);
        }
    });
    found
}

/// Makes the body of the loop with a header another one.
type Change<'f> = &'f mut dyn FnMut(&mut Shared<'_>, u32, Vec<Merged>) -> Vec<Merged>;

/// The tree with other bodies of those loops that no loop is around, and that have a trip count of the launch.
fn in_loops(s: &mut Shared<'_>, list: Vec<Merged>, f: Change<'_>) -> Vec<Merged> {
    let one = |n: Merged| {
        let kind = match n.kind {
            MergedKind::If(c, a, b) => MergedKind::If(c, in_loops(s, a, f), in_loops(s, b, f)),
            MergedKind::For(h, count, body) if of_launch(&s.arena, count) => MergedKind::For(h, count, f(s, h, body)),
            same => same,
        };
        Merged { kind, ..n }
    };
    list.into_iter().map(one).collect()
}

/// The trip counts of loops inside of those of `in_loops` that differ by iteration, over the iteration of no loop.
fn counts(s: &mut Shared<'_>, list: &[Merged]) -> Vec<Term> {
    let mut all = Vec::new();
    for n in list {
        match &n.kind {
            MergedKind::If(_, a, b) => {
                all.extend(counts(s, a));
                all.extend(counts(s, b));
            }
            MergedKind::For(h, count, body) if of_launch(&s.arena, *count) => {
                let of_body = counts_of(body).into_iter().filter(|t| is_of(&s.arena, *t, *h)).collect::<Vec<_>>();
                all.extend(of_body.into_iter().map(|t| s.arena.of_no_loop(t, *h)));
            }
            _ => {}
        }
    }
    all
}

/// The parts that all counts have, largest first.
fn common(a: &mut Arena, counts: &[Term]) -> Vec<Term> {
    let mut forms: Vec<Vec<Term>> = counts.iter().map(|t| inside(a, *t)).collect();
    let last = forms.pop().unwrap_or_default();
    last.into_iter().filter(|t| forms.iter().all(|f| f.contains(t))).collect()
}

/// Whether a term is a function of the length alone.
fn is_by_length(a: &mut Arena, t: Term, length: Term) -> bool {
    let any = a.opaque("a length");
    let of_any = with_length(a, t, (length, any), &mut FxHashMap::default());
    !a.mentions(of_any, |x| !matches!(a.node(any), Node::Atom(y) if *y == x))
}

/// A body with other terms.
fn put(
    s: &mut Shared<'_>,
    body: &[Merged],
    find: impl FnOnce(&mut Shared<'_>, &mut FxHashMap<Term, Term>),
) -> Vec<Merged> {
    let mut with = FxHashMap::default();
    find(s, &mut with);
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    body.iter().map(|n| replaced(s, n, &mut f)).collect()
}

fn is_launch(x: Atom) -> bool {
    matches!(x, Atom::Param(..) | Atom::Place(_) | Atom::Symbol(_) | Atom::Counter(NO_LOOP))
}

/// Whether a term reads values of the launch, and nothing else.
pub(crate) fn of_launch(a: &Arena, t: Term) -> bool {
    !a.mentions(t, |x| !is_launch(x))
}

/// Whether a term reads the iteration of a loop, and nothing else that changes. Roles may read different values of a word
/// that the kernel may change.
fn is_of(a: &Arena, t: Term, h: u32) -> bool {
    let other = |x: Atom| x != Atom::Counter(h) && !is_launch(x);
    a.mentions(t, |x| x == Atom::Counter(h)) && !a.mentions(t, other) && !a.reads_words(t)
}

/// The parts of conditions that read the iteration of a loop and values of the launch other than trip counts.
fn conditions(s: &mut Shared<'_>, body: &[Merged], h: u32, bases: &[Term]) -> Vec<Term> {
    let mut all = Vec::new();
    each_node(body, &mut |n| match &n.kind {
        MergedKind::If(t, ..) | MergedKind::Set(_, t) => parts(&s.arena, *t, h, &mut all),
        _ => {}
    });
    // What is computed from lengths stays as it is.
    all.retain(|t| is_of(&s.arena, *t, h) && !s.arena.is_numbered(*t) && is_of_launch(s, *t, h, bases));
    all
}

fn parts(a: &Arena, t: Term, h: u32, found: &mut Vec<Term>) {
    if !a.mentions(t, |x| x == Atom::Counter(h)) || found.contains(&t) {
        return;
    }
    match a.node(t) {
        Node::Op(Op::Ge | Op::Eq, _) => found.push(t),
        Node::Op(Op::Load, _) => found.extend(a.is_boolean(t).then_some(t)),
        Node::Op(_, args) => args.iter().for_each(|x| parts(a, *x, h, found)),
        Node::Sum(_, list) => list.iter().for_each(|(x, _)| parts(a, *x, h, found)),
        Node::Table(i, ..) => parts(a, *i, h, found),
        Node::Const(_) | Node::Atom(_) => {}
    }
}

/// The largest length that is tried as the shortest one.
const MOST_LEAST: i64 = 4096;

/// The smallest length with which some loop has an iteration.
fn least_length(a: &mut Arena, length: Term, counts: &[Term]) -> Option<i64> {
    (1..=MOST_LEAST).find(|n| {
        let n = a.int(*n);
        let of = |a: &mut Arena, t: &Term| with_length(a, *t, (length, n), &mut FxHashMap::default());
        counts.iter().any(|t| {
            let t = of(a, t);
            a.constant(t).is_some_and(|v| v >= 1)
        })
    })
}

/// The trip counts of loops in a body.
fn counts_of(body: &[Merged]) -> Vec<Term> {
    let mut counts = Vec::new();
    each_node(body, &mut |n| {
        if let MergedKind::For(_, count, _) = n.kind {
            counts.push(count);
        }
    });
    counts
}

/// All terms of a tree, and the loops of which they read the iteration.
fn terms(a: &Arena, tree: &[Merged]) -> (BTreeSet<Term>, BTreeSet<u32>) {
    let (mut all, mut headers) = (BTreeSet::new(), BTreeSet::new());
    each_term(tree, &mut |t| all.extend([t]));
    for t in &all {
        a.each_atom(*t, &mut |x| {
            if let Atom::Counter(h) = x {
                headers.insert(h);
            }
        });
    }
    (all, headers)
}

/// A tree that asks whether a quotient that rounds up is 0, and not whether its dividend is. Both are 0 in the same
/// iterations, as sizes are not negative. Both terms are over the iteration of no loop.
fn none_by_whole(s: &mut Shared<'_>, tree: Vec<Merged>, base: Term, whole: Term) -> Vec<Merged> {
    let Node::Op(Op::Div, args) = s.arena.node(whole).clone() else { return tree };
    let more = s.arena.sub(args[0], base);
    let Some((more, by)) = s.arena.constant(more).zip(s.arena.constant(args[1])) else { return tree };
    if by < 2 || more != by - 1 {
        return tree;
    }
    let mut with = FxHashMap::default();
    for h in terms(&s.arena, &tree).1 {
        let i = s.arena.atom(Atom::Counter(h));
        let [base, whole] = [base, whole].map(|t| {
            let t = s.arena.at_iteration(t, NO_LOOP, i);
            s.arena.eq(t)
        });
        with.insert(base, whole);
    }
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    tree.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// Whether a term of a tree reads one term other than as a part of another one. Both are over the iteration of no loop.
fn reads_beside(s: &mut Shared<'_>, tree: &[Merged], base: Term, whole: Term) -> bool {
    let (all, headers) = terms(&s.arena, tree);
    headers.into_iter().any(|h| {
        let i = s.arena.atom(Atom::Counter(h));
        let (base, whole) = (s.arena.at_iteration(base, NO_LOOP, i), s.arena.at_iteration(whole, NO_LOOP, i));
        let with = FxHashMap::from_iter([(whole, s.arena.int(0))]);
        let mut memo = FxHashMap::default();
        all.iter().any(|t| {
            let t = s.arena.replace(*t, &with, &mut memo);
            s.arena.has(t, base)
        })
    })
}

/// A term with the length in the place of a sum, also where more is added or its sign is another one.
fn with_length(a: &mut Arena, t: Term, of: (Term, Term), memo: &mut FxHashMap<Term, Term>) -> Term {
    if let Some(known) = memo.get(&t) {
        return *known;
    }
    let (_, sum) = a.parts(of.0);
    if sum.is_empty() {
        // A number is no length that differs.
        return t;
    }
    let by = |a: &mut Arena, by: i64| {
        let (_, parts) = a.parts(t);
        let all = sum.iter().all(|(x, c)| parts.contains(&(*x, by * c)));
        let length = a.scale(of.1, by);
        let whole = a.scale(of.0, by);
        all.then(|| (a.sub(t, whole), length))
    };
    let new = match by(a, 1).or_else(|| by(a, -1)) {
        Some((rest, length)) => {
            // What is left may read the length, too: `n - (n + 3) % 4`.
            let rest = with_length(a, rest, of, memo);
            a.add(rest, length)
        }
        None => match a.node(t).clone() {
            Node::Const(_) | Node::Atom(_) | Node::Table(..) => t,
            Node::Sum(k, parts) => {
                let parts: Vec<(Term, i64)> = parts.iter().map(|(x, c)| (with_length(a, *x, of, memo), *c)).collect();
                parts.into_iter().fold(a.int(k), |sum, (x, c)| {
                    let x = a.scale(x, c);
                    a.add(sum, x)
                })
            }
            Node::Op(op, args) => {
                let args: Vec<Term> = args.iter().map(|x| with_length(a, *x, of, memo)).collect();
                a.op(op, &args)
            }
        },
    };
    memo.insert(t, new);
    new
}

/// The parts of a term over the iteration of no loop, from the whole one to that which is computed from no other.
fn inside(a: &mut Arena, t: Term) -> Vec<Term> {
    let mut found = vec![t];
    let mut t = t;
    loop {
        let parts = match a.node(t).clone() {
            Node::Op(Op::Min | Op::Max, args) => args.to_vec(),
            Node::Op(Op::Div | Op::DivZero | Op::Rem, args) if a.constant(args[1]).is_some() => vec![args[0]],
            // What both ways are computed from: `n % 8 == 0 ? n / 8 : n / 8 - 1`.
            Node::Op(Op::If, args) => {
                let of_one = inside(a, args[1]);
                of_one.into_iter().find(|x| is_by_length(a, t, *x)).into_iter().collect()
            }
            Node::Sum(k, list) => match *list {
                [(x, _)] => vec![x],
                // One of its parts may decide the others: `n - min(2, n)`.
                _ if k == 0 => list.iter().map(|(x, _)| *x).find(|x| is_by_length(a, t, *x)).into_iter().collect(),
                _ => vec![a.plus(t, -k)],
            },
            _ => Vec::new(),
        };
        let mut varying = parts.into_iter().filter(|x| is_of(a, *x, NO_LOOP));
        let (Some(one), None) = (varying.next(), varying.next()) else { return found };
        found.push(one);
        t = one;
    }
}

/// A comparison without minima and maxima, where it has one: `max(0, x) >= 1` is `x >= 1`.
fn plain(a: &mut Arena, t: Term) -> Term {
    let Node::Op(Op::Ge, args) = a.node(t).clone() else { return t };
    let x = as_extremes(a, args[0]);
    let (k, parts) = a.parts(x);
    let [(m, by)] = *parts else { return t };
    let Node::Op(op @ (Op::Max | Op::Min), of) = a.node(m).clone() else { return t };
    let [p, q] = [of[0], of[1]].map(|y| {
        let y = a.scale(y, by);
        let y = a.plus(y, k);
        let y = a.ge(y);
        plain(a, y)
    });
    if (op == Op::Max) == (by > 0) { a.either(p, q) } else { a.both(p, q) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_no_length() {
        let mut a = Arena::default();
        let n = a.atom(Atom::Param(0, 0));
        let (t, number, length) = (a.plus(n, 3), a.int(7), a.opaque("a length"));
        assert_eq!(with_length(&mut a, t, (number, length), &mut FxHashMap::default()), t);
        assert_ne!(with_length(&mut a, t, (n, length), &mut FxHashMap::default()), t);
    }
}
