//! Sizes that loop bounds divide and that other code reads, too: a loop of two steps an iteration, and a comparison with
//! the last step. The quotient alone does not determine such a size. So the size becomes a quotient and a remainder:
//! `n = 4 * q + 2 * b + c`. The quotient is a trip count, and each bit of the remainder a free
//! condition, of which both values are checked.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use warpline_sim::ir::lcm;

use crate::lift::launch::exprs::{Names, leaf_name};
use crate::lift::launch::symbols::{bases, counts, replaced, symbol_for};
use crate::lift::merge::{Merged, MergedKind};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Node, Op, Term};

/// The largest divisor.
pub(crate) const LARGEST: usize = 16;

/// First of the numbers of symbols for quotients and remainders.
pub(crate) const FIRST: u32 = 1 << 16;

/// Splits sizes. `stands_for` receives the meaning of the new symbols.
pub(crate) fn split(
    s: &mut Shared<'_>,
    names: &mut Names,
    tree: Vec<Merged>,
    stands_for: &mut FxHashMap<Term, Term>,
) -> Vec<Merged> {
    let mut sizes = Vec::new();
    compared(s, &tree, &mut sizes);
    let bases = bases(s, &tree);
    let is_size = |t: &Term| matches!(s.arena.node(*t), Node::Atom(Atom::Param(..) | Atom::Symbol(_)));
    sizes.extend(bases.iter().filter(|t| is_size(t)).map(|t| (*t, s.entry.code.len())));
    sizes.extend(in_several(&mut s.arena, &bases).into_iter().map(|t| (t, s.entry.code.len())));
    sizes.sort_unstable();
    sizes.dedup_by_key(|(t, _)| *t);
    let mut bounds = Vec::new();
    counts(&tree, &mut bounds);
    let mut with = FxHashMap::default();
    for (t, at) in sizes {
        let by = bounds.iter().fold(1, |by, b| divisor(&s.arena, *b, t, by));
        let line = s.entry.code[at.min(s.entry.code.len() - 1)].line;
        if by == 1 {
            continue;
        }
        s.assume(line, "sizes that set trip counts are not negative");
        let name = leaf_name(&s.arena, t);
        if by > LARGEST {
            s.assume(line, format!("`{name}` is a multiple of {by}, as loops go over its quotients"));
            names.symbol(t, name);
            names.trips.insert(t);
            names.divided.push((t, by as i64));
            continue;
        }
        let mut symbol = |s: &mut Shared<'_>, meaning, most| symbol_for(s, (FIRST, &mut *stands_for), meaning, most);
        let divisor = s.arena.int(by as i64);
        let meaning = s.arena.div(t, divisor);
        let quotient = symbol(s, meaning, (1 << 31) - 1);
        names.symbol(quotient, format!("{name}_by_{by}"));
        names.trips.insert(quotient);
        let rest = s.arena.rem(t, divisor);
        let mut remainder = s.arena.int(0);
        for bit in 0..by.next_power_of_two().trailing_zeros() {
            let (below, two) = (s.arena.int(1 << bit), s.arena.int(2));
            let high = s.arena.div(rest, below);
            let meaning = s.arena.rem(high, two);
            let b = symbol(s, meaning, 1);
            names.symbol(b, format!("{name}_bit_{bit}"));
            names.bits.push((b, line));
            let b = s.arena.scale(b, 1 << bit);
            remainder = s.arena.add(remainder, b);
        }
        if !by.is_power_of_two() {
            let most = s.arena.int(by as i64 - 1);
            remainder = s.arena.op(Op::Min, &[remainder, most]);
        }
        let whole = s.arena.scale(quotient, by as i64);
        with.insert(t, s.arena.add(whole, remainder));
    }
    if with.is_empty() {
        return tree;
    }
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    tree.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// The values of the launch that several bounds of loops read, such as a bound and its remainder.
fn in_several(a: &mut Arena, bases: &[Term]) -> Vec<Term> {
    let mut read: BTreeMap<Atom, u32> = BTreeMap::new();
    for t in bases {
        a.each_atom(*t, &mut |x| *read.entry(x).or_default() += 1);
    }
    let several = |(x, n): &(Atom, u32)| *n > 1 && matches!(x, Atom::Param(..) | Atom::Symbol(_));
    read.into_iter().filter(several).map(|(x, _)| a.atom(x)).collect()
}

/// A common multiple of `by` and all numbers that a term divides a size by.
fn divisor(a: &Arena, t: Term, size: Term, by: usize) -> usize {
    let Node::Atom(atom) = a.node(size) else { return by };
    if !a.mentions(t, |x| x == *atom) {
        return by;
    }
    match a.node(t) {
        Node::Const(_) | Node::Atom(_) => by,
        Node::Sum(_, parts) => parts.iter().fold(by, |by, (x, _)| divisor(a, *x, size, by)),
        Node::Op(op, args) => {
            let inner = args.iter().fold(by, |by, x| divisor(a, *x, size, by));
            let of = |x: Term| a.parts(x).1.iter().find(|(y, _)| *y == size).map(|(_, c)| *c);
            match (op, args.first().and_then(|x| of(*x)), args.get(1).and_then(|d| a.constant(*d))) {
                (Op::Div | Op::DivZero, Some(c), Some(d)) if d > 1 && c % d != 0 => lcm(inner, d as usize),
                _ => inner,
            }
        }
        Node::Table(i, ..) => divisor(a, *i, size, by),
    }
}

/// The values of the launch that conditions compare with the number of an iteration, each with the branch.
fn compared(s: &Shared<'_>, tree: &[Merged], found: &mut Vec<(Term, usize)>) {
    for n in tree {
        match &n.kind {
            MergedKind::If(c, a, b) => {
                compared_in(&s.arena, *c, n.at, found);
                compared(s, a, found);
                compared(s, b, found);
            }
            MergedKind::For(_, _, body) => compared(s, body, found),
            _ => {}
        }
    }
}

fn compared_in(a: &Arena, t: Term, at: usize, found: &mut Vec<(Term, usize)>) {
    match a.node(t) {
        Node::Op(Op::Not | Op::Both | Op::Either, args) => args.iter().for_each(|x| compared_in(a, *x, at, found)),
        Node::Op(Op::Ge | Op::Eq, args) => {
            let (_, parts) = a.parts(args[0]);
            let counts = |x: Term| matches!(a.node(x), Node::Atom(Atom::Counter(h)) if *h != u32::MAX);
            let size = |x: Term| matches!(a.node(x), Node::Atom(Atom::Param(..) | Atom::Symbol(_)));
            let sizes: Vec<Term> = parts.iter().map(|p| p.0).filter(|x| size(*x)).collect();
            if let [one] = *sizes
                && parts.iter().any(|p| counts(p.0))
                && parts.iter().all(|p| counts(p.0) || p.0 == one)
                && found.iter().all(|(x, _)| *x != one)
            {
                found.push((one, at));
            }
        }
        _ => {}
    }
}
