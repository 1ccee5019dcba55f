//! Loops over every tile of one sequence, beside loops over every second one of them. The two warpgroups of a pingpong
//! kernel have loops of the second kind.
//!
//! ```text
//!   load:  while tiles > cta + ctas * i:             t times
//!   first: while tiles > cta + 2 * ctas * i:         (t + 1) / 2 times
//!   other: while tiles > cta + 2 * ctas * i + ctas:  t / 2 times
//! ```
//!
//! A condition of the second kind is the first one in iteration `m * i + k`. The first condition falls: where it does not
//! hold, it holds in no later iteration. So all counts are functions of the count of the first loop.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::symbolic::{Arena, Atom, NO_LOOP, Node, Op, Term};

use crate::lift::launch::symbols::{replaced, symbol_for};
use crate::lift::merge::{Merged, each_term};
use crate::lift::walk::shared::Shared;

use super::positive::made_by;

/// First of the numbers of symbols for these counts.
const FIRST: u32 = 5 * super::residues::FIRST;

/// The largest step.
const STEPS: i64 = 4;

/// The largest iteration at which a loop begins.
const FIRSTS: i64 = 8;

/// The largest number of counts that are compared.
const MOST: usize = 12;

/// Where an iteration of one loop is in another: the step and the first iteration.
type Pace = (i64, i64);

/// The tree with functions of one count in place of the counts of loops over some of its iterations. `stands_for` receives
/// what the count is.
pub(crate) fn counted(s: &mut Shared<'_>, tree: Vec<Merged>, stands_for: &mut FxHashMap<Term, Term>) -> Vec<Merged> {
    let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
    each_term(&tree, &mut |t| made_by(&s.arena, Op::Trips, t, &mut seen, &mut found));
    let found: BTreeSet<Term> = found.into_iter().collect();
    if !(2..=MOST).contains(&found.len()) {
        return tree;
    }
    let conditions = conditions(&s.arena, &tree);
    let mut with = FxHashMap::default();
    for x in &found {
        let mut paces = paces(&mut s.arena, *x, &found);
        if with.contains_key(x) || paces.values().all(|(step, _)| *step == 1) {
            continue;
        }
        paces.insert(*x, (1, 0));
        let condition = condition(&s.arena, *x);
        // Iterations before the first one of the loop that conditions tell apart: a loop that is tested at its end.
        let tested = |s: &mut Shared<'_>, n: i64| {
            let holds = s.arena.at_number(condition, -n);
            conditions.contains(&holds) || conditions.contains(&s.arena.not(holds))
        };
        let before = (1..=FIRSTS).rev().find(|n| tested(s, *n)).unwrap_or(0);
        let number = s.arena.atom(Atom::Counter(NO_LOOP));
        let earlier = s.arena.plus(number, -before);
        let all = s.arena.at_iteration(condition, NO_LOOP, earlier);
        let all = s.arena.op(Op::Trips, &[all]);
        let all = symbol_for(s, (FIRST, &mut *stands_for), all, (1 << 31) - 1);
        for (y, (step, first)) in paces {
            // The iterations `first`, `first + step` and so on.
            let (zero, by) = (s.arena.int(0), s.arena.int(step));
            let more = s.arena.plus(all, step - 1 - first - before);
            let count = s.arena.div(more, by);
            with.insert(y, s.arena.op(Op::Max, &[count, zero]));
        }
        for n in -before..=FIRSTS {
            let holds = s.arena.at_number(condition, n);
            let reached = s.arena.plus(all, -n - before - 1);
            let reached = s.arena.ge(reached);
            let (opposite, not) = (s.arena.not(holds), s.arena.not(reached));
            with.extend(
                [(holds, reached), (opposite, not)].into_iter().filter(|(t, _)| s.arena.constant(*t).is_none()),
            );
        }
    }
    if with.is_empty() {
        return tree;
    }
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    tree.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// The conditions in a tree.
fn conditions(a: &Arena, tree: &[Merged]) -> BTreeSet<Term> {
    let mut all = BTreeSet::new();
    for op in [Op::Ge, Op::Not, Op::Both, Op::Either] {
        let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
        each_term(tree, &mut |t| made_by(a, op, t, &mut seen, &mut found));
        all.extend(found);
    }
    all
}

/// The condition of a count.
fn condition(a: &Arena, trips: Term) -> Term {
    match a.node(trips) {
        Node::Op(Op::Trips, args) => args[0],
        _ => trips,
    }
}

/// The counts of loops over some iterations of the loop with the count `x`.
fn paces(a: &mut Arena, x: Term, all: &BTreeSet<Term>) -> BTreeMap<Term, Pace> {
    let (i, c) = (a.atom(Atom::Counter(NO_LOOP)), condition(a, x));
    let own = plain(a, c, &mut FxHashMap::default());
    if !falls(a, own, true) {
        return BTreeMap::new();
    }
    let others: Vec<(Term, Term)> = all.iter().filter(|y| **y != x).map(|y| (*y, condition(a, *y))).collect();
    let others: Vec<(Term, Term)> =
        others.into_iter().map(|(y, c)| (y, plain(a, c, &mut FxHashMap::default()))).collect();
    let mut found = BTreeMap::new();
    for (step, first) in (1..=STEPS).flat_map(|step| (0..=FIRSTS).map(move |first| (step, first))) {
        let at = a.scale(i, step);
        let at = a.plus(at, first);
        let there = plain(a, own, &mut FxHashMap::from_iter([(i, at)]));
        for (y, _) in others.iter().filter(|(_, c)| *c == there) {
            found.entry(*y).or_insert((step, first));
        }
    }
    found
}

/// A term in which products of sums are sums of products. `memo` has what stands for terms.
fn plain(a: &mut Arena, t: Term, memo: &mut FxHashMap<Term, Term>) -> Term {
    if let Some(known) = memo.get(&t) {
        return *known;
    }
    let new = match a.node(t).clone() {
        Node::Const(_) | Node::Atom(_) | Node::Table(..) => t,
        Node::Sum(k, parts) => a.sum_of(k, &parts, &mut |a, x| plain(a, x, memo)),
        Node::Op(op, args) => {
            let args: Vec<Term> = args.iter().map(|x| plain(a, *x, memo)).collect();
            if op == Op::Mul { product(a, args[0], args[1]) } else { a.op(op, &args) }
        }
    };
    memo.insert(t, new);
    new
}

/// The product of two sums as a sum of products.
fn product(a: &mut Arena, x: Term, y: Term) -> Term {
    let terms = |a: &mut Arena, t: Term| {
        let (k, parts) = a.parts(t);
        let one = a.int(1);
        let mut list = parts.to_vec();
        list.extend((k != 0).then_some((one, k)));
        list
    };
    let (left, right) = (terms(a, x), terms(a, y));
    let mut all = a.int(0);
    for (t, c) in left {
        for (u, d) in &right {
            let p = a.mul(t, *u);
            let p = a.scale(p, c.wrapping_mul(*d));
            all = a.add(all, p);
        }
    }
    all
}

/// Whether a condition holds in no iteration behind one in which it does not hold; with `down` false, in each iteration
/// behind one in which it holds.
fn falls(a: &Arena, t: Term, down: bool) -> bool {
    let counts = |t: Term| a.mentions(t, |x| x == Atom::Counter(NO_LOOP));
    if !counts(t) {
        return true;
    }
    match a.node(t) {
        Node::Op(Op::Both | Op::Either, args) => args.iter().all(|x| falls(a, *x, down)),
        Node::Op(Op::Not, args) => falls(a, args[0], !down),
        Node::Op(Op::Ge, args) => a.parts(args[0]).1.iter().filter(|(x, _)| counts(*x)).all(|(x, c)| {
            let grows = match a.node(*x) {
                Node::Atom(_) => true,
                Node::Op(Op::Mul, of) => of.iter().all(|x| a.range(*x).0 >= 0),
                _ => false,
            };
            grows && (*c < 0) == down
        }),
        _ => false,
    }
}
