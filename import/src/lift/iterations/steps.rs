//! Steps of loops that a compiler unrolled: see [`super::reroll`].

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lift::launch::symbols;
use crate::lift::launch::symbols::quotients;
use crate::lift::merge::effects_of::{map_effect, terms_of};
use crate::lift::merge::{Merged, MergedKind};
use crate::lift::tree::Effect;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Atom, Node, Op, Term};

use super::next_step::{by_number, next_value};
use super::reroll::{MOST_STEPS, MOST_TRIED};

/// The largest number of values of variables for which two terms are compared.
const POINTS: i64 = 4096;

/// Values of variables and counters.
pub(crate) type Values = FxHashMap<Term, Term>;

/// One operation of the expanded nodes: the node, and the terms of all its warps.
pub(crate) struct Item<'t> {
    pub(crate) node: &'t Merged,
    pub(crate) terms: Rc<[Term]>,
}

/// One step of an unrolled loop.
pub(crate) struct Step {
    /// The loop's header block.
    pub(crate) header: u32,
    /// The operations, with terms over the variables and the number of the step.
    pub(crate) ops: Vec<Merged>,
    /// Terms of each operation.
    pub(crate) terms: Vec<Vec<Term>>,
    /// Each variable's next value.
    pub(crate) next: Vec<(u32, Term)>,
    /// Variables of the steps that begin with the value of another one, which iterations do not set.
    pub(crate) copies: Vec<(u32, u32)>,
}

/// The expansion of nodes for one number of steps.
#[derive(Default)]
pub(crate) struct Expansion<'t> {
    pub(crate) items: Vec<Item<'t>>,
    pub(crate) values: Values,
    /// Operations before the unrolled loop was reached, and the values of variables there.
    pub(crate) reached: Option<(usize, Values)>,
}

/// Terms of an operation, and the atoms of all of them.
type Read = (Rc<[Term]>, Rc<[Atom]>);

/// An operation by its address, the number of steps, and the values of its atoms.
type Operation = (*const Merged, i64, Vec<Term>);

/// What was computed for the terms and operations of a list of nodes.
#[derive(Default)]
pub(crate) struct Memo {
    /// Terms with values in place of their atoms, by term and the values of its atoms.
    replaced: FxHashMap<(Term, Vec<Term>), Term>,
    /// Whether terms of operations get the number of steps in place of the term of this number.
    numbers: bool,
    /// Terms with a number of steps in place of the term of this number, by both.
    numbered: FxHashMap<(Term, i64), Term>,
    /// Whether the operation at an address is that of a step, but for its terms.
    alike: FxHashMap<(*const Merged, usize), bool>,
    /// Terms of the operation at an address, with the atoms of all of them.
    read: FxHashMap<*const Merged, Read>,
    /// The terms of the operation at an address, by the number of steps and the values of its atoms. Most runs of a list of
    /// nodes repeat the operations of the runs before.
    expanded: FxHashMap<Operation, Rc<[Term]>>,
    /// Terms of `expanded` that are those of an operation of a step, by their address, the operation and the step.
    fits: FxHashSet<(*const Term, usize, usize)>,
}

impl Memo {
    pub(crate) fn of(numbers: bool) -> Memo {
        Memo { numbers, ..Memo::default() }
    }

    /// The terms of an operation for this number of steps, with values in place of their atoms.
    fn terms(&mut self, s: &mut Shared<'_>, node: &Merged, (count, n): (Term, i64), values: &Values) -> Rc<[Term]> {
        let MergedKind::Op(ops) = &node.kind else { return Rc::new([]) };
        let at = std::ptr::from_ref(node);
        let (own, atoms) = self.read.entry(at).or_insert_with(|| {
            let own: Vec<Term> = ops.iter().flat_map(|(_, _, e)| terms_of(e)).collect();
            let atoms: BTreeSet<Atom> = own.iter().flat_map(|t| s.arena.atoms(*t).to_vec()).collect();
            (own.into(), atoms.into_iter().collect())
        });
        let own = own.clone();
        let read = atoms.iter().map(|a| {
            let atom = s.arena.atom(*a);
            values.get(&atom).copied().unwrap_or(atom)
        });
        let key = (at, if self.numbers { n } else { 0 }, read.collect());
        if let Some(terms) = self.expanded.get(&key) {
            return terms.clone();
        }
        let mut value = |t: &Term| {
            let t = self.at_number(s, *t, (count, n));
            self.replace(s, t, values)
        };
        let terms: Rc<[Term]> = own.iter().map(&mut value).collect();
        self.expanded.insert(key, terms.clone());
        terms
    }

    /// A term with values in place of its atoms.
    fn replace(&mut self, s: &mut Shared<'_>, t: Term, values: &Values) -> Term {
        let atoms = s.arena.atoms(t);
        if atoms.is_empty() {
            return t;
        }
        let value = |a: &Atom| {
            let atom = s.arena.atom(*a);
            values.get(&atom).copied().unwrap_or(atom)
        };
        let read = atoms.iter().map(value).collect();
        *self.replaced.entry((t, read)).or_insert_with(|| s.arena.replace(t, values, &mut FxHashMap::default()))
    }

    /// A term with a number of steps: behind a branch, the number of steps that were done is a term over it.
    fn at_number(&mut self, s: &mut Shared<'_>, t: Term, (count, n): (Term, i64)) -> Term {
        let atoms = s.arena.atoms(t);
        if !self.numbers || s.arena.atoms(count).iter().any(|a| !atoms.contains(a)) {
            return t;
        }
        let number = s.arena.int(n);
        *self.numbered.entry((t, n)).or_insert_with(|| with(s, t, count, number))
    }

    /// Whether an operation is this one of a step, but for its terms.
    fn is_alike(&mut self, step: &Step, node: &Merged, k: usize) -> bool {
        let of = &step.ops[k];
        let anew = || shape(node) == shape(of) && node.warps == of.warps;
        *self.alike.entry((std::ptr::from_ref(node), k)).or_insert_with(anew)
    }
}

/// An operation without its terms. Registers of accumulators are not followed.
pub(crate) fn shape(n: &Merged) -> Vec<(u32, u32, Effect)> {
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

/// A term with another one in place of a term.
pub(crate) fn with(s: &mut Shared<'_>, t: Term, x: Term, new: Term) -> Term {
    let (k, parts) = s.arena.parts(x);
    if k == 0 && parts.len() > 1 {
        symbols::with_atoms(&mut s.arena, t, &[(parts, new)], &mut FxHashMap::default())
    } else {
        let mut all = FxHashMap::from_iter([(x, new)]);
        if let Node::Op(Op::Div, args) = s.arena.node(x).clone()
            && let Some(by) = s.arena.constant(args[1]).filter(|by| *by > 0)
        {
            // The quotient of a quotient is kept as one quotient.
            let mut found = Vec::new();
            quotients(&s.arena, t, (args[0], by), &mut found);
            // Of those that round down.
            found.retain(|(q, more)| *more > 1 && matches!(s.arena.node(*q), Node::Op(Op::Div, _)));
            for (q, more) in found {
                let more = s.arena.int(more);
                all.insert(q, s.arena.div(new, more));
            }
        }
        match rounded_down(s, x).filter(|_| all.len() == 1) {
            Some(down) => with_both(s, t, (x, down), new),
            None => s.arena.replace(t, &all, &mut FxHashMap::default()),
        }
    }
}

/// The quotient that rounds down, of one that rounds to zero.
fn rounded_down(s: &mut Shared<'_>, x: Term) -> Option<Term> {
    let Node::Op(Op::DivZero, args) = s.arena.node(x).clone() else { return None };
    Some(s.arena.div(args[0], args[1]))
}

/// A term with another one in place of a quotient that rounds to zero. The quotient that rounds down is the same number
/// where it is positive, and else also the number below. Where this makes a difference, it stays.
fn with_both(s: &mut Shared<'_>, t: Term, (x, down): (Term, Term), new: Term) -> Term {
    let at = |s: &mut Shared<'_>, value: Option<Term>| {
        let all = FxHashMap::from_iter([(x, new)].into_iter().chain(value.map(|v| (down, v))));
        s.arena.replace(t, &all, &mut FxHashMap::default())
    };
    let same = at(s, Some(new));
    if s.arena.constant(new).is_none_or(|n| n > 0) {
        return same;
    }
    let below = s.arena.plus(new, -1);
    if at(s, Some(below)) == same { same } else { at(s, None) }
}

/// The values that operations and variables have for one number of steps.
pub(crate) fn expand<'t>(
    s: &mut Shared<'_>,
    list: &'t [Merged],
    step: &Step,
    (count, n): (Term, i64),
    run: &mut Expansion<'t>,
    memo: &mut Memo,
) -> Option<()> {
    let number = s.arena.int(n);
    for node in list {
        match &node.kind {
            MergedKind::Op(_) => {
                let terms = memo.terms(s, node, (count, n), &run.values);
                run.items.push(Item { node, terms });
                if run.items.len() > (MOST_TRIED as usize) * 64 {
                    return None;
                }
            }
            MergedKind::Set(v, t) => {
                let t = memo.at_number(s, *t, (count, n));
                let t = memo.replace(s, t, &run.values);
                let atom = s.arena.atom(Atom::Var(*v));
                run.values.insert(atom, t);
            }
            MergedKind::If(c, a, b) => {
                let c = with(s, *c, count, number);
                let side = if s.arena.constant(c)? != 0 { a } else { b };
                expand(s, side, step, (count, n), run, memo)?;
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
                    expand(s, body, step, (count, n), run, memo)?;
                }
                run.values.remove(&counter);
            }
            MergedKind::End => return None,
        }
    }
    Some(())
}

/// The body of a loop as one step, repeated. Of two halves of a step that do alike operations on other barriers, each is a
/// step as well, so there may be several.
pub(crate) fn unrolled(s: &mut Shared<'_>, header: u32, body: &[Merged]) -> Vec<Step> {
    let none = Step { header: u32::MAX, ops: Vec::new(), terms: Vec::new(), next: Vec::new(), copies: Vec::new() };
    let mut run = Expansion::default();
    let zero = s.arena.int(0);
    if expand(s, body, &none, (zero, 0), &mut run, &mut Memo::default()).is_none() {
        return Vec::new();
    }
    let shapes: Vec<_> = run.items.iter().map(|i| shape(i.node)).collect();
    let fits = |u: &usize| {
        let each = shapes.len() / u;
        each > 0 && shapes.len() % u == 0 && (0..shapes.len()).all(|k| shapes[k] == shapes[k % each])
    };
    let all: Vec<usize> = (2..=MOST_STEPS).rev().filter(fits).collect();
    all.into_iter().filter_map(|u| single(s, header, &run, u)).collect()
}

/// One of `u` equal steps of an iteration.
pub(crate) fn single(s: &mut Shared<'_>, header: u32, run: &Expansion<'_>, u: usize) -> Option<Step> {
    let each = run.items.len() / u;
    let counter = s.arena.atom(Atom::Counter(header));
    let numbered = |s: &Shared<'_>, t: Term| s.arena.mentions(t, |a| a == Atom::Counter(header));
    // Next values of the variables that the step reads.
    let mut vars = BTreeSet::new();
    for t in run.items[..each].iter().flat_map(|i| i.terms.iter()) {
        s.arena.each_atom(*t, &mut |a| {
            if let Atom::Var(v) = a {
                vars.extend([v])
            }
        });
    }
    let mut next = Vec::new();
    for v in vars {
        let atom = s.arena.atom(Atom::Var(v));
        let set = set(s, run, v);
        match next_value(s, run, each, v) {
            // An iteration can leave a variable as it was, where its steps do not: slots that divide the steps.
            Some(t) if !set && (t == atom || s.arena.mentions(t, |a| a != Atom::Var(v))) => continue,
            Some(t) => next.push((v, t)),
            None if set => return None,
            None => {}
        }
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
            // A ring whose slots divide the steps of an iteration has a constant in each.
            let constant = all.iter().all(|t| s.arena.constant(*t).is_some()) && all.iter().any(|t| *t != all[0]);
            if constant || all.iter().any(|t| numbered(s, *t)) {
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
        if !same(s, t, run.values.get(&atom).copied().unwrap_or(atom)) {
            return None;
        }
    }
    let unset: Vec<u32> = next.iter().map(|(v, _)| *v).filter(|v| !set(s, run, *v)).collect();
    let copies: Vec<(u32, u32)> = unset.into_iter().map(|v| (copy_of(s, v), v)).collect();
    let by: Values = copies.iter().map(|(w, v)| (s.arena.atom(Atom::Var(*v)), s.arena.atom(Atom::Var(*w)))).collect();
    let mut memo = FxHashMap::default();
    let mut renamed = |t: &mut Term| *t = s.arena.replace(*t, &by, &mut memo);
    terms.iter_mut().flatten().for_each(&mut renamed);
    next.iter_mut().for_each(|(_, t)| renamed(t));
    for (v, _) in &mut next {
        *v = copies.iter().find(|(_, of)| of == v).map_or(*v, |(w, _)| *w);
    }
    let ops = run.items[..each].iter().zip(&terms).map(|(item, terms)| rebuilt(item.node, terms)).collect();
    Some(Step { header, ops, terms, next, copies })
}

/// Whether an iteration sets a variable.
fn set(s: &mut Shared<'_>, run: &Expansion<'_>, v: u32) -> bool {
    run.values.contains_key(&s.arena.atom(Atom::Var(v)))
}

/// A new variable for the values of another one.
fn copy_of(s: &mut Shared<'_>, v: u32) -> u32 {
    let copy = s.vars.len() as u32;
    s.vars.push(format!("{}_{copy}", s.vars[v as usize]));
    let bounds = s.arena.var_bounds(v);
    s.arena.bound_var(copy, bounds);
    copy
}

/// A node with other terms, in the order of [`terms_of`].
pub(crate) fn rebuilt(n: &Merged, terms: &[Term]) -> Merged {
    let MergedKind::Op(ops) = &n.kind else { return n.clone() };
    let mut terms = terms.iter().copied();
    let of =
        |e: &Effect, terms: &mut dyn Iterator<Item = Term>| map_effect(e.clone(), &mut |t| terms.next().unwrap_or(t));
    let ops = ops.iter().map(|(w, l, e)| (*w, *l, of(e, &mut terms))).collect();
    Merged { kind: MergedKind::Op(ops), ..n.clone() }
}

/// Terms of the steps of an iteration, over the number of the iteration, as one term over the number of the step.
pub(crate) fn of_steps(s: &mut Shared<'_>, i: Term, all: &[Term]) -> Option<Term> {
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
            return by_number(s, i, all);
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
pub(crate) fn states(
    s: &mut Shared<'_>,
    step: &Step,
    start: &[(u32, Term)],
    steps: i64,
    memo: &mut Memo,
) -> Vec<Values> {
    let mut now: Values = start.iter().map(|(v, t)| (s.arena.atom(Atom::Var(*v)), *t)).collect();
    let mut out = Vec::new();
    let counter = s.arena.atom(Atom::Counter(step.header));
    for k in 0..=steps {
        let number = s.arena.int(k);
        now.insert(counter, number);
        out.push(now.clone());
        now = step.next.iter().map(|(v, t)| (s.arena.atom(Atom::Var(*v)), memo.replace(s, *t, &now))).collect();
    }
    out
}

/// Checks that an operation is the `k`-th one of a step with these values, of all steps the one at `at`.
pub(crate) fn same_step(
    s: &mut Shared<'_>,
    step: &Step,
    item: &Item<'_>,
    (at, k): (usize, usize),
    values: &Values,
    memo: &mut Memo,
) -> Option<()> {
    // `expanded` keeps the terms, so that no others get their address.
    let known = (item.terms.as_ptr(), at, k);
    if memo.fits.contains(&known) {
        return Some(());
    }
    if !memo.is_alike(step, item.node, k) {
        return None;
    }
    for (t, expected) in item.terms.iter().zip(&step.terms[k]) {
        let expected = memo.replace(s, *expected, values);
        if !same(s, *t, expected) {
            return None;
        }
    }
    memo.fits.insert(known);
    Some(())
}

/// Whether two terms are equal for all values of variables.
pub(crate) fn same(s: &mut Shared<'_>, a: Term, b: Term) -> bool {
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
