//! Rings that roles carry from tile to tile, as running counters.
//!
//! CUTLASS's `PipelineState` is a slot and a phase: `slot = slot + 1 == S ? 0 : slot + 1`, and the phase flips where the
//! slot wraps. A pair of such variables is one counter `n` with `slot = n % S` and `phase = n / S % 2`. The counter grows by
//! what the pair is moved on, so a proof can follow it. The pair itself only recurs after two rounds.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::lift::merge::effects_of::map_effect;
use crate::lift::merge::{Merged, MergedKind};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Atom, Node, Op, Term};

use super::advance::Turn;
use super::equal::{by_warps, with_one_of_each};
use super::joined::joined;

/// The largest number of slots.
const MOST_SLOTS: i64 = 64;

/// The upper bound of a counter.
const MANY: i64 = 1 << 61;

/// A ring: its slots, and the variable of its phase, if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ring {
    slots: i64,
    phase: Option<u32>,
}

/// Rings by the variable of the slot, which becomes the counter.
type Rings = BTreeMap<u32, Ring>;

/// Values that variables are set to at one place: neighboring nodes of one list.
pub(crate) type Sets = Vec<(u32, Term)>;

/// The tree with counters in place of slots and phases.
pub(crate) fn counted(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    let mut found = BTreeSet::new();
    let other = joined(s, tree.clone(), &mut found);
    let (mut tree, mut rings) = with_rings(s, tree);
    if !found.is_empty() {
        let with_phase = |rings: &Rings| rings.values().filter(|r| r.phase.is_some()).count();
        let (other, more) = with_rings(s, other);
        if with_phase(&more) > with_phase(&rings) {
            (tree, rings) = (other, more);
        }
    }
    if rings.is_empty() {
        return tree;
    }
    let mut memo = FxHashMap::default();
    let tree = rewritten(s, tree, &rings, &mut memo);
    for v in rings.keys() {
        s.arena.bound_var(*v, Some((0, MANY)));
    }
    // Rings of different lengths that move together have one counter.
    let mut groups = Vec::new();
    places(s, &tree, &mut groups);
    with_one_of_each(s, tree, &groups)
}

/// The tree with one variable in place of several that are equal, and its rings.
fn with_rings(s: &mut Shared<'_>, tree: Vec<Merged>) -> (Vec<Merged>, Rings) {
    let mut groups = Vec::new();
    places(s, &tree, &mut groups);
    let tree = with_one_of_each(s, tree, &groups);
    groups.clear();
    places(s, &tree, &mut groups);
    let mut rings = found(s, &groups);
    // A variable whose value is not that of a ring moved on is no ring, and what is set to it is none either. What does
    // not move as a slot and its phase can be the slots of two rings.
    loop {
        let bad: BTreeSet<u32> = groups.iter().flat_map(|g| wrong(s, g, &rings)).collect();
        if bad.is_empty() {
            return (tree, rings);
        }
        let with_phase: Vec<u32> = bad.iter().copied().filter(|v| rings[v].phase.is_some()).collect();
        if with_phase.is_empty() {
            rings.retain(|v, _| !bad.contains(v));
        }
        for v in with_phase {
            if let Some(p) = rings.get_mut(&v).and_then(|r| r.phase.take()) {
                rings.insert(p, Ring { slots: 2, phase: None });
            }
        }
    }
}

/// Places where variables are set, each by some warps: other warps have other values.
fn places(s: &Shared<'_>, list: &[Merged], out: &mut Vec<Sets>) {
    let mut i = 0;
    while i < list.len() {
        match &list[i].kind {
            MergedKind::Set(..) => {
                let end = place_end(s, list, i);
                out.extend(by_warps(&list[i..end]));
                i = end;
                continue;
            }
            MergedKind::If(_, a, b) => {
                places(s, a, out);
                places(s, b, out);
            }
            MergedKind::For(_, _, body) => places(s, body, out),
            MergedKind::Op(_) | MergedKind::End => {}
        }
        i += 1;
    }
}

/// The end of a place: neighboring nodes that set variables, none of which reads what another one there sets.
fn place_end(s: &Shared<'_>, list: &[Merged], from: usize) -> usize {
    let mut set = BTreeSet::new();
    for (i, n) in list.iter().enumerate().skip(from) {
        let MergedKind::Set(v, t) = n.kind else { return i };
        if s.arena.mentions(t, |a| matches!(a, Atom::Var(u) if u != v && set.contains(&u))) || !set.insert(v) {
            return i;
        }
    }
    list.len()
}

fn sets_of(list: &[Merged]) -> Sets {
    list.iter().filter_map(|n| if let MergedKind::Set(v, t) = n.kind { Some((v, t)) } else { None }).collect()
}

/// Variables that may be slots and phases: those that are always set together, and from another slot and its phase.
fn found(s: &mut Shared<'_>, groups: &[Sets]) -> Rings {
    let mut at: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (n, g) in groups.iter().enumerate() {
        g.iter().for_each(|(v, _)| at.entry(*v).or_default().push(n));
    }
    for v in at.keys().filter(|v| s.arena.var_bounds(**v).is_none()).copied().collect::<Vec<_>>() {
        let terms = groups.iter().flatten().filter(|(u, _)| *u == v);
        let ranges: Vec<(i64, i64)> = terms.map(|(_, t)| s.arena.range(*t)).collect();
        let low = ranges.iter().map(|r| r.0).min().unwrap_or(-1);
        let high = ranges.iter().map(|r| r.1).max().unwrap_or(-1);
        if low >= 0 && high < MOST_SLOTS {
            s.arena.bound_var(v, Some((low, high)));
        }
    }
    let bounds = |s: &Shared<'_>, v: u32| s.arena.var_bounds(v).filter(|(low, high)| *low == 0 && *high < MOST_SLOTS);
    let most = |s: &Shared<'_>, v: u32| bounds(s, v).map_or(0, |(_, high)| high);
    let slots: Vec<u32> = at.keys().copied().filter(|v| most(s, *v) > 0).collect();
    let phases: Vec<u32> = slots.iter().copied().filter(|v| most(s, *v) == 1).collect();
    let mut pairs: BTreeSet<(u32, u32)> = BTreeSet::new();
    for v in &slots {
        pairs.extend(phases.iter().filter(|p| *p != v && at[*p] == at[v]).map(|p| (*v, *p)));
    }
    loop {
        let all: Vec<(u32, u32)> = pairs.iter().copied().collect();
        let fits = |s: &mut Shared<'_>, (v, p): (u32, u32)| {
            at[&v].iter().all(|n| {
                let source = source(s, &groups[*n], v, Some(p));
                source.is_some_and(|source| source.is_none_or(|(u, q)| q.is_some_and(|q| pairs.contains(&(u, q)))))
            })
        };
        let kept: BTreeSet<(u32, u32)> = all.iter().copied().filter(|pair| fits(s, *pair)).collect();
        let done = kept.len() == pairs.len();
        pairs = kept;
        if done {
            break;
        }
    }
    let mut taken = BTreeSet::new();
    let mut rings = Rings::new();
    for v in slots {
        let phase = pairs.iter().find(|(u, p)| *u == v && !taken.contains(p)).map(|(_, p)| *p);
        taken.extend(phase);
        rings.insert(v, Ring { slots: most(s, v) + 1, phase });
    }
    rings.retain(|v, _| !taken.contains(v));
    rings
}

/// The slot and the phase that a ring is set from at a place: none of both where it starts anew.
type Source = Option<(u32, Option<u32>)>;

fn source(s: &Shared<'_>, g: &Sets, v: u32, phase: Option<u32>) -> Option<Source> {
    let vars = |v: u32| {
        let (_, t) = g.iter().find(|(u, _)| *u == v)?;
        let mut list = BTreeSet::new();
        s.arena.each_atom(*t, &mut |a| {
            if let Atom::Var(v) = a {
                list.extend([v]);
            }
        });
        Some(list)
    };
    let mut of_phase = match phase {
        Some(p) => vars(p)?,
        None => BTreeSet::new(),
    };
    match vars(v)?.into_iter().collect::<Vec<_>>().as_slice() {
        [] => of_phase.is_empty().then_some(None),
        [u] => {
            of_phase.remove(u);
            match of_phase.into_iter().collect::<Vec<_>>().as_slice() {
                [] if phase.is_none() => Some(Some((*u, None))),
                [q] => Some(Some((*u, Some(*q)))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What a ring's counter is set to: a counter or another number, and a constant that is added. `None` in place of the
/// number where the ring starts anew.
type Moved = (Option<Term>, i64);

/// The counter that a slot and its phase are set from.
fn moved(s: &mut Shared<'_>, g: &Sets, v: u32, ring: Ring, rings: &Rings) -> Option<Moved> {
    let of = |v: u32| g.iter().find(|(u, _)| *u == v).map(|(_, t)| *t);
    let slot = of(v)?;
    let phase = match ring.phase {
        Some(p) => Some(of(p)?),
        None => None,
    };
    if let Some(first) = s.arena.constant(slot) {
        let turn = match phase {
            Some(p) => s.arena.constant(p)?,
            None => 0,
        };
        return Some((None, first + ring.slots * turn));
    }
    let mut vars = BTreeSet::new();
    s.arena.each_atom(slot, &mut |a| {
        if let Atom::Var(u) = a {
            vars.extend([u])
        }
    });
    if vars.is_empty() {
        return of_sequence(s, slot, phase, ring);
    }
    let from = vars.iter().copied().find(|u| rings.contains_key(u))?;
    let other = rings[&from];
    if other.slots != ring.slots || ring.phase.is_some() && other.phase.is_none() {
        return None;
    }
    let turn = Turn { slots: ring.slots, slot: Atom::Var(from), phase: ring.phase.and(other.phase).map(Atom::Var) };
    if let Some((more, by)) = turn.moved(&mut s.arena, slot, phase) {
        if s.arena.range(more).0 < 0 {
            s.assume(s.entry.line, "sizes that set trip counts are not negative");
        }
        let from = s.arena.atom(Atom::Var(from));
        return Some((Some(s.arena.add(from, more)), by));
    }
    let turns = if ring.phase.is_some() { 2 } else { 1 };
    let all = ring.slots * turns;
    let mut by = None;
    for n in 0..all {
        let read = |a: Atom| match a {
            Atom::Var(u) if u == from => Some(n % ring.slots),
            Atom::Var(u) if other.phase == Some(u) => Some(n / ring.slots),
            _ => None,
        };
        let mut next = s.arena.value(slot, &read)?;
        if let Some(p) = phase {
            next += ring.slots * s.arena.value(p, &read)?;
        }
        let moved = (next - n).rem_euclid(all);
        if !(0..all).contains(&next) || by.is_some_and(|k| k != moved) {
            return None;
        }
        by = Some(moved);
    }
    let from = s.arena.atom(Atom::Var(from));
    Some((Some(from), by?))
}

/// A slot and a phase that are sequences of one number, such as the iterations of a loop that has ended.
fn of_sequence(s: &mut Shared<'_>, slot: Term, phase: Option<Term>, ring: Ring) -> Option<Moved> {
    let index = |s: &Shared<'_>, t: Term| {
        let (_, parts) = s.arena.parts(t);
        match *parts {
            [(x, _)] => match s.arena.node(x) {
                Node::Table(i, first, _) if first.is_empty() => Some(*i),
                _ => None,
            },
            _ => None,
        }
    };
    let x = index(s, slot)?;
    if phase.is_some_and(|p| s.arena.constant(p).is_none() && index(s, p) != Some(x)) {
        return None;
    }
    let all = ring.slots * if ring.phase.is_some() { 2 } else { 1 };
    let mut by = None;
    for n in 0..2 * all {
        let number = s.arena.int(n);
        let at = |s: &mut Shared<'_>, t: Term| {
            let t = s.arena.replace(t, &FxHashMap::from_iter([(x, number)]), &mut FxHashMap::default());
            s.arena.constant(t)
        };
        let mut value = at(s, slot)?;
        if let Some(p) = phase {
            value += ring.slots * at(s, p)?;
        }
        let moved = (value - n).rem_euclid(all);
        if !(0..all).contains(&value) || by.is_some_and(|k| k != moved) {
            return None;
        }
        by = Some(moved);
    }
    let cycles = [Some(slot), phase];
    let fits = |t: Term| {
        let (_, parts) = s.arena.parts(t);
        parts.iter().all(|(x, _)| match s.arena.node(*x) {
            Node::Table(_, _, cycle) => all % cycle.len() as i64 == 0,
            _ => true,
        })
    };
    cycles.into_iter().flatten().all(fits).then_some((Some(x), by?))
}

/// Slots that are set at a place to something else than a ring moved on.
fn wrong(s: &mut Shared<'_>, g: &Sets, rings: &Rings) -> Vec<u32> {
    let here: Vec<u32> = g.iter().map(|(v, _)| *v).filter(|v| rings.contains_key(v)).collect();
    here.into_iter().filter(|v| moved(s, g, *v, rings[v], rings).is_none()).collect()
}

fn rewritten(s: &mut Shared<'_>, list: Vec<Merged>, rings: &Rings, memo: &mut FxHashMap<Term, Term>) -> Vec<Merged> {
    let mut out: Vec<Merged> = Vec::with_capacity(list.len());
    let mut i = 0;
    while i < list.len() {
        let n = list[i].clone();
        let kind = match n.kind {
            MergedKind::Set(..) => {
                // All sets of one place together: a phase is set as part of its ring.
                let end = place_end(s, &list, i);
                let group = &list[i..end];
                let sets = sets_of(group);
                for n in group {
                    let MergedKind::Set(v, t) = n.kind else { continue };
                    if rings.values().any(|r| r.phase == Some(v)) {
                        continue;
                    }
                    let t = match rings.get(&v).and_then(|r| moved(s, &sets, v, *r, rings)) {
                        Some((None, first)) => s.arena.int(first),
                        Some((Some(t), by)) => s.arena.plus(t, by),
                        None => term(s, t, rings, memo),
                    };
                    out.push(Merged { kind: MergedKind::Set(v, t), ..n.clone() });
                }
                i = end;
                continue;
            }
            MergedKind::Op(ops) => MergedKind::Op(
                ops.into_iter().map(|(w, l, e)| (w, l, map_effect(e, &mut |t| term(s, t, rings, memo)))).collect(),
            ),
            MergedKind::If(c, a, b) => {
                let c = term(s, c, rings, memo);
                MergedKind::If(c, rewritten(s, a, rings, memo), rewritten(s, b, rings, memo))
            }
            MergedKind::For(h, count, body) => {
                let count = term(s, count, rings, memo);
                MergedKind::For(h, count, rewritten(s, body, rings, memo))
            }
            MergedKind::End => MergedKind::End,
        };
        out.push(Merged { kind, ..n });
        i += 1;
    }
    out
}

/// A term over slots and phases as one over counters.
fn term(s: &mut Shared<'_>, t: Term, rings: &Rings, memo: &mut FxHashMap<Term, Term>) -> Term {
    if let Some(known) = memo.get(&t) {
        return *known;
    }
    let mut vars = BTreeSet::new();
    let mut only = true;
    s.arena.each_atom(t, &mut |a| match a {
        Atom::Var(v) => vars.extend([v]),
        _ => only = false,
    });
    let slot = |v: &u32| rings.iter().find(|(u, r)| *u == v || r.phase == Some(*v)).map(|(u, _)| *u);
    let of: BTreeSet<Option<u32>> = vars.iter().map(slot).collect();
    let new = match (only, of.iter().copied().collect::<Vec<_>>().as_slice()) {
        (_, []) | (_, [None]) => t,
        (true, [Some(v)]) => match of_one(s, t, *v, rings[v]) {
            Some(new) => new,
            None => parts(s, t, rings, memo),
        },
        _ => parts(s, t, rings, memo),
    };
    memo.insert(t, new);
    new
}

/// A term with its operands over counters.
fn parts(s: &mut Shared<'_>, t: Term, rings: &Rings, memo: &mut FxHashMap<Term, Term>) -> Term {
    match s.arena.node(t).clone() {
        Node::Const(_) => t,
        Node::Atom(Atom::Var(v)) => {
            let counter = rings.iter().find(|(u, r)| **u == v || r.phase == Some(v)).map(|(u, r)| (*u, *r));
            let Some((u, ring)) = counter else { return t };
            let n = s.arena.atom(Atom::Var(u));
            if u == v { slot_of(s, n, ring) } else { phase_of(s, n, ring) }
        }
        Node::Atom(_) => t,
        Node::Sum(k, list) => {
            let mut all = s.arena.int(k);
            for (x, c) in list.iter() {
                let x = term(s, *x, rings, memo);
                let x = s.arena.scale(x, *c);
                all = s.arena.add(all, x);
            }
            all
        }
        Node::Op(op, args) => {
            let args: Vec<Term> = args.iter().map(|x| term(s, *x, rings, memo)).collect();
            match args[..] {
                [x, by] if op == Op::Rem => remainder(s, x, by),
                _ => s.arena.op(op, &args),
            }
        }
        Node::Table(i, first, cycle) => {
            let i = term(s, i, rings, memo);
            s.arena.table(i, first.to_vec(), cycle.to_vec())
        }
    }
}

/// A remainder of a sum without remainders by the same number in it: the slot of a counter that a sum moves on.
fn remainder(s: &mut Shared<'_>, x: Term, by: Term) -> Term {
    let (k, parts) = s.arena.parts(x);
    let whole = parts.iter().enumerate().find_map(|(n, (t, _))| match s.arena.node(*t) {
        Node::Op(Op::Rem, args) if args[1] == by => Some((n, args[0])),
        _ => None,
    });
    let Some((n, whole)) = whole.filter(|_| parts.len() > 1) else { return s.arena.op(Op::Rem, &[x, by]) };
    let mut all = s.arena.int(k);
    for (i, (t, c)) in parts.iter().enumerate() {
        let t = s.arena.scale(if i == n { whole } else { *t }, *c);
        all = s.arena.add(all, t);
    }
    raw(s, Op::Rem, all, by)
}

/// The raw node is built while the variable still has the bounds of a slot, so nothing simplifies it.
fn slot_of(s: &mut Shared<'_>, n: Term, ring: Ring) -> Term {
    let by = s.arena.int(ring.slots);
    raw(s, Op::Rem, n, by)
}

fn phase_of(s: &mut Shared<'_>, n: Term, ring: Ring) -> Term {
    let (by, two) = (s.arena.int(ring.slots), s.arena.int(2));
    let turn = raw(s, Op::Div, n, by);
    raw(s, Op::Rem, turn, two)
}

fn raw(s: &mut Shared<'_>, op: Op, x: Term, y: Term) -> Term {
    s.arena.intern(Node::Op(op, std::rc::Rc::new([x, y])))
}

/// A term over one ring as a multiple of a slot or a phase of the counter moved on.
fn of_one(s: &mut Shared<'_>, t: Term, v: u32, ring: Ring) -> Option<Term> {
    let all = ring.slots * 2;
    let mut values = Vec::new();
    for n in 0..all {
        let read = |a: Atom| match a {
            Atom::Var(u) if u == v => Some(n % ring.slots),
            Atom::Var(u) if ring.phase == Some(u) => Some(n / ring.slots),
            _ => None,
        };
        values.push(s.arena.value(t, &read)?);
    }
    let (least, most) = (*values.iter().min()?, *values.iter().max()?);
    if least == most {
        return Some(s.arena.int(least));
    }
    let n = s.arena.atom(Atom::Var(v));
    for k in 0..all {
        let shifted = |i: usize| (i as i64 + k) % all;
        let is =
            |f: &dyn Fn(i64) -> i64, by: i64| values.iter().enumerate().all(|(i, x)| *x == least + by * f(shifted(i)));
        let by = (most - least) / (ring.slots - 1);
        if k < ring.slots && by * (ring.slots - 1) == most - least && is(&|i| i % ring.slots, by) {
            let n = s.arena.plus(n, k);
            let t = slot_of(s, n, ring);
            let t = s.arena.scale(t, by);
            return Some(s.arena.plus(t, least));
        }
        if ring.phase.is_some() && is(&|i| i / ring.slots, most - least) {
            let n = s.arena.plus(n, k);
            let t = phase_of(s, n, ring);
            let t = s.arena.scale(t, most - least);
            return Some(s.arena.plus(t, least));
        }
    }
    None
}
