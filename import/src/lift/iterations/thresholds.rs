//! Loops of which a comparison holds up to some iteration and not behind it, such as "this tile is one of the first `n`".
//!
//! Such a loop becomes two: one over the iterations in which the comparison holds, and one over the others. Both have a
//! trip count of their own. All loops with the same trip count are split, so that they stay alike. The two counts are
//! any, which is more than any launch has. So a proof holds for all launches. A fault counts only with the values of a
//! launch (`possible.rs`).

use rustc_hash::FxHashMap;

use crate::lift::launch::exprs::Names;
use crate::lift::launch::symbols::{bases, replaced, symbol_for};
use crate::lift::merge::{Merged, MergedKind, each_node};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, NO_LOOP, Node, Op, Place, Term};

use super::own_count::named;

/// The largest number of comparisons that split loops.
const MOST: u32 = 6;

/// First of the numbers of symbols for trip counts of halves.
pub(crate) const FIRST: u32 = 2 * super::residues::FIRST;

/// How a term changes from one iteration of a loop to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trend {
    Constant,
    /// It is never less than before.
    Rises,
    /// It is never more than before.
    Falls,
}

impl Trend {
    fn reversed(self) -> Trend {
        match self {
            Trend::Constant => Trend::Constant,
            Trend::Rises => Trend::Falls,
            Trend::Falls => Trend::Rises,
        }
    }

    /// The trend of a function of two terms that rises with both.
    fn and(self, other: Trend) -> Option<Trend> {
        match (self, other) {
            (Trend::Constant, x) | (x, Trend::Constant) => Some(x),
            (x, y) => (x == y).then_some(x),
        }
    }
}

/// A comparison that splits loops.
struct Split {
    /// The trip count of the loops.
    count: Term,
    /// The comparison as a condition reads it, of the iteration `Counter(NO_LOOP)`.
    comparison: Term,
    /// What falls with the iteration: the first loop makes the iterations in which it is not negative.
    falls: Term,
    /// The comparison in the first and in the second loop.
    sides: [Term; 2],
    /// What falls by at least one in each iteration and is 0 in the one iteration between both loops, if there is one.
    exact: Option<Term>,
}

/// The trip counts of the two loops, and whether there is an iteration between them.
#[derive(Clone, Copy)]
struct Counts {
    first: Term,
    between: Option<Term>,
    second: Term,
}

/// Splits loops; `None` where there is none to split. `stands_for` receives the meaning of the new symbols. If `known`,
/// all loops behind the first ones must have a constant number of iterations, and no loop gets a symbol.
pub(crate) fn split(
    s: &mut Shared<'_>,
    names: &mut Names,
    tree: &[Merged],
    (stands_for, known): (&mut FxHashMap<Term, Term>, bool),
) -> Option<Vec<Merged>> {
    let mut tree = named(s, tree.to_vec(), (FIRST, &mut *stands_for));
    let mut done = 0;
    loop {
        let bases = bases(s, &tree);
        let Some(found) = find(s, &tree, &bases) else { break };
        if done == MOST {
            return None;
        }
        tree = if known {
            let counts = known_rest(s, &found)?;
            halves(s, tree, &found, counts)
        } else {
            apply(s, names, tree, &found, stands_for)
        };
        done += 1;
    }
    (done > 0).then_some(tree)
}

/// The first comparison that splits a loop.
fn find(s: &mut Shared<'_>, list: &[Merged], bases: &[Term]) -> Option<Split> {
    for n in list {
        let found = match &n.kind {
            MergedKind::If(_, a, b) => find(s, a, bases).or_else(|| find(s, b, bases)),
            MergedKind::For(h, count, body) => {
                let leaves = conditions(&s.arena, body, *h);
                leaves.into_iter().find_map(|t| comparison(s, t, *h, *count, bases)).or_else(|| find(s, body, bases))
            }
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The comparisons with the iteration of a loop in conditions.
fn conditions(a: &Arena, list: &[Merged], h: u32) -> Vec<Term> {
    let mut found = Vec::new();
    each_node(list, &mut |n| {
        if let MergedKind::If(c, ..) = &n.kind {
            comparisons(a, *c, h, &mut found);
        }
    });
    found
}

fn comparisons(a: &Arena, t: Term, h: u32, found: &mut Vec<Term>) {
    match a.node(t) {
        Node::Op(Op::Not | Op::Both | Op::Either, args) => args.iter().for_each(|x| comparisons(a, *x, h, found)),
        Node::Op(Op::Ge | Op::Eq, _) if a.mentions(t, |x| x == Atom::Counter(h)) => found.push(t),
        _ => {}
    }
}

/// How a comparison splits a loop, if it does. A comparison with a trip count alone needs no split.
fn comparison(s: &mut Shared<'_>, t: Term, h: u32, count: Term, bases: &[Term]) -> Option<Split> {
    let Node::Op(op, args) = s.arena.node(t).clone() else { return None };
    if !is_of_launch(s, t, h, bases) {
        return None;
    }
    let varies = |x: Atom| match x {
        Atom::Counter(h) => h != u32::MAX,
        Atom::Param(..) | Atom::Place(_) | Atom::Symbol(_) => false,
        _ => true,
    };
    if s.arena.mentions(count, varies) {
        return None;
    }
    let x = as_extremes(&mut s.arena, args[0]);
    let trend = trend(&s.arena, x, h)?;
    let (comparison, x) = (s.arena.of_no_loop(t, h), s.arena.of_no_loop(x, h));
    let (one, zero) = (s.arena.int(1), s.arena.int(0));
    let minus = s.arena.scale(x, -1);
    let exact = (op == Op::Eq && is_strict(&s.arena, x)).then(|| if trend == Trend::Falls { x } else { minus });
    let (falls, sides) = match (op, trend) {
        (_, Trend::Constant) => return None,
        (Op::Ge, Trend::Falls) => (x, [one, zero]),
        (Op::Ge, Trend::Rises) => (s.arena.plus(minus, -1), [zero, one]),
        (_, Trend::Falls) if exact.is_some() => (s.arena.plus(x, -1), [zero, zero]),
        (_, Trend::Rises) if exact.is_some() => (s.arena.plus(minus, -1), [zero, zero]),
        // Behind the iterations in which x is above 0, it is 0 where it is at least 0.
        (_, Trend::Falls) => (s.arena.plus(x, -1), [zero, s.arena.ge(x)]),
        (_, Trend::Rises) => (s.arena.plus(minus, -1), [zero, s.arena.ge(minus)]),
    };
    Some(Split { count, comparison, falls, sides, exact })
}

/// Whether a condition reads the iteration of a loop and values of the launch. A comparison with a trip count alone decides
/// as it is.
pub(crate) fn is_of_launch(s: &mut Shared<'_>, t: Term, h: u32, bases: &[Term]) -> bool {
    let other = |x: Atom| !matches!(x, Atom::Param(..) | Atom::Place(_) | Atom::Symbol(_)) && x != Atom::Counter(h);
    if s.arena.mentions(t, other) {
        return false;
    }
    let Node::Op(Op::Ge | Op::Eq, args) = s.arena.node(t).clone() else { return true };
    let counter = s.arena.atom(Atom::Counter(h));
    let (_, parts) = s.arena.parts(args[0]);
    parts.iter().any(|(x, _)| *x != counter && !bases.contains(x))
}

/// Whether a term over the iteration `Counter(NO_LOOP)` changes by a constant in each.
fn is_strict(a: &Arena, x: Term) -> bool {
    let counter = |x: Atom| x == Atom::Counter(NO_LOOP);
    let own = |t: Term| matches!(a.node(t), Node::Atom(x) if counter(*x));
    let (_, parts) = a.parts(x);
    parts.iter().any(|(t, _)| own(*t)) && parts.iter().all(|(t, _)| own(*t) || !a.mentions(*t, counter))
}

/// A term in which choices by comparisons with their outcomes are minima and maxima.
pub(crate) fn as_extremes(a: &mut Arena, t: Term) -> Term {
    match a.node(t).clone() {
        Node::Op(Op::If, args) => {
            let (p, q) = (as_extremes(a, args[1]), as_extremes(a, args[2]));
            let z = a.sub(p, q);
            if let Node::Op(Op::Ge, of) = a.node(args[0]).clone() {
                for (sign, op) in [(1, Op::Max), (-1, Op::Min)] {
                    let x = a.scale(z, sign);
                    let more = a.sub(of[0], x);
                    if matches!(a.constant(more), Some(-1 | 0)) {
                        return a.op(op, &[p, q]);
                    }
                }
            }
            a.cond(args[0], p, q)
        }
        Node::Op(op, args) => {
            let args: Vec<Term> = args.iter().map(|x| as_extremes(a, *x)).collect();
            a.op(op, &args)
        }
        Node::Sum(k, parts) => a.sum_of(k, &parts, &mut |a, x| as_extremes(a, x)),
        Node::Const(_) | Node::Atom(_) | Node::Table(..) => t,
    }
}

/// The trend of a term over the iterations of a loop; `None` where it has none, or none that is known.
fn trend(a: &Arena, t: Term, h: u32) -> Option<Trend> {
    if !a.mentions(t, |x| x == Atom::Counter(h)) {
        return Some(Trend::Constant);
    }
    match a.node(t) {
        Node::Atom(_) => Some(Trend::Rises),
        Node::Sum(_, parts) => parts.iter().try_fold(Trend::Constant, |all, (x, c)| {
            let x = trend(a, *x, h)?;
            all.and(if *c < 0 { x.reversed() } else { x })
        }),
        Node::Op(Op::Min | Op::Max, args) => trend(a, args[0], h)?.and(trend(a, args[1], h)?),
        Node::Op(Op::Mul, args) => {
            let (x, y) = (trend(a, args[0], h)?, trend(a, args[1], h)?);
            let positive = |t: Term| a.range(t).0 >= 0 || is_grid(a, t);
            match (x, y) {
                (x, Trend::Constant) if positive(args[1]) => Some(x),
                (Trend::Constant, y) if positive(args[0]) => Some(y),
                _ => None,
            }
        }
        Node::Op(Op::Div | Op::DivZero, args) => {
            // A divisor is a size, and not 0.
            let positive = a.range(args[1]).1 > 0;
            (positive && trend(a, args[1], h)? == Trend::Constant).then(|| trend(a, args[0], h)).flatten()
        }
        _ => None,
    }
}

/// Whether a term is a size of the grid.
fn is_grid(a: &Arena, t: Term) -> bool {
    matches!(a.node(t), Node::Atom(Atom::Place(Place::Ctas(_) | Place::Clusters(_))))
}

/// The tree in which all loops with the trip count of a split are two.
fn apply(
    s: &mut Shared<'_>,
    names: &mut Names,
    tree: Vec<Merged>,
    split: &Split,
    stands_for: &mut FxHashMap<Term, Term>,
) -> Vec<Merged> {
    let mut symbol = |s: &mut Shared<'_>, meaning, most| symbol_for(s, (FIRST, &mut *stands_for), meaning, most);
    let zero = s.arena.int(0);
    let all = s.arena.op(Op::Max, &[split.count, zero]);
    // The iterations before a term is negative.
    let before = |s: &mut Shared<'_>, falls: Term| {
        let holds = s.arena.ge(falls);
        let iterations = s.arena.op(Op::Trips, &[holds]);
        s.arena.op(Op::Min, &[all, iterations])
    };
    let start = before(s, split.falls);
    let first = symbol(s, start, (1 << 31) - 1);
    let mut end = start;
    let between = split.exact.map(|x| {
        end = before(s, x);
        let meaning = s.arena.sub(end, start);
        let bit = symbol(s, meaning, 1);
        names.symbol(bit, "between".into());
        names.bits.push((bit, s.entry.line));
        bit
    });
    let rest = s.arena.sub(all, end);
    let second = symbol(s, rest, (1 << 31) - 1);
    let tree = halves(s, tree, split, Counts { first, between, second });
    // The count is the sum of all, wherever the count or what it is computed from alone is read.
    let (k, parts) = s.arena.parts(split.count);
    let mut with = FxHashMap::default();
    let mut sum = s.arena.add(first, second);
    sum = between.map_or(sum, |bit| s.arena.add(sum, bit));
    if let [(x, 1)] = *parts {
        let less = s.arena.plus(sum, -k);
        with.insert(x, less);
        if let Node::Op(Op::Max, args) = s.arena.node(x).clone() {
            let inner = args.iter().copied().find(|t| s.arena.constant(*t).is_none());
            with.extend(inner.map(|t| (t, less)));
        }
    }
    s.assume(s.entry.line, "sizes that set trip counts are not negative");
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    tree.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// The trip counts of both loops, where the first one is a quotient and the second one a constant:
/// `n >= 32 * i + 33` holds in all iterations but the last one of `(n + 31) / 32`.
fn known_rest(s: &mut Shared<'_>, split: &Split) -> Option<Counts> {
    let a = &mut s.arena;
    let own = a.atom(Atom::Counter(NO_LOOP));
    let (k, parts) = a.parts(split.falls);
    let by = parts.iter().find(|(t, by)| *t == own && *by < 0)?.1;
    if split.exact.is_some() || !is_strict(a, split.falls) {
        return None;
    }
    let (zero, step) = (a.int(0), a.int(-by));
    let next = a.sum(k - by, parts.iter().filter(|(t, _)| *t != own).copied().collect());
    let iterations = a.div(next, step);
    let iterations = a.op(Op::Max, &[iterations, zero]);
    let all = a.op(Op::Max, &[split.count, zero]);
    let first = a.op(Op::Min, &[all, iterations]);
    let second = a.sub(all, first);
    a.constant(second).map(|_| Counts { first, between: None, second })
}

fn halves(s: &mut Shared<'_>, list: Vec<Merged>, split: &Split, counts: Counts) -> Vec<Merged> {
    let mut out = Vec::with_capacity(list.len());
    for n in list {
        match n.kind {
            MergedKind::If(c, a, b) => {
                let (a, b) = (halves(s, a, split, counts), halves(s, b, split, counts));
                out.push(Merged { kind: MergedKind::If(c, a, b), ..n });
            }
            MergedKind::For(h, count, body) if count == split.count => {
                let (at, part, warps) = (n.at, n.part, n.warps);
                let mut put = |kind: MergedKind| out.push(Merged { at, part, warps, kind });
                let counter = s.arena.atom(Atom::Counter(h));
                let half = part_of(s, &body, split, h, split.sides[0], counter);
                put(MergedKind::For(h, counts.first, half));
                let mut start = counts.first;
                if let Some(bit) = counts.between {
                    let one = s.arena.int(1);
                    let half = part_of(s, &body, split, h, one, start);
                    let less = s.arena.plus(bit, -1);
                    put(MergedKind::If(s.arena.ge(less), half, Vec::new()));
                    start = s.arena.add(start, bit);
                }
                let later = s.arena.add(counter, start);
                let half = part_of(s, &body, split, h, split.sides[1], later);
                put(MergedKind::For(h, counts.second, half));
            }
            MergedKind::For(h, count, body) => {
                let body = halves(s, body, split, counts);
                out.push(Merged { kind: MergedKind::For(h, count, body), ..n });
            }
            _ => out.push(n),
        }
    }
    pruned(s, out)
}

/// The body of a loop where the comparison is `side` and the iteration is `iteration`.
fn part_of(s: &mut Shared<'_>, body: &[Merged], split: &Split, h: u32, side: Term, iteration: Term) -> Vec<Merged> {
    let counter = s.arena.atom(Atom::Counter(h));
    let comparison = s.arena.at_iteration(split.comparison, NO_LOOP, counter);
    let side = s.arena.at_iteration(side, NO_LOOP, counter);
    let decided = FxHashMap::from_iter([(comparison, side)]);
    let moved = FxHashMap::from_iter([(counter, iteration)]);
    let (mut memo, mut second) = (FxHashMap::default(), FxHashMap::default());
    let mut f = |a: &mut Arena, t: Term| {
        let t = a.replace(t, &decided, &mut memo);
        a.replace(t, &moved, &mut second)
    };
    body.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// Nodes without the sides of conditions that are decided.
pub(crate) fn pruned(s: &Shared<'_>, list: Vec<Merged>) -> Vec<Merged> {
    let mut out = Vec::with_capacity(list.len());
    for n in list {
        match n.kind {
            MergedKind::If(c, a, b) => match s.arena.constant(c) {
                Some(0) => out.extend(pruned(s, b)),
                Some(_) => out.extend(pruned(s, a)),
                None => {
                    let kind = MergedKind::If(c, pruned(s, a), pruned(s, b));
                    out.push(Merged { kind, ..n });
                }
            },
            MergedKind::For(h, count, body) => {
                let body = pruned(s, body);
                if !body.is_empty() {
                    out.push(Merged { kind: MergedKind::For(h, count, body), ..n });
                }
            }
            _ => out.push(n),
        }
    }
    out
}
