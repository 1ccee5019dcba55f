//! Flattened loops: one loop over all steps of all tiles, with a register that counts the steps of a tile and starts
//! again after the last one. Triton makes such loops of `tl.range(..., flatten=True)`.
//!
//! ```text
//!   for i in 0..tiles * steps - e:        for t in 0..tiles:
//!     ...  v == steps - 1  ...              for k in 0..steps:
//!     v = v == steps - 1 ? 0 : v + 1          if t * steps + k < tiles * steps - e:
//!                                               ...  (k + c + 1) % steps == 0  ...
//! ```
//!
//! With `i = t * steps + k`, both make the same iterations. A wrapping register that begins with `c % steps` is
//! `(k + c) % steps`. Each comparison of it, and of `i` with the number of all steps, is one over `t` and `k`. Sequences
//! of `i`, such as a ring's slot, become variables that run with the iterations.

mod terms;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use terms::{MOST, Product, Rewritten, Rules, rewritten, within};

use crate::lift::merge::{Merged, MergedKind, Set, each_term, effects_of};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Atom, Facts, Node, Op, Term};

/// The largest number of values of a sequence.
const LONGEST: usize = 64;
/// Part of a node that is added here.
const ADDED: u8 = 210;

/// A flattened loop.
#[derive(Clone, Debug)]
struct Flat {
    product: Product,
    /// Iterations that are missing at the end.
    less: i64,
    /// Offsets of the registers that wrap.
    offsets: BTreeMap<u32, i64>,
}

/// Turns flattened loops of a tree into two loops.
pub(crate) fn unflattened(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    let mut facts = Facts::default();
    for o in s.cases.outcomes.clone() {
        if let Some(c) = s.cases.conditions.get(&o.at) {
            s.arena.learn(*c, o.taken, &mut facts);
        }
    }
    let mut products = Vec::new();
    find(s, &tree, &facts, &mut products);
    if products.is_empty() {
        return tree;
    }
    list(s, tree, &facts, &Rules { products, ..Rules::default() })
}

fn is_positive(s: &mut Shared<'_>, t: Term, facts: &Facts) -> bool {
    let less = s.arena.plus(t, -1);
    let at_least = s.arena.ge(less);
    s.arena.decide(at_least, facts) == Some(true)
}

fn sides(s: &mut Shared<'_>, c: Term, facts: &Facts) -> (Facts, Facts) {
    let (mut yes, mut no) = (facts.clone(), facts.clone());
    s.arena.learn(c, true, &mut yes);
    s.arena.learn(c, false, &mut no);
    (yes, no)
}

/// The products of flattened loops.
fn find(s: &mut Shared<'_>, list: &[Merged], facts: &Facts, products: &mut Vec<Product>) {
    for (n, node) in list.iter().enumerate() {
        match &node.kind {
            MergedKind::If(c, a, b) => {
                let (yes, no) = sides(s, *c, facts);
                find(s, a, &yes, products);
                find(s, b, &no, products);
            }
            MergedKind::For(_, count, body) => {
                match flat(s, (&list[..n], node.warps), *count, body, facts, &[]) {
                    Some(f) if !products.contains(&f.product) => products.push(f.product),
                    _ => {}
                }
                find(s, body, facts, products);
            }
            _ => {}
        }
    }
}

/// The values of variables at the end of an iteration, as terms over their values at its start. A variable that is set
/// under a condition has none.
fn ends(s: &mut Shared<'_>, body: &[Merged], warps: Set) -> BTreeMap<u32, Term> {
    let mut now: BTreeMap<u32, Term> = BTreeMap::new();
    let (mut with, mut lost) = (FxHashMap::default(), Vec::new());
    for n in body {
        match &n.kind {
            MergedKind::Set(v, t) => {
                let t = s.arena.replace(*t, &with, &mut FxHashMap::default());
                with.insert(s.arena.atom(Atom::Var(*v)), t);
                // Some warps set no value, or another.
                if n.warps != warps || now.contains_key(v) {
                    lost.push(*v);
                }
                now.insert(*v, t);
            }
            MergedKind::If(..) | MergedKind::For(..) => {
                super::data::each_set(std::slice::from_ref(n), &mut |v, _| lost.push(v))
            }
            _ => {}
        }
    }
    now.retain(|v, _| !lost.contains(v));
    now
}

/// The loop as a flattened one; `before` are the nodes before it. A loop over all steps of known tiles needs no register
/// that wraps.
fn flat(
    s: &mut Shared<'_>,
    (before, warps): (&[Merged], Set),
    count: Term,
    body: &[Merged],
    facts: &Facts,
    known: &[Product],
) -> Option<Flat> {
    let (k, parts) = s.arena.parts(count);
    let [(all, 1)] = *parts else { return None };
    let Node::Op(Op::Mul, args) = s.arena.node(all).clone() else { return None };
    if !(-MOST..=0).contains(&k) {
        return None;
    }
    let next = ends(s, body, warps);
    // v == steps - 1 ? 0 : v + 1
    let wraps = |s: &mut Shared<'_>, v: u32, t: Term, steps: Term| {
        let x = s.arena.atom(Atom::Var(v));
        let last = s.arena.plus(steps, -1);
        let d = s.arena.sub(last, x);
        let (is_last, more, zero) = (s.arena.eq(d), s.arena.plus(x, 1), s.arena.int(0));
        s.arena.cond(is_last, zero, more) == t
    };
    let known = known.iter().find(|p| p.all == all).map(|p| (p.steps, p.tiles));
    let (steps, tiles) = [(args[0], args[1]), (args[1], args[0])]
        .into_iter()
        .find(|(steps, _)| next.iter().any(|(v, t)| wraps(s, *v, *t, *steps)))
        .or(known)?;
    let varies = |t: Term| s.arena.mentions(t, |a| matches!(a, Atom::Counter(_) | Atom::Var(_) | Atom::Opaque(_)));
    if varies(steps) || varies(tiles) || !is_positive(s, steps, facts) {
        return None;
    }
    let product = Product { all, steps, tiles };
    let first = |v: u32| {
        let sets = |n: &&Merged| {
            let mut any = false;
            super::data::each_set(std::slice::from_ref(*n), &mut |x, _| any |= x == v);
            any && n.warps & warps != 0
        };
        match before.iter().rev().find(sets) {
            Some(Merged { kind: MergedKind::Set(_, t), warps: by, .. }) if warps & !by == 0 => Some(*t),
            _ => None,
        }
    };
    let mut offsets = BTreeMap::new();
    for (v, t) in &next {
        if wraps(s, *v, *t, steps)
            && let Some(c) = first(*v).and_then(|t| (0..=MOST).find(|c| is_remainder(s, t, *c, steps, facts)))
        {
            offsets.insert(*v, c);
        }
    }
    // Registers that have the value that another had an iteration before.
    loop {
        let mut more = Vec::new();
        for (v, t) in next.iter().filter(|(v, _)| !offsets.contains_key(v)) {
            let Node::Atom(Atom::Var(w)) = s.arena.node(*t) else { continue };
            let Some(c) = offsets.get(w).map(|c| c - 1).filter(|c| *c >= 0) else { continue };
            if first(*v).is_some_and(|t| is_remainder(s, t, c, steps, facts)) {
                more.push((*v, c));
            }
        }
        if more.is_empty() {
            break;
        }
        offsets.extend(more);
    }
    Some(Flat { product, less: -k, offsets })
}

/// Whether a term is `c % steps` for every positive number of steps.
fn is_remainder(s: &mut Shared<'_>, t: Term, c: i64, steps: Term, facts: &Facts) -> bool {
    for n in 1..=c {
        let v = s.arena.int(n);
        let here = s.arena.replace(t, &FxHashMap::from_iter([(steps, v)]), &mut FxHashMap::default());
        if s.arena.constant(here) != Some(c % n) {
            return false;
        }
    }
    let mut known = facts.clone();
    let more = s.arena.plus(steps, -c - 1);
    let more = s.arena.ge(more);
    s.arena.learn(more, true, &mut known);
    let t = decided(&mut s.arena, t, &known);
    s.arena.constant(t) == Some(c)
}

/// A term in which facts decide the choices.
fn decided(a: &mut Arena, t: Term, facts: &Facts) -> Term {
    if a.is_boolean(t)
        && let Some(v) = a.decide(t, facts)
    {
        return a.int(v as i64);
    }
    match a.node(t).clone() {
        Node::Op(Op::If, args) => match a.decide(args[0], facts) {
            Some(true) => decided(a, args[1], facts),
            Some(false) => decided(a, args[2], facts),
            None => t,
        },
        Node::Sum(k, parts) => a.sum_of(k, &parts, &mut |a, x| decided(a, x, facts)),
        _ => t,
    }
}

fn list(s: &mut Shared<'_>, nodes: Vec<Merged>, facts: &Facts, rules: &Rules) -> Vec<Merged> {
    let mut all = rules.clone();
    let mut out: Vec<Merged> = Vec::new();
    // The rules for these warps, until a rule changes.
    let mut current: Option<(Set, Rules, Rewritten)> = None;
    for n in nodes {
        let (at, part, warps) = (n.at, n.part, n.warps);
        let repeats = matches!(n.kind, MergedKind::For(..));
        if repeats && all.forget(&n) {
            current = None;
        }
        let known = current.take().filter(|(of, ..)| *of == warps);
        let (_, rules, mut memo) = known.unwrap_or_else(|| (warps, all.of(warps), Rewritten::default()));
        let changes = !repeats && all.forget(&n);
        let kind = match n.kind {
            MergedKind::If(c, a, b) => {
                let (yes, no) = sides(s, c, facts);
                let c = rewritten(&mut s.arena, c, &rules, facts, &mut memo);
                let (a, b) = (list(s, a, &yes, &rules), list(s, b, &no, &rules));
                MergedKind::If(c, a, b)
            }
            MergedKind::For(h, count, body) => {
                if let Some(f) = flat(s, (&out, warps), count, &body, facts, &rules.products)
                    && let Some((nodes, behind)) = two_loops(s, (at, part, warps), h, &body, &f, facts, &rules)
                {
                    out.extend(nodes);
                    all.later.push((warps, Box::new(behind)));
                    continue;
                }
                let count = rewritten(&mut s.arena, count, &rules, facts, &mut memo);
                MergedKind::For(h, count, list(s, body, facts, &rules))
            }
            MergedKind::Set(v, t) => MergedKind::Set(v, rewritten(&mut s.arena, t, &rules, facts, &mut memo)),
            MergedKind::Op(ops) => {
                let mut f =
                    |e| effects_of::map_effect(e, &mut |t| rewritten(&mut s.arena, t, &rules, facts, &mut memo));
                MergedKind::Op(ops.into_iter().map(|(w, l, e)| (w, l, f(e))).collect())
            }
            MergedKind::End => MergedKind::End,
        };
        out.push(Merged { at, part, warps, kind });
        current = (!changes).then_some((warps, rules, memo));
    }
    out
}

/// The two loops of a flattened one, and what holds behind them; none if the body reads the counter in another way.
fn two_loops(
    s: &mut Shared<'_>,
    (at, part, warps): (usize, u8, Set),
    h: u32,
    body: &[Merged],
    f: &Flat,
    facts: &Facts,
    rules: &Rules,
) -> Option<(Vec<Merged>, Rules)> {
    let counter = s.arena.atom(Atom::Counter(h));
    let blocks = s.flow.blocks.len() as u32;
    // The counters of both loops have numbers that no block has.
    let (outer, inner) = (blocks + 2 * h, blocks + 2 * h + 1);
    let (tile, step) = (s.arena.atom(Atom::Counter(outer)), s.arena.atom(Atom::Counter(inner)));
    let mut shapes = Vec::new();
    lengths(s, body, counter, &mut shapes);
    shapes.sort_unstable();
    shapes.dedup();
    if shapes.iter().any(|(a, b)| a + b > LONGEST) {
        return None;
    }
    let cycle = shapes.iter().fold(1, |all, (_, b)| warpline_sim::ir::lcm(all, *b));
    let start = shapes.iter().map(|(a, _)| *a).max().unwrap_or(0);
    // One more for sequences behind the loop, of any shape that divides it.
    let whole = (start, warpline_sim::ir::lcm(cycle, 4));
    if whole.0 + whole.1 <= LONGEST && !shapes.contains(&whole) {
        shapes.push(whole);
    }
    let mut runs = BTreeMap::new();
    for shape in shapes {
        let v = s.vars.len() as u32;
        s.vars.push(format!("run_{v}"));
        s.arena.bound_var(v, Some((0, (shape.0 + shape.1) as i64 - 1)));
        runs.insert(shape, v);
    }
    let wraps = f.offsets.iter().map(|(v, c)| (*v, (f.product, *c))).collect();
    let inside = Rules {
        products: rules.products.clone(),
        inside: Some((counter, f.product, tile, step)),
        wraps,
        behind: None,
        runs: runs.clone(),
        later: Vec::new(),
    };
    let node = |part: u8, kind: MergedKind| Merged { at, part, warps, kind };
    let mut nodes = list(s, body.to_vec(), facts, &inside);
    if reads(s, &nodes, counter) {
        return None;
    }
    for ((start, cycle), v) in &runs {
        let now = s.arena.atom(Atom::Var(*v));
        let last = (start + cycle - 1) as i64;
        let values = (0..last).map(|i| i + 1).collect();
        let next = s.arena.table(now, values, vec![*start as i64]);
        nodes.push(node(ADDED, MergedKind::Set(*v, next)));
    }
    if f.less > 0 {
        let more = within(&mut s.arena, f.product, (tile, step), f.less);
        nodes = vec![node(ADDED + 1, MergedKind::If(more, nodes, Vec::new()))];
    }
    let zero = s.arena.int(0);
    let mut out: Vec<Merged> = runs.values().map(|v| node(ADDED + 2, MergedKind::Set(*v, zero))).collect();
    let nodes = vec![node(part, MergedKind::For(inner, f.product.steps, nodes))];
    out.push(node(part, MergedKind::For(outer, f.product.tiles, nodes)));
    let behind = Rules {
        products: rules.products.clone(),
        inside: None,
        wraps: f.offsets.iter().map(|(v, c)| (*v, (f.product, c - f.less))).collect(),
        behind: Some((f.product.all, f.less)),
        runs,
        later: Vec::new(),
    };
    Some((out, behind))
}

/// Whether nodes read a counter.
fn reads(s: &Shared<'_>, list: &[Merged], counter: Term) -> bool {
    let of = |t: Term| s.arena.mentions(t, |a| s.arena.node(counter) == &Node::Atom(a));
    let mut any = false;
    each_term(list, &mut |t| any |= of(t));
    any
}

/// The lengths of start and cycle of all sequences of a counter.
fn lengths(s: &Shared<'_>, list: &[Merged], counter: Term, shapes: &mut Vec<(usize, usize)>) {
    fn of(a: &Arena, t: Term, counter: Term, shapes: &mut Vec<(usize, usize)>) {
        match a.node(t) {
            Node::Const(_) | Node::Atom(_) => {}
            Node::Sum(_, parts) => parts.iter().for_each(|(x, _)| of(a, *x, counter, shapes)),
            Node::Op(_, args) => args.iter().for_each(|x| of(a, *x, counter, shapes)),
            Node::Table(i, first, cycle) if *i == counter => shapes.push((first.len(), cycle.len())),
            Node::Table(i, ..) => of(a, *i, counter, shapes),
        }
    }
    each_term(list, &mut |t| of(&s.arena, t, counter, shapes));
}
