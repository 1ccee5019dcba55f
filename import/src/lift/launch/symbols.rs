//! Symbols of the program: the values that loop bounds depend on.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use warpline_sim::ir::gcd;

use crate::lift::iterations::reroll::rerolled;
use crate::lift::iterations::{residues, rings};
use crate::lift::merge::effects_of::map_effect;
use crate::lift::merge::{Merged, MergedKind, each_term};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Node, Op, Term};

use super::exprs::{Names, rounded_down};

/// The parts of a sum, and the atom that stands for it.
type Sum = (Rc<[(Term, i64)]>, Term);

/// Finds the symbols that loop bounds depend on. Sums among them become atoms, so that multiples of a sum are
/// recognized as the same symbol. Returns the tree with these atoms; `stands_for` receives the sum of each atom.
pub(crate) fn trip_symbols(
    s: &mut Shared<'_>,
    names: &mut Names,
    tree: Vec<Merged>,
    stands_for: &mut FxHashMap<Term, Term>,
) -> Vec<Merged> {
    let tree = if s.timing.is_none() { divided_again(s, names, tree, (stands_for, true)) } else { tree };
    let bases = self::bases(s, &tree);
    let (mut sums, mut atoms): (Vec<Sum>, Vec<Term>) = Default::default();
    let mut list = Vec::new();
    counts(&tree, &mut list);
    for t in shared(s, &bases) {
        let (_, parts) = s.arena.parts(t);
        let atom = s.arena.atom(Atom::Symbol(sums.len() as u32));
        // The largest count of the sum and a constant is the symbol, so that each of them can be zero.
        let more = list.iter().filter_map(|count| added(&s.arena, *count, &parts)).fold(0, i64::max);
        sums.push((parts, s.arena.plus(atom, -more)));
        atoms.push(atom);
        stands_for.insert(atom, s.arena.plus(t, more));
    }
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| with_atoms(a, t, &sums, &mut memo);
    let tree: Vec<Merged> = tree.iter().map(|n| replaced(s, n, &mut f)).collect();
    let tree = if s.timing.is_none() {
        let tree = rerolled(s, tree);
        rings::counted(s, tree)
    } else {
        tree
    };
    let mut list = Vec::new();
    counts(&tree, &mut list);
    for atom in &atoms {
        if list.iter().any(|t| s.arena.mentions(*t, |a| s.arena.node(*atom) == &Node::Atom(a))) {
            names.symbol(*atom, "trips".into());
            names.trips.insert(*atom);
        }
    }
    let tree = residues::split(s, names, tree, stands_for);
    let tree = if s.timing.is_none() { divided_again(s, names, tree, (stands_for, false)) } else { tree };
    let bases = self::bases(s, &tree);
    for t in bases {
        let differs = |x| matches!(x, Atom::Counter(h) if h != crate::symbolic::NO_LOOP);
        if s.arena.constant(t).is_some() || names.covered(&s.arena, t) || s.arena.mentions(t, differs) {
            continue;
        }
        // A count that is not a multiple of one symbol plus a constant becomes a symbol itself: any count is possible.
        let name = if names.is_leaf(&s.arena, t) { super::exprs::leaf_name(&s.arena, t) } else { "trips".into() };
        names.symbol(t, name);
        names.trips.insert(t);
    }
    tree
}

/// First of the numbers of symbols for quotients that are divided again.
const FIRST: u32 = 3 * residues::FIRST;

/// The tree with a symbol for each trip count that is a quotient, if other code divides it again or rounds it to zero.
/// Such code computes the slot and the phase behind a loop. The quotient of a quotient is kept as one quotient, which does not show the count.
fn divided_again(
    s: &mut Shared<'_>,
    names: &mut Names,
    tree: Vec<Merged>,
    (stands_for, first): (&mut FxHashMap<Term, Term>, bool),
) -> Vec<Merged> {
    let mut with = FxHashMap::default();
    let mut list = Vec::new();
    counts(&tree, &mut list);
    for t in bases(s, &tree) {
        let Node::Op(Op::Div, args) = s.arena.node(t).clone() else { continue };
        let Some(by) = s.arena.constant(args[1]).filter(|by| *by > 1) else { continue };
        let mut found = Vec::new();
        each_term(&tree, &mut |x| quotients(&s.arena, x, (args[0], by), &mut found));
        found.sort_unstable();
        found.dedup();
        let is_count = |(q, _): &(Term, i64)| *q == t;
        // Where loops go over such quotients, they are unrolled ones, at first.
        let mut of_loops = Vec::new();
        list.iter().for_each(|n| quotients(&s.arena, *n, (args[0], by), &mut of_loops));
        let unrolled = first && of_loops.iter().any(|(_, more)| *more > 1);
        if unrolled || found.iter().all(is_count) {
            continue;
        }
        s.assume(s.entry.line, "sizes that set trip counts are not negative");
        let atom = symbol_for(s, (FIRST, &mut *stands_for), t, (1 << 31) - 1);
        names.symbol(atom, super::exprs::leaf_name(&s.arena, t));
        names.trips.insert(atom);
        for (q, more) in found {
            let more = s.arena.int(more);
            with.insert(q, s.arena.div(atom, more));
        }
    }
    if with.is_empty() {
        return tree;
    }
    let mut memo = FxHashMap::default();
    let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
    tree.iter().map(|n| replaced(s, n, &mut f)).collect()
}

/// The quotients in a term of a dividend by a number or its multiples, with what they divide the first quotient by.
pub(crate) fn quotients(a: &Arena, t: Term, (x, by): (Term, i64), found: &mut Vec<(Term, i64)>) {
    match a.node(t) {
        Node::Const(_) | Node::Atom(_) => {}
        Node::Sum(_, parts) => parts.iter().for_each(|(y, _)| quotients(a, *y, (x, by), found)),
        Node::Op(op, args) => {
            let d = args.get(1).and_then(|d| a.constant(*d)).filter(|d| *d > 0 && d % by == 0);
            match d.filter(|_| matches!(op, Op::Div | Op::DivZero) && args[0] == x) {
                Some(d) => found.push((t, d / by)),
                None => args.iter().for_each(|y| quotients(a, *y, (x, by), found)),
            }
        }
        Node::Table(i, ..) => quotients(a, *i, (x, by), found),
    }
}

/// The terms that all loop bounds depend on, smallest first.
pub(crate) fn bases(s: &mut Shared<'_>, tree: &[Merged]) -> Vec<Term> {
    let mut list = Vec::new();
    counts(tree, &mut list);
    let mut bases: Vec<Term> = list.iter().map(|t| base(&mut s.arena, *t)).collect();
    for i in 0..bases.len() {
        let least = bases[i];
        let Node::Op(Op::Min, args) = s.arena.node(least).clone() else { continue };
        let any = args.iter().all(|x| s.arena.constant(*x).is_none());
        // Of a count that memory gives, up to a number, the count is any.
        if let [x] = args.iter().filter(|x| s.arena.constant(**x).is_none()).collect::<Vec<_>>()[..]
            && !s.defaults.is_empty()
            && s.arena.reads_memory(*x)
        {
            bases[i] = base(&mut s.arena, *x);
            continue;
        }
        let counts: Vec<Term> = bases.iter().chain(args.iter()).copied().collect();
        if any && args.iter().any(|x| stands_apart(&s.arena, tree, (*x, least), &counts)) {
            bases[i] = base(&mut s.arena, args[0]);
            bases.extend(args[1..].iter().map(|x| base(&mut s.arena, *x)));
        }
    }
    bases.sort_by_key(|t| (s.arena.size(*t), *t));
    bases.dedup();
    // A sum that another term determines alone adds nothing: `n - min(1, n)` beside `n`.
    let all = bases.clone();
    let by_other = |t: Term| {
        let other = |x: &&Term| **x != t && s.arena.constant(**x).is_none();
        s.arena.parts(t).1.len() > 1 && all.iter().filter(other).any(|x| determines(&s.arena, *x, t))
    };
    bases.retain(|t| !by_other(*t));
    bases
}

/// Whether a term is a function of another term alone.
fn determines(a: &Arena, x: Term, t: Term) -> bool {
    t == x
        || match a.node(t) {
            Node::Const(_) => true,
            Node::Atom(_) | Node::Table(..) | Node::Op(Op::Load | Op::Trips | Op::HowOften, _) => false,
            Node::Sum(_, parts) => parts.iter().all(|(y, _)| determines(a, x, *y)),
            Node::Op(_, args) => args.iter().all(|y| determines(a, x, *y)),
        }
}

/// Whether a term of a minimum is read outside of it, too: how a loop with two exits ended. Both terms are symbols then. A
/// condition that other values of the launch decide, too, is free with any symbols.
fn stands_apart(a: &Arena, tree: &[Merged], (part, least): (Term, Term), counts: &[Term]) -> bool {
    fn reads(a: &Arena, t: Term, part: Term, least: Term) -> bool {
        t == part
            || t != least
                && match a.node(t) {
                    Node::Const(_) | Node::Atom(_) => false,
                    Node::Sum(_, parts) => parts.iter().any(|(x, _)| reads(a, *x, part, least)),
                    Node::Op(_, args) => args.iter().any(|x| reads(a, *x, part, least)),
                    Node::Table(i, ..) => reads(a, *i, part, least),
                }
    }
    let mut found = false;
    each_term(tree, &mut |t| found = found || reads(a, t, part, least) && is_of_counts(a, t, counts));
    found
}

/// Whether a term is a function of counts, loop counters and variables.
fn is_of_counts(a: &Arena, t: Term, counts: &[Term]) -> bool {
    counts.contains(&t)
        || match a.node(t) {
            Node::Const(_) | Node::Atom(Atom::Counter(_) | Atom::Var(_)) => true,
            Node::Atom(_) | Node::Op(Op::Load | Op::Trips | Op::HowOften, _) => false,
            Node::Sum(_, parts) => parts.iter().all(|(x, _)| is_of_counts(a, *x, counts)),
            Node::Op(_, args) => args.iter().all(|x| is_of_counts(a, *x, counts)),
            Node::Table(i, ..) => is_of_counts(a, *i, counts),
        }
}

/// Sums that are a bound or part of several bounds. If a sum is negative, every bound that uses it must be negative.
fn shared(s: &mut Shared<'_>, bases: &[Term]) -> Vec<Term> {
    let mut found: Vec<(Term, Vec<Term>)> = Vec::new();
    for t in bases {
        let mut inner = Vec::new();
        sums_in(&mut s.arena, *t, 1, &mut inner);
        inner.dedup();
        for x in inner {
            let other = s.arena.scale(x, -1);
            match found.iter_mut().find(|(y, _)| *y == x || *y == other) {
                Some((_, of)) => of.push(*t),
                None => found.push((x, vec![*t])),
            }
        }
    }
    found.retain(|(x, of)| of.contains(x) || of.len() > 1);
    let found = found.into_iter().filter_map(|(x, of)| {
        let other = s.arena.scale(x, -1);
        [x, other].into_iter().find(|x| of.iter().all(|t| is_zero_below(s, *x, *t))).map(|x| (x, of))
    });
    let mut found: Vec<(Term, Vec<Term>)> = found.collect();
    // A count in which no sum is replaced is one itself, such as the difference of two bounds.
    let varies = |a| !matches!(a, Atom::Param(..) | Atom::Place(_) | Atom::Data(_));
    for t in bases {
        let is_sum = s.arena.parts(*t).1.len() > 1 && !s.arena.mentions(*t, varies);
        if is_sum && found.iter().all(|(_, of)| !of.contains(t)) {
            found.push((*t, vec![*t]));
        }
    }
    found.sort_by_key(|(t, _)| (s.arena.size(*t), *t));
    found.into_iter().map(|(t, _)| t).collect()
}

/// Whether a count is the same for all negative values of a sum as where the sum is 0.
fn is_zero_below(s: &mut Shared<'_>, sum: Term, count: Term) -> bool {
    let key = s.arena.parts(sum).1;
    let mut at = |v: i64| {
        let v = s.arena.int(v);
        let t = with_atoms(&mut s.arena, count, &[(key.clone(), v)], &mut FxHashMap::default());
        (t, s.arena.range(t).1 <= 0)
    };
    let (none, never) = at(0);
    [-1, -2, -64, -1000].into_iter().all(|v| {
        let (t, no) = at(v);
        t == none || never && no
    })
}

/// The constant of a count that is a sum and this constant.
fn added(a: &Arena, count: Term, sum: &[(Term, i64)]) -> Option<i64> {
    let (k, parts) = a.parts(size(a, count));
    (*parts == *sum).then_some(k)
}

/// A count without its maximum with 0.
pub(crate) fn size(a: &Arena, count: Term) -> Term {
    match a.node(count) {
        Node::Op(Op::Max, args) if a.constant(args[0]) == Some(0) => args[1],
        Node::Op(Op::Max, args) if a.constant(args[1]) == Some(0) => args[0],
        _ => count,
    }
}

pub(crate) fn counts(tree: &[Merged], list: &mut Vec<Term>) {
    for n in tree {
        match &n.kind {
            MergedKind::For(_, count, body) => {
                list.push(*count);
                counts(body, list);
            }
            MergedKind::If(_, a, b) => {
                counts(a, list);
                counts(b, list);
            }
            _ => {}
        }
    }
}

/// Sums of several values of the launch in a count, with their sign in it. No other term but constants is added to
/// them.
fn sums_in(a: &mut Arena, t: Term, sign: i64, list: &mut Vec<Term>) {
    let varies = |a| !matches!(a, Atom::Param(..) | Atom::Place(_) | Atom::Data(_));
    let (_, parts) = a.parts(t);
    let before = list.len();
    for (x, c) in parts.iter() {
        let sign = sign * c.signum();
        match a.node(*x).clone() {
            Node::Op(op @ (Op::Div | Op::DivZero | Op::Rem | Op::Min | Op::Max), args)
                if args.iter().filter(|x| a.constant(**x).is_none()).count() == 1 =>
            {
                args.iter().for_each(|x| sums_in(a, *x, if op == Op::Rem { 1 } else { sign }, list));
            }
            Node::Op(Op::If, args) => args[1..].iter().for_each(|x| sums_in(a, *x, sign, list)),
            _ => {}
        }
    }
    // The innermost sums.
    if parts.len() > 1 && list.len() == before && !a.mentions(t, varies) {
        let parts: Vec<(Term, i64)> = plain(&parts).iter().map(|(t, c)| (*t, c * sign)).collect();
        list.push(a.sum(0, parts));
    }
}

/// The term that a count depends on: without constants, factors and the maximum with 0.
fn base(a: &mut Arena, t: Term) -> Term {
    let (_, parts) = a.parts(t);
    match *parts {
        [] => a.int(0),
        [(_, c)] if c < 0 => t,
        [(x, _)] => match a.node(x).clone() {
            Node::Op(Op::Max, args) => match (a.constant(args[0]), a.constant(args[1])) {
                (Some(_), _) => base(a, args[1]),
                (_, Some(_)) => base(a, args[0]),
                _ => x,
            },
            // A quotient of a sum can be a sum with a constant, too.
            _ => match rounded_down(a, x) {
                same if same == x => x,
                down => base(a, down),
            },
        },
        _ => {
            let parts = plain(&parts);
            a.sum(0, parts)
        }
    }
}

/// Multiples divided by their greatest common divisor.
fn plain(parts: &[(Term, i64)]) -> Vec<(Term, i64)> {
    let common = parts.iter().fold(0, |g, (_, c)| gcd(g, *c));
    parts.iter().map(|(t, c)| (*t, c / common)).collect()
}

/// How many times other parts contain a sum.
pub(crate) fn times(parts: &[(Term, i64)], sum: &[(Term, i64)]) -> Option<i64> {
    let of = |t: Term| parts.iter().find(|(x, _)| *x == t).map(|(_, c)| *c);
    let (t, c) = sum.first()?;
    let by = of(*t).filter(|x| x % c == 0)? / c;
    sum.iter().all(|(t, c)| of(*t) == Some(c * by)).then_some(by)
}

/// A term in which atoms replace sums.
pub(crate) fn with_atoms(a: &mut Arena, t: Term, sums: &[Sum], memo: &mut FxHashMap<Term, Term>) -> Term {
    if sums.is_empty() {
        return t;
    }
    if let Some(known) = memo.get(&t) {
        return *known;
    }
    let new = match a.node(t).clone() {
        Node::Const(_) | Node::Atom(_) => t,
        Node::Sum(k, parts) => {
            let mut all = a.int(k);
            let mut rest = parts.to_vec();
            for (sum, atom) in sums {
                let Some(by) = times(&rest, sum) else { continue };
                rest.retain(|(t, _)| !sum.iter().any(|(x, _)| x == t));
                let x = a.scale(*atom, by);
                all = a.add(all, x);
            }
            for (x, c) in rest {
                let x = with_atoms(a, x, sums, memo);
                let x = a.scale(x, c);
                all = a.add(all, x);
            }
            all
        }
        Node::Op(op, args) => {
            // A quotient that rounds to zero is the sum that it is when rounded down, as in every expression.
            let down = rounded_down(a, t);
            let by_sum = if down == t { t } else { with_atoms(a, down, sums, memo) };
            if by_sum == down {
                let args: Vec<Term> = args.iter().map(|x| with_atoms(a, *x, sums, memo)).collect();
                a.op(op, &args)
            } else {
                by_sum
            }
        }
        Node::Table(i, first, cycle) => {
            let i = with_atoms(a, i, sums, memo);
            a.table(i, first.to_vec(), cycle.to_vec())
        }
    };
    memo.insert(t, new);
    new
}

/// A new symbol from 0 to `most` that stands for a term. Symbols are numbered from `first` on.
pub(crate) fn symbol_for(
    s: &mut Shared<'_>,
    (first, stands_for): (u32, &mut FxHashMap<Term, Term>),
    meaning: Term,
    most: i64,
) -> Term {
    let number = first + stands_for.len() as u32;
    s.arena.bound_symbol(number, (0, most));
    let atom = s.arena.atom(Atom::Symbol(number));
    stands_for.insert(atom, meaning);
    atom
}

/// What each symbol of the program stands for, in words.
pub(crate) fn meanings(a: &mut Arena, names: &Names, stands_for: &FxHashMap<Term, Term>) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (t, name) in &names.order {
        let first = stands_for.get(t).copied().unwrap_or(*t);
        // A symbol may stand for a part of another one.
        let whole = a.replace(first, stands_for, &mut FxHashMap::default());
        all.push((name.clone(), a.bare(whole)));
    }
    all
}

/// A node in which other terms replace terms.
pub(crate) fn replaced(s: &mut Shared<'_>, n: &Merged, f: &mut impl FnMut(&mut Arena, Term) -> Term) -> Merged {
    let kind = match &n.kind {
        MergedKind::Op(ops) => MergedKind::Op(
            ops.iter().map(|(w, l, e)| (*w, *l, map_effect(e.clone(), &mut |t| f(&mut s.arena, t)))).collect(),
        ),
        MergedKind::If(c, a, b) => {
            let c = f(&mut s.arena, *c);
            MergedKind::If(
                c,
                a.iter().map(|n| replaced(s, n, f)).collect(),
                b.iter().map(|n| replaced(s, n, f)).collect(),
            )
        }
        MergedKind::For(h, c, body) => {
            let c = f(&mut s.arena, *c);
            MergedKind::For(*h, c, body.iter().map(|n| replaced(s, n, f)).collect())
        }
        MergedKind::Set(v, t) => MergedKind::Set(*v, f(&mut s.arena, *t)),
        MergedKind::End => MergedKind::End,
    };
    Merged { kind, ..n.clone() }
}
