//! Loops that a compiler unrolled, as loops of single steps.
//!
//! A compiler turns `for k in 0..n { step }` into a loop over `n / 4` times four steps and the `n % 4` steps that are left,
//! before or behind it, as branches or as a loop. Roles are unrolled differently, so no two of them count alike, and a ring
//! of 7 slots recurs after 28 steps only.
//!
//! *Hypothesis:* the body of the unrolled loop is one step repeated, each with the variables that the step before left.
//! For each small `n`, all nodes together are `n` such steps, and set other variables to what these steps leave. *Claim:*
//! this holds for each `n`. *Proof:* conditions and counts are comparisons, quotients and remainders of `n` by small
//! numbers. From some `n` on they repeat with the loop's own period, and the loop runs once more for each period.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::symbolic::{Atom, Node, Op, Term};

use super::effects_of::map_effect;
use super::merge::{Merged, MergedKind, Set};
use super::shared::Shared;
use super::tree::{Effect, Run};

/// The largest number of steps in one iteration.
const MOST_STEPS: usize = 16;
/// The largest number of steps that is tried.
const MOST_TRIED: i64 = 160;
/// The largest number of neighboring nodes that are one loop.
const MOST_NODES: usize = 6;
/// The largest number of values of variables for which two terms are compared.
const POINTS: i64 = 4096;

/// Values of variables and counters.
type Values = FxHashMap<Term, Term>;

/// One operation of the expanded nodes: the node, and the terms of all its warps.
struct Item<'t> {
    node: &'t Merged,
    terms: Vec<Term>,
}

/// One step of an unrolled loop.
struct Step {
    /// The loop's header block.
    header: u32,
    /// The operations, with terms over the variables and the number of the step.
    ops: Vec<Merged>,
    /// Terms of each operation.
    terms: Vec<Vec<Term>>,
    /// Each variable's next value.
    next: Vec<(u32, Term)>,
}

/// The expansion of nodes for one number of steps.
#[derive(Default)]
struct Expansion<'t> {
    items: Vec<Item<'t>>,
    values: Values,
    /// Operations before the unrolled loop was reached, and the values of variables there.
    reached: Option<(usize, Values)>,
}

/// The tree with unrolled loops as loops of single steps.
pub(super) fn rerolled(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    let tree = with_whole_products(tree);
    let all = reads(s, &tree);
    in_list(s, tree, &all)
}

/// The tree with products that follow each other, of one accumulator, as one product of all their operands.
fn with_whole_products(list: Vec<Merged>) -> Vec<Merged> {
    let mut out: Vec<Merged> = Vec::with_capacity(list.len());
    // Products before which only products come, back to this place.
    let mut from = 0;
    for n in list {
        let kind = match n.kind {
            MergedKind::Op(ops) if ops.iter().all(|(.., e)| is_product(e)) => {
                let whole = out[from..].iter_mut().find_map(|old| {
                    let MergedKind::Op(old) = &mut old.kind else { return None };
                    *old = joined(old, &ops)?;
                    Some(())
                });
                if whole.is_none() {
                    out.push(Merged { kind: MergedKind::Op(ops), ..n });
                }
                continue;
            }
            MergedKind::If(c, a, b) => MergedKind::If(c, with_whole_products(a), with_whole_products(b)),
            MergedKind::For(h, count, body) => MergedKind::For(h, count, with_whole_products(body)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
        from = out.len();
    }
    out
}

fn is_product(e: &Effect) -> bool {
    matches!(e, Effect::Wgmma { .. } | Effect::TensorProduct { .. })
}

/// The operations of one warp or several: warp, lanes, effect.
type Ops = Vec<(u32, u32, Effect)>;

/// Two products of the same warps into one accumulator, as one.
fn joined(a: &Ops, b: &Ops) -> Option<Ops> {
    let more = |x: &[Run], y: &[Run]| {
        let mut all = [x, y].concat();
        all.sort_unstable();
        all.dedup();
        all
    };
    let one = |(x, y): (&(u32, u32, Effect), &(u32, u32, Effect))| {
        if (x.0, x.1) != (y.0, y.1) {
            return None;
        }
        let e = match (&x.2, &y.2) {
            (Effect::Wgmma { a, b, acc, n, k }, Effect::Wgmma { a: c, b: d, acc: acc2, n: n2, k: k2 })
                if (acc, n, k) == (acc2, n2, k2) =>
            {
                let a = match (a, c) {
                    (Some(a), Some(c)) => Some(more(a, c)),
                    (None, None) => None,
                    _ => return None,
                };
                Effect::Wgmma { a, b: more(b, d), acc: *acc, n: *n, k: *k }
            }
            (
                Effect::TensorProduct { a, at, b, d, pair },
                Effect::TensorProduct { a: a2, at: at2, b: b2, d: d2, pair: pair2 },
            ) if (d, pair) == (d2, pair2) => {
                Effect::TensorProduct { a: more(a, a2), at: more(at, at2), b: more(b, b2), d: d.clone(), pair: *pair }
            }
            _ => return None,
        };
        Some((x.0, x.1, e))
    };
    if a.len() != b.len() {
        return None;
    }
    a.iter().zip(b).map(one).collect()
}

/// How often each variable is read.
fn reads(s: &Shared<'_>, list: &[Merged]) -> FxHashMap<u32, usize> {
    let mut count = FxHashMap::default();
    each_term(list, &mut |t| {
        s.arena.each_atom(t, &mut |a| {
            if let Atom::Var(v) = a {
                *count.entry(v).or_insert(0) += 1;
            }
        });
    });
    count
}

fn each_term(list: &[Merged], f: &mut dyn FnMut(Term)) {
    for n in list {
        match &n.kind {
            MergedKind::Op(ops) => ops.iter().for_each(|(_, _, e)| terms_of(e).into_iter().for_each(&mut *f)),
            MergedKind::If(c, a, b) => {
                f(*c);
                each_term(a, f);
                each_term(b, f);
            }
            MergedKind::For(_, count, body) => {
                f(*count);
                each_term(body, f);
            }
            MergedKind::Set(_, t) => f(*t),
            MergedKind::End => {}
        }
    }
}

fn terms_of(e: &Effect) -> Vec<Term> {
    let mut list = Vec::new();
    map_effect(e.clone(), &mut |t| {
        list.push(t);
        t
    });
    list
}

/// An operation without its terms. Registers of accumulators are not followed.
fn shape(n: &Merged) -> Vec<(u32, u32, Effect)> {
    let MergedKind::Op(ops) = &n.kind else { return Vec::new() };
    let plain = |e: &Effect| {
        let mut e = map_effect(e.clone(), &mut |_| 0);
        if let Effect::Wgmma { acc, .. } = &mut e {
            *acc = 0;
        }
        e
    };
    ops.iter().map(|(w, l, e)| (*w, *l, plain(e))).collect()
}

fn in_list(s: &mut Shared<'_>, list: Vec<Merged>, all: &FxHashMap<u32, usize>) -> Vec<Merged> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < list.len() {
        let most = MOST_NODES.min(list.len() - i);
        let found = (1..=most).rev().find_map(|n| Some((n, one_loop(s, &list[i..i + n], all)?)));
        if let Some((n, new)) = found {
            out.extend(new);
            i += n;
            continue;
        }
        let n = list[i].clone();
        let kind = match n.kind {
            MergedKind::If(c, a, b) => MergedKind::If(c, in_list(s, a, all), in_list(s, b, all)),
            MergedKind::For(h, count, body) => MergedKind::For(h, count, in_list(s, body, all)),
            kind => kind,
        };
        out.push(Merged { kind, ..n });
        i += 1;
    }
    out
}

/// The loops of nodes, outermost first, with their bodies.
fn loops<'t>(list: &'t [Merged], out: &mut Vec<(u32, Term, &'t [Merged])>) {
    for n in list {
        match &n.kind {
            MergedKind::For(h, count, body) => {
                out.push((*h, *count, body));
                loops(body, out);
            }
            MergedKind::If(_, a, b) => {
                loops(a, out);
                loops(b, out);
            }
            _ => {}
        }
    }
}

/// Conditions and counts of nodes.
fn conditions(list: &[Merged], out: &mut Vec<Term>) {
    for n in list {
        match &n.kind {
            MergedKind::For(_, count, body) => {
                out.push(*count);
                conditions(body, out);
            }
            MergedKind::If(c, a, b) => {
                out.push(*c);
                conditions(a, out);
                conditions(b, out);
            }
            _ => {}
        }
    }
}

/// Neighboring nodes as one loop of single steps.
fn one_loop(s: &mut Shared<'_>, list: &[Merged], all: &FxHashMap<u32, usize>) -> Option<Vec<Merged>> {
    // Nodes that begin or end with something else are not part of the loop.
    let inner = |n: Option<&Merged>| matches!(n?.kind, MergedKind::For(..) | MergedKind::If(..)).then_some(());
    inner(list.first())?;
    inner(list.last())?;
    let mut found = Vec::new();
    loops(list, &mut found);
    let plain = |body: &[Merged]| body.iter().all(|n| matches!(n.kind, MergedKind::Op(_) | MergedKind::Set(..)));
    if found.is_empty() || found.iter().any(|(.., body)| !plain(body)) {
        return None;
    }
    let warps = list[0].warps;
    if !together(list, warps) {
        return None;
    }
    let mut conds = Vec::new();
    conditions(list, &mut conds);
    let (count, largest) = counted(s, &conds)?;
    let step = found.iter().find_map(|(h, _, body)| unrolled(s, *h, body))?;
    let mut set = BTreeSet::new();
    super::data::each_set(list, &mut |v, _| set.extend([v]));
    let counters: BTreeSet<u32> = found.iter().map(|(h, ..)| *h).collect();
    if reads_any(s, count, &set) || s.arena.mentions(count, |a| matches!(a, Atom::Counter(h) if counters.contains(&h)))
    {
        return None;
    }
    let tried = 4 * largest + 2 * MOST_STEPS as i64;
    if tried > MOST_TRIED {
        return None;
    }
    let mut runs = Vec::new();
    for n in 0..=tried {
        let mut run = Expansion::default();
        expand(s, list, &step, (count, n), &mut run)?;
        runs.push(run);
    }
    let (_, start) = runs.iter().find_map(|r| r.reached.as_ref().filter(|(before, _)| *before == 0))?;
    let start: Vec<(u32, Term)> = step
        .next
        .iter()
        .map(|(v, _)| {
            let atom = s.arena.atom(Atom::Var(*v));
            (*v, start.get(&atom).copied().unwrap_or(atom))
        })
        .collect();
    let own: BTreeSet<u32> = step.next.iter().map(|(v, _)| *v).collect();
    let itself = |s: &Shared<'_>, v: u32, t: Term| *s.arena.node(t) == Node::Atom(Atom::Var(v));
    if start.iter().any(|(v, t)| reads_any(s, *t, &own) && !itself(s, *v, *t)) {
        return None;
    }
    // Steps that are missing at the end, such as the first one, which stands before the loop.
    let each = step.ops.len();
    let less = tried - (runs.last()?.items.len() / each) as i64;
    let states = states(s, &step, &start, tried - less);
    let steps = |n: usize| (n as i64 - less).max(0) as usize;
    for (n, run) in runs.iter().enumerate() {
        if run.items.len() != steps(n) * each {
            return None;
        }
        for (k, item) in run.items.iter().enumerate() {
            same_step(s, &step, item, k % each, &states[k / each])?;
        }
    }
    // Without steps where the number is negative, or no such numbers.
    for n in 1..=MOST_STEPS as i64 {
        let mut run = Expansion::default();
        if expand(s, list, &step, (count, -n), &mut run).is_none() || !run.items.is_empty() {
            let line = s.entry.code[list[0].at.min(s.entry.code.len() - 1)].line;
            s.assume(line, "sizes that set trip counts are not negative");
            break;
        }
    }
    // Variables that other nodes read.
    let mine = reads(s, list);
    let outside = |v: &u32| all.get(v).copied().unwrap_or(0) > mine.get(v).copied().unwrap_or(0);
    let after: BTreeSet<u32> = set.iter().copied().filter(outside).collect();
    let mut last = Vec::new();
    for w in &after {
        let atom = s.arena.atom(Atom::Var(*w));
        let values: Vec<Term> = runs.iter().map(|r| r.values.get(&atom).copied().unwrap_or(atom)).collect();
        let of = |s: &mut Shared<'_>, v: Term| {
            (0..runs.len()).all(|n| same(s, values[n], states[steps(n)].get(&v).copied().unwrap_or(v)))
        };
        let vars: Vec<Term> = own.iter().map(|v| s.arena.atom(Atom::Var(*v))).collect();
        match vars.into_iter().find(|v| of(s, *v)) {
            Some(v) if v == atom => {}
            Some(v) if !own.contains(w) => last.push((*w, v)),
            None if values.iter().all(|t| *t == values[0]) && !reads_any(s, values[0], &set) => {
                last.push((*w, values[0]))
            }
            _ => return None,
        }
    }
    let at = list[0].at;
    let head = step.ops.first()?.at;
    let node = |part: u8, v: u32, t: Term| Merged { at, part, warps, kind: MergedKind::Set(v, t) };
    let mut out = Vec::new();
    for (n, (v, t)) in start.iter().enumerate() {
        if *t != s.arena.atom(Atom::Var(*v)) {
            out.push(node(212 + n as u8 % 8, *v, *t));
        }
    }
    let mut body = step.ops;
    for (v, t) in ordered(s, step.next)? {
        body.push(Merged { at: head, part: 220, warps, kind: MergedKind::Set(v, t) });
    }
    let count = s.arena.plus(count, -less);
    s.arena.bound_counter(step.header, None);
    out.push(Merged { at: head, part: 221, warps, kind: MergedKind::For(step.header, count, body) });
    out.extend(last.into_iter().map(|(w, t)| node(222, w, t)));
    Some(out)
}

/// Whether a term reads one of these variables.
fn reads_any(s: &Shared<'_>, t: Term, vars: &BTreeSet<u32>) -> bool {
    s.arena.mentions(t, |a| matches!(a, Atom::Var(v) if vars.contains(&v)))
}

/// Whether all of these warps take each branch and set each variable.
fn together(list: &[Merged], warps: Set) -> bool {
    list.iter().all(|n| match &n.kind {
        MergedKind::Op(_) => n.warps & !warps == 0,
        MergedKind::If(_, a, b) => n.warps == warps && together(a, warps) && together(b, warps),
        MergedKind::For(_, _, body) => n.warps == warps && together(body, warps),
        MergedKind::Set(..) | MergedKind::End => n.warps == warps,
    })
}

/// Updates in an order in which none reads what another has set.
fn ordered(s: &Shared<'_>, mut next: Vec<(u32, Term)>) -> Option<Vec<(u32, Term)>> {
    let mut out = Vec::new();
    while !next.is_empty() {
        let reads = |t: Term, v: u32| s.arena.mentions(t, |a| a == Atom::Var(v));
        let free = (0..next.len()).find(|i| (0..next.len()).all(|j| j == *i || !reads(next[j].1, next[*i].0)))?;
        out.push(next.remove(free));
    }
    Some(out)
}

/// The term that all conditions are functions of, and the largest number in these functions.
fn counted(s: &mut Shared<'_>, conds: &[Term]) -> Option<(Term, i64)> {
    let mut list = Vec::new();
    conds.iter().for_each(|t| candidates(s, *t, &mut list));
    list.sort_unstable_by_key(|t| (s.arena.size(*t), *t));
    list.dedup();
    let any = s.arena.opaque("a number of steps");
    list.into_iter().find_map(|x| {
        let mut largest = 1;
        for t in conds {
            let t = with(s, *t, x, any);
            if !simple(s, t, any, &mut largest) {
                return None;
            }
        }
        Some((x, largest))
    })
}

fn candidates(s: &mut Shared<'_>, t: Term, out: &mut Vec<Term>) {
    match s.arena.node(t).clone() {
        Node::Const(_) => {}
        Node::Atom(_) | Node::Table(..) => out.push(t),
        Node::Sum(_, parts) => {
            let plain = s.arena.sum(0, parts.to_vec());
            out.push(plain);
            let minus = s.arena.scale(plain, -1);
            out.push(minus);
            parts.iter().for_each(|(x, _)| candidates(s, *x, out));
        }
        Node::Op(_, args) => {
            out.push(t);
            args.iter().for_each(|x| candidates(s, *x, out));
        }
    }
}

/// A term with another one in place of a term.
fn with(s: &mut Shared<'_>, t: Term, x: Term, new: Term) -> Term {
    let (k, parts) = s.arena.parts(x);
    if k == 0 && parts.len() > 1 {
        super::symbols::with_atoms(&mut s.arena, t, &[(parts, new)], &mut FxHashMap::default())
    } else {
        s.arena.replace(t, &FxHashMap::from_iter([(x, new)]), &mut FxHashMap::default())
    }
}

/// Whether a term is built from `any` by sums, comparisons, and quotients by numbers.
fn simple(s: &Shared<'_>, t: Term, any: Term, largest: &mut i64) -> bool {
    if t == any {
        return true;
    }
    match s.arena.node(t) {
        Node::Const(v) => {
            *largest = (*largest).max(v.abs());
            true
        }
        Node::Sum(k, parts) => {
            *largest = (*largest).max(k.abs());
            parts.iter().all(|(x, c)| c.abs() <= MOST_STEPS as i64 && simple(s, *x, any, largest))
        }
        Node::Op(Op::Div | Op::DivZero | Op::Rem, args) if s.arena.constant(args[1]).is_none_or(|c| c <= 0) => false,
        Node::Op(
            Op::Div
            | Op::DivZero
            | Op::Rem
            | Op::Min
            | Op::Max
            | Op::If
            | Op::Ge
            | Op::Eq
            | Op::Not
            | Op::Both
            | Op::Either,
            args,
        ) => args.iter().all(|x| simple(s, *x, any, largest)),
        _ => false,
    }
}

/// The values that operations and variables have for one number of steps.
fn expand<'t>(
    s: &mut Shared<'_>,
    list: &'t [Merged],
    step: &Step,
    (count, n): (Term, i64),
    run: &mut Expansion<'t>,
) -> Option<()> {
    let number = s.arena.int(n);
    for node in list {
        match &node.kind {
            MergedKind::Op(ops) => {
                let mut memo = FxHashMap::default();
                let all = ops.iter().flat_map(|(_, _, e)| terms_of(e));
                let terms = all.map(|t| s.arena.replace(t, &run.values, &mut memo)).collect();
                run.items.push(Item { node, terms });
                if run.items.len() > (MOST_TRIED as usize) * 64 {
                    return None;
                }
            }
            MergedKind::Set(v, t) => {
                let t = s.arena.replace(*t, &run.values, &mut FxHashMap::default());
                let atom = s.arena.atom(Atom::Var(*v));
                run.values.insert(atom, t);
            }
            MergedKind::If(c, a, b) => {
                let c = with(s, *c, count, number);
                let side = if s.arena.constant(c)? != 0 { a } else { b };
                expand(s, side, step, (count, n), run)?;
            }
            MergedKind::For(h, times, body) => {
                if *h == step.header {
                    run.reached = Some((run.items.len(), run.values.clone()));
                }
                let times = with(s, *times, count, number);
                let counter = s.arena.atom(Atom::Counter(*h));
                for i in 0..s.arena.constant(times)? {
                    let i = s.arena.int(i);
                    run.values.insert(counter, i);
                    expand(s, body, step, (count, n), run)?;
                }
                run.values.remove(&counter);
            }
            MergedKind::End => return None,
        }
    }
    Some(())
}

/// The body of a loop as one step, repeated.
fn unrolled(s: &mut Shared<'_>, header: u32, body: &[Merged]) -> Option<Step> {
    let none = Step { header: u32::MAX, ops: Vec::new(), terms: Vec::new(), next: Vec::new() };
    let mut run = Expansion::default();
    let zero = s.arena.int(0);
    expand(s, body, &none, (zero, 0), &mut run)?;
    let shapes: Vec<_> = run.items.iter().map(|i| shape(i.node)).collect();
    let fits = |u: &usize| {
        let each = shapes.len() / u;
        each > 0 && shapes.len() % u == 0 && (0..shapes.len()).all(|k| shapes[k] == shapes[k % each])
    };
    let all: Vec<usize> = (2..=MOST_STEPS).rev().filter(fits).collect();
    all.into_iter().find_map(|u| single(s, header, &run, u))
}

/// One of `u` equal steps of an iteration.
fn single(s: &mut Shared<'_>, header: u32, run: &Expansion<'_>, u: usize) -> Option<Step> {
    let each = run.items.len() / u;
    let counter = s.arena.atom(Atom::Counter(header));
    let numbered = |s: &Shared<'_>, t: Term| s.arena.mentions(t, |a| a == Atom::Counter(header));
    // Next values of the variables that the step reads.
    let mut vars = BTreeSet::new();
    for t in run.items[..each].iter().flat_map(|i| &i.terms) {
        s.arena.each_atom(*t, &mut |a| {
            if let Atom::Var(v) = a {
                vars.extend([v])
            }
        });
    }
    let mut next = Vec::new();
    for v in vars {
        let atom = s.arena.atom(Atom::Var(v));
        if !run.values.contains_key(&atom) {
            continue;
        }
        let plain = run.items[..each].iter().enumerate().find_map(|(k, item)| {
            item.terms.iter().enumerate().find_map(|(n, t)| {
                let (offset, parts) = s.arena.parts(*t);
                match *parts {
                    [(x, by)] if x == atom => Some((k, n, offset, by)),
                    _ => None,
                }
            })
        });
        let (k, n, offset, by) = plain?;
        let (first, parts) = s.arena.parts(run.items[k + each].terms[n]);
        let first = first - offset;
        if first % by != 0 || parts.iter().any(|(_, c)| c % by != 0) {
            return None;
        }
        let t = s.arena.sum(first / by, parts.iter().map(|(t, c)| (*t, c / by)).collect());
        next.push((v, t));
    }
    let values: Values = next.iter().map(|(v, t)| (s.arena.atom(Atom::Var(*v)), *t)).collect();
    let others = |s: &Shared<'_>, t: Term| {
        s.arena.mentions(t, |a| match a {
            Atom::Var(v) => {
                let set = run.values.keys().any(|x| *s.arena.node(*x) == Node::Atom(a));
                set && next.iter().all(|(u, _)| *u != v)
            }
            Atom::Counter(h) => h == header,
            _ => false,
        })
    };
    if next.iter().any(|(_, t)| others(s, *t)) {
        return None;
    }
    // Each step is the one before with next values; terms over the number of the iteration become terms over that of the step.
    let mut terms: Vec<Vec<Term>> = Vec::new();
    for k in 0..each {
        let mut list = Vec::new();
        for n in 0..run.items[k].terms.len() {
            let all: Vec<Term> = (0..u).map(|j| run.items[k + j * each].terms[n]).collect();
            if all.iter().any(|t| numbered(s, *t)) {
                list.push(of_steps(s, counter, &all)?);
                continue;
            }
            for j in 1..u {
                let expected = s.arena.replace(all[j - 1], &values, &mut FxHashMap::default());
                if !same(s, all[j], expected) {
                    return None;
                }
            }
            list.push(all[0]);
        }
        terms.push(list);
    }
    // After the iteration each variable has the value that all steps give it.
    for (v, _) in &next {
        let atom = s.arena.atom(Atom::Var(*v));
        let mut t = atom;
        for _ in 0..u {
            t = s.arena.replace(t, &values, &mut FxHashMap::default());
        }
        if !same(s, t, run.values[&atom]) {
            return None;
        }
    }
    let ops = run.items[..each].iter().zip(&terms).map(|(item, terms)| rebuilt(item.node, terms)).collect();
    Some(Step { header, ops, terms, next })
}

/// A node with other terms, in the order of [`terms_of`].
fn rebuilt(n: &Merged, terms: &[Term]) -> Merged {
    let MergedKind::Op(ops) = &n.kind else { return n.clone() };
    let mut terms = terms.iter().copied();
    let of =
        |e: &Effect, terms: &mut dyn Iterator<Item = Term>| map_effect(e.clone(), &mut |t| terms.next().unwrap_or(t));
    let ops = ops.iter().map(|(w, l, e)| (*w, *l, of(e, &mut terms))).collect();
    Merged { kind: MergedKind::Op(ops), ..n.clone() }
}

/// Terms of the steps of an iteration, over the number of the iteration, as one term over the number of the step.
fn of_steps(s: &mut Shared<'_>, i: Term, all: &[Term]) -> Option<Term> {
    let u = all.len() as i64;
    let Node::Atom(counter) = *s.arena.node(i) else { return None };
    let (first, parts) = s.arena.parts(all[0]);
    if let [(t, by)] = *parts
        && t == i
        && by % u == 0
    {
        let part = by / u;
        let even = all.iter().enumerate().all(|(j, t)| {
            let (k, parts) = s.arena.parts(*t);
            *parts == [(i, by)] && k == first + part * j as i64
        });
        return even.then(|| s.arena.sum(first, vec![(i, part)]));
    }
    let (mut prefix, mut period) = (0usize, 1usize);
    for t in all {
        let alone = !s.arena.mentions(*t, |a| a != counter);
        if !alone || !s.arena.in_tables(*t, i, &mut prefix, &mut period) {
            return None;
        }
    }
    let mut values = Vec::new();
    for n in 0..(prefix + period) as i64 {
        for t in all {
            values.push(s.arena.value(*t, &|_| Some(n))?);
        }
    }
    let cycle = values.split_off(prefix * all.len());
    Some(s.arena.table(i, values, cycle))
}

/// Values of variables and of the step's number before each step.
fn states(s: &mut Shared<'_>, step: &Step, start: &[(u32, Term)], steps: i64) -> Vec<Values> {
    let mut now: Values = start.iter().map(|(v, t)| (s.arena.atom(Atom::Var(*v)), *t)).collect();
    let mut out = Vec::new();
    let counter = s.arena.atom(Atom::Counter(step.header));
    for k in 0..=steps {
        let number = s.arena.int(k);
        now.insert(counter, number);
        out.push(now.clone());
        let mut memo = FxHashMap::default();
        let next = |s: &mut Shared<'_>, (v, t): &(u32, Term), memo: &mut Values| {
            (s.arena.atom(Atom::Var(*v)), s.arena.replace(*t, &now, memo))
        };
        now = step.next.iter().map(|n| next(s, n, &mut memo)).collect();
    }
    out
}

/// Checks that an operation is that of a step with these values.
fn same_step(s: &mut Shared<'_>, step: &Step, item: &Item<'_>, k: usize, values: &Values) -> Option<()> {
    if shape(item.node) != shape(&step.ops[k]) || item.node.warps != step.ops[k].warps {
        return None;
    }
    let mut memo = FxHashMap::default();
    for (t, expected) in item.terms.iter().zip(&step.terms[k]) {
        let expected = s.arena.replace(*expected, values, &mut memo);
        if !same(s, *t, expected) {
            return None;
        }
    }
    Some(())
}

/// Whether two terms are equal for all values of variables.
fn same(s: &mut Shared<'_>, a: Term, b: Term) -> bool {
    if a == b {
        return true;
    }
    let mut vars = BTreeSet::new();
    let mut only = true;
    for t in [a, b] {
        s.arena.each_atom(t, &mut |x| match x {
            Atom::Var(v) => drop(vars.insert(v)),
            _ => only = false,
        });
    }
    let bounds: Option<Vec<(u32, i64, i64)>> =
        vars.iter().map(|v| s.arena.var_bounds(*v).map(|(low, high)| (*v, low, high))).collect();
    let Some(bounds) = bounds.filter(|_| only) else { return false };
    let size = bounds.iter().try_fold(1i64, |n, (_, low, high)| n.checked_mul(high.checked_sub(*low)? + 1));
    let Some(size) = size.filter(|n| *n <= POINTS) else { return false };
    (0..size).all(|mut p| {
        let point: FxHashMap<u32, i64> = bounds
            .iter()
            .map(|(v, low, high)| {
                let n = high - low + 1;
                let at = low + p % n;
                p /= n;
                (*v, at)
            })
            .collect();
        let read = |x: Atom| if let Atom::Var(v) = x { point.get(&v).copied() } else { None };
        let (x, y) = (s.arena.value(a, &read), s.arena.value(b, &read));
        x.is_some() && x == y
    })
}
