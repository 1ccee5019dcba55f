//! Loops that a compiler unrolled, as loops of single steps.
//!
//! A compiler turns `for k in 0..n { step }` into a loop of `n / 4` iterations with four steps each. The `n % 4` steps that
//! are left stand before or behind the loop, as branches or as a loop. Roles are unrolled differently, so no two of them count alike, and a ring
//! of 7 slots recurs after 28 steps only.
//!
//! *Hypothesis:* the body of the unrolled loop is one step repeated, each with the variables that the step before left.
//! For each small `n`, all nodes together are `n` such steps, and set other variables to what these steps leave. *Claim:*
//! this holds for each `n`. *Proof:* conditions and counts are comparisons, quotients and remainders of `n` by small
//! numbers. From some `n` on they repeat with the loop's own period, and the loop runs once more for each period. Terms of
//! operations that read `n` repeat as well, but for what grows evenly, and two of their periods are compared (`periodic.rs`).

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::merge::{Merged, MergedKind, Set, reads_of};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Atom, Node, Op, Term};

use super::steps::{Expansion, Memo, Step, expand, same, same_step, states, unrolled, with};
use super::whole::with_whole_products;

/// The largest number of steps in one iteration.
pub(crate) const MOST_STEPS: usize = 16;
/// The largest number of steps that is tried.
pub(crate) const MOST_TRIED: i64 = 160;
/// The largest number of terms that are tried as the number of steps.
const MOST_COUNTS: usize = 4;
/// The largest number of neighboring nodes that are one loop.
const MOST_NODES: usize = 6;

/// The tree with unrolled loops as loops of single steps.
pub(crate) fn rerolled(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    let tree = with_whole_products(tree);
    let all = reads_of(&s.arena, &tree);
    in_list(s, tree, &all)
}

fn in_list(s: &mut Shared<'_>, list: Vec<Merged>, all: &BTreeMap<u32, usize>) -> Vec<Merged> {
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
fn one_loop(s: &mut Shared<'_>, list: &[Merged], all: &BTreeMap<u32, usize>) -> Option<Vec<Merged>> {
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
    let counts = counted(s, &conds);
    if counts.is_empty() {
        return None;
    }
    let steps = found.iter().map(|(h, _, body)| unrolled(s, *h, body)).find(|steps| !steps.is_empty())?;
    let counters: BTreeSet<u32> = found.iter().map(|(h, ..)| *h).collect();
    steps.iter().find_map(|step| {
        let each = [false, true].into_iter().flat_map(|numbers| counts.iter().map(move |c| (*c, numbers)));
        each.into_iter().find_map(|(count, numbers)| of_steps(s, (list, all), step, (count, numbers), &counters))
    })
}

/// The same for a term that all conditions are functions of, with the largest number in these functions. With `numbers`,
/// terms of operations may read it, too.
fn of_steps(
    s: &mut Shared<'_>,
    (list, all): (&[Merged], &BTreeMap<u32, usize>),
    step: &Step,
    ((count, largest), numbers): ((Term, i64), bool),
    counters: &BTreeSet<u32>,
) -> Option<Vec<Merged>> {
    let warps = list[0].warps;
    let mut set = BTreeSet::new();
    super::data::each_set(list, &mut |v, _| set.extend([v]));
    if reads_any(s, count, &set) || s.arena.mentions(count, |a| matches!(a, Atom::Counter(h) if counters.contains(&h)))
    {
        return None;
    }
    let (from, period) = if numbers { super::periodic::all(s, list, count)? } else { (0, 0) };
    let tried = (4 * largest).max(from + 2 * period) + 2 * MOST_STEPS as i64;
    if tried > MOST_TRIED {
        return None;
    }
    let (mut runs, mut memo) = (Vec::<Expansion<'_>>::new(), Memo::of(numbers));
    let each = step.ops.len();
    for n in 0..=tried {
        let mut run = Expansion::default();
        expand(s, list, step, (count, n), &mut run, &mut memo)?;
        // One step more than before, unless there are none yet: other numbers are no steps, whatever they do.
        let more = run.items.len().checked_sub(runs.last().map_or(0, |r| r.items.len()))?;
        let began = runs.last().is_some_and(|r| !r.items.is_empty());
        let fits = if runs.is_empty() { more % each == 0 } else { more == each || more == 0 && !began };
        fits.then_some(())?;
        runs.push(run);
    }
    let (_, start) = runs.iter().find_map(|r| r.reached.as_ref().filter(|(before, _)| *before == 0))?;
    let start: Vec<(u32, Term)> = step
        .next
        .iter()
        .map(|(v, _)| {
            let of = step.copies.iter().find(|(copy, _)| copy == v).map_or(*v, |(_, of)| *of);
            let atom = s.arena.atom(Atom::Var(of));
            (*v, start.get(&atom).copied().unwrap_or(atom))
        })
        .collect();
    let own: BTreeSet<u32> = step.next.iter().map(|(v, _)| *v).collect();
    let itself = |s: &Shared<'_>, v: u32, t: Term| *s.arena.node(t) == Node::Atom(Atom::Var(v));
    if start.iter().any(|(v, t)| reads_any(s, *t, &own) && !itself(s, *v, *t)) {
        return None;
    }
    // Steps that are missing at the end, such as the first one, which stands before the loop.
    let less = tried - (runs.last()?.items.len() / each) as i64;
    let states = states(s, step, &start, tried - less, &mut memo);
    let steps = |n: usize| (n as i64 - less).max(0) as usize;
    for (n, run) in runs.iter().enumerate() {
        if run.items.len() != steps(n) * each {
            return None;
        }
        for (k, item) in run.items.iter().enumerate() {
            same_step(s, step, item, (k / each, k % each), &states[k / each], &mut memo)?;
        }
    }
    // Without steps where the number is negative, or no such numbers.
    for n in 1..=MOST_STEPS as i64 {
        let mut run = Expansion::default();
        if expand(s, list, step, (count, -n), &mut run, &mut memo).is_none() || !run.items.is_empty() {
            let line = s.entry.code[list[0].at.min(s.entry.code.len() - 1)].line;
            s.assume(line, "sizes that set trip counts are not negative");
            break;
        }
    }
    // Variables that other nodes read.
    let mine = reads_of(&s.arena, list);
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
    let mut body = step.ops.clone();
    for (v, t) in ordered(s, step.next.clone())? {
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

/// Terms that all conditions are functions of, each with the largest number in these functions. The smallest term stands
/// first. Several are needed: of a size and the number of its tiles, only the second one counts steps.
fn counted(s: &mut Shared<'_>, conds: &[Term]) -> Vec<(Term, i64)> {
    let mut list = Vec::new();
    conds.iter().for_each(|t| candidates(s, *t, &mut list));
    list.sort_unstable_by_key(|t| (s.arena.size(*t), *t));
    list.dedup();
    let of = |x: Term| {
        // One for each: the quotients of one candidate would turn up in the comparisons of another.
        let any = s.arena.opaque("a number of steps");
        let mut largest = 1;
        for t in conds {
            let t = with(s, *t, x, any);
            if !simple(s, t, any, &mut largest) {
                return None;
            }
        }
        Some((x, largest))
    };
    list.into_iter().filter_map(of).take(MOST_COUNTS).collect()
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
