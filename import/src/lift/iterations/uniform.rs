//! Kernels in which data decide what each iteration does, taken to decide the same in each iteration.
//!
//! Where no barrier separates the iterations (`data.rs`), a word that decides something is one value of the launch: any
//! value, and the same in each iteration. What all roles do for one such value is checked, and a proof is BOUNDED. Two
//! readers of one word can become readers of two words here, and a fault with different values of these may be none. So a
//! fault counts only where one word decides.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols;
use crate::lift::launch::symbols::replaced;
use crate::lift::merge::Merged;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Node, Op, Term, WORDS};

use super::data::each_set;

/// Rounds in which variables become values of the launch.
const ROUNDS: usize = 4;

/// The tree with words that are the same in each iteration.
pub(crate) fn uniform(s: &mut Shared<'_>, tree: Vec<Merged>, line: u32) -> Vec<Merged> {
    s.assume(
        line,
        "words of memory, and counts of loops, that differ by iteration of a loop are the same in each iteration",
    );
    let counts = counts_at_zero(s, &tree);
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &counts, &mut memo);
    let tree: Vec<Merged> = tree.iter().map(|n| replaced(s, n, &mut f)).collect();
    let one = one_of_each(s);
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| value(a, t, &one, &mut memo);
    let mut tree: Vec<Merged> = tree.iter().map(|n| replaced(s, n, &mut f)).collect();
    for _ in 0..ROUNDS {
        let with = constants(s, &tree);
        if with.is_empty() {
            break;
        }
        let mut memo = FxHashMap::default();
        let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
        tree = tree.iter().map(|n| replaced(s, n, &mut f)).collect();
    }
    tree
}

/// The number of words that the kernel may change and that terms read.
pub(crate) fn words(a: &Arena, terms: impl Iterator<Item = Term>) -> usize {
    fn find(a: &Arena, t: Term, found: &mut BTreeSet<i64>) {
        match a.node(t) {
            Node::Const(_) | Node::Atom(_) => {}
            Node::Sum(_, parts) => parts.iter().for_each(|(x, _)| find(a, *x, found)),
            Node::Op(op, args) => {
                found.extend(a.constant(args[0]).filter(|id| *op == Op::Load && *id >= WORDS));
                args.iter().for_each(|x| find(a, *x, found));
            }
            Node::Table(i, ..) => find(a, *i, found),
        }
    }
    let mut found = BTreeSet::new();
    terms.for_each(|t| find(a, t, &mut found));
    found.len()
}

fn varying(a: Atom) -> bool {
    matches!(a, Atom::Counter(h) if h != u32::MAX) || matches!(a, Atom::Var(_))
}

/// A term without counters and variables: its value for zero of each.
fn at_zero(a: &mut Arena, t: Term) -> Term {
    let mut atoms = Vec::new();
    a.each_atom(t, &mut |x| atoms.extend(varying(x).then_some(x)));
    let zero = a.int(0);
    let with: FxHashMap<Term, Term> = atoms.into_iter().map(|x| (a.atom(x), zero)).collect();
    a.replace(t, &with, &mut FxHashMap::default())
}

/// Counts of loops that differ by iteration of another loop, such as those of the tiles of causal attention, and their
/// values for the first one.
fn counts_at_zero(s: &mut Shared<'_>, tree: &[Merged]) -> FxHashMap<Term, Term> {
    let mut list = Vec::new();
    symbols::counts(tree, &mut list);
    let mut with = FxHashMap::default();
    for t in list {
        for (x, _) in s.arena.parts(t).1.iter() {
            let plain = matches!(s.arena.node(*x), Node::Atom(_));
            let by_counter = s.arena.mentions(*x, |a| matches!(a, Atom::Counter(h) if h != u32::MAX));
            if !plain && by_counter && !s.arena.mentions(*x, |a| matches!(a, Atom::Var(_))) {
                with.insert(*x, at_zero(&mut s.arena, *x));
            }
        }
    }
    with
}

/// For each read of a word of shared memory, the first read of the same word: of the same address but for the slot of a
/// ring.
fn one_of_each(s: &mut Shared<'_>) -> BTreeMap<i64, i64> {
    let mut words: Vec<(i64, Term, u32)> =
        s.words.iter().filter_map(|(w, id)| Some((*id, w.address?, w.rank))).collect();
    words.sort_unstable();
    let mut first = BTreeMap::new();
    let mut one = BTreeMap::new();
    for (id, address, rank) in words {
        let address = at_zero(&mut s.arena, address);
        let to = *first.entry((address, rank)).or_insert(id);
        one.insert(WORDS + id, WORDS + to);
    }
    one
}

/// A term in which words do not differ by iteration.
fn value(a: &mut Arena, t: Term, one: &BTreeMap<i64, i64>, memo: &mut FxHashMap<Term, Term>) -> Term {
    if let Some(known) = memo.get(&t) {
        return *known;
    }
    let new = match a.node(t).clone() {
        Node::Const(_) | Node::Atom(_) => t,
        Node::Op(Op::Load, args) => {
            let mut args: Vec<Term> = args.iter().map(|x| value(a, *x, one, memo)).collect();
            if let Some(to) = a.constant(args[0]).and_then(|id| one.get(&id)) {
                args = vec![a.int(*to)];
            }
            let t = a.op(Op::Load, &args);
            at_zero(a, t)
        }
        Node::Op(op @ (Op::Trips | Op::HowOften | Op::MulHigh), args) => {
            let args: Vec<Term> = args.iter().map(|x| value(a, *x, one, memo)).collect();
            let t = a.op(op, &args);
            at_zero(a, t)
        }
        Node::Op(op, args) => {
            let args: Vec<Term> = args.iter().map(|x| value(a, *x, one, memo)).collect();
            // What the first iteration reads ahead of the loop is what the others read.
            let first = op == Op::If && a.mentions(args[0], varying) && !a.mentions(args[0], |x| !varying(x));
            if first && a.reads_memory(args[1]) && a.reads_memory(args[2]) { args[2] } else { a.op(op, &args) }
        }
        Node::Sum(k, parts) => a.sum_of(k, &parts, &mut |a, x| value(a, x, one, memo)),
        Node::Table(i, first, cycle) => {
            let i = value(a, i, one, memo);
            a.table(i, first.to_vec(), cycle.to_vec())
        }
    };
    memo.insert(t, new);
    new
}

/// Variables that are only set to one value of the launch that data decide.
fn constants(s: &mut Shared<'_>, tree: &[Merged]) -> FxHashMap<Term, Term> {
    let mut sets: BTreeMap<u32, BTreeSet<Term>> = BTreeMap::new();
    each_set(tree, &mut |v, t| sets.entry(v).or_default().extend([t]));
    let mut with = FxHashMap::default();
    for (v, terms) in sets {
        let own = s.arena.atom(Atom::Var(v));
        let mut terms = terms.into_iter().filter(|t| *t != own);
        let (Some(t), None) = (terms.next(), terms.next()) else { continue };
        if s.arena.reads_memory(t) && !s.arena.mentions(t, varying) {
            with.insert(own, t);
        }
    }
    with
}
