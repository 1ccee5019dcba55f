//! Loops whose trip count or operations depend on data that change in each iteration: groups of matrix multiplications,
//! lists of tiles.
//!
//! Such a loop is decided as none of its iterations, if that can be, or as two of them. Everything that differs by iteration
//! has a value of its own in each. That is enough where each iteration has a barrier of all threads at which nothing is in
//! flight (`reset.rs`). Accesses on both sides of this barrier are ordered, so a race is between two such barriers that
//! follow each other. What is between them is the end of one iteration and the beginning of another, whichever these are. So
//! the program has the barrier and the end of one iteration, which may be left out, and then a whole one. Both are whole
//! where a fence can be missing between accesses that barriers order, and where it matters which iteration is the first. Where
//! an iteration begins with the barrier, the end of one is a whole one. The program then has one iteration and the barrier
//! of the next.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::lift::launch::symbols::replaced;
use crate::lift::merge::effects_of::{map_effect, terms_of};
use crate::lift::merge::{Merged, MergedKind, Set, each_op, reads_of};
use crate::lift::walk::shared::Shared;
use crate::ptx::Error;
use crate::symbolic::{Arena, Atom, NO_LOOP, Node, Op, Term};

use super::reset::{Halves, Resets};
use super::uniform::words;

/// What is expected where data decide what iterations do, and something may be in flight between two.
pub(crate) const NO_RESET: &str = "a barrier of all threads in each iteration at which nothing is in flight";

/// The largest number of copies of iterations: each nested loop doubles them.
const MOST_COPIES: usize = 16;

/// Cuts the loops of a tree that depend on data. Also returns the line of the first one.
pub(crate) fn cut(s: &mut Shared<'_>, tree: Vec<Merged>, everyone: Set) -> Result<(Vec<Merged>, Option<u32>), Error> {
    let data_vars = data_vars(s, &tree);
    let resets = Resets::of(s, &tree, everyone);
    let mut cuts = Cuts { s, data_vars, resets, copies: 0, first: None, ops: ops_of(&tree), read: BTreeMap::new() };
    cuts.read = reads_of(&cuts.s.arena, &tree);
    let tree = cuts.list(tree, &mut Values::default())?;
    Ok((tree, cuts.first))
}

/// The values that replace variables and counters.
#[derive(Clone, Debug, Default)]
struct Values {
    vars: BTreeMap<u32, Term>,
    counters: BTreeMap<u32, Term>,
    /// Variables that are set in straight-line code are replaced by their values.
    folds: bool,
    /// The list is a side of a branch, or the body of a loop that is not cut.
    nested: bool,
}

struct Cuts<'c, 'a> {
    s: &'c mut Shared<'a>,
    data_vars: BTreeSet<u32>,
    resets: Resets,
    copies: usize,
    /// Line of the first loop that was cut.
    first: Option<u32>,
    /// Operations of the kernel.
    ops: usize,
    /// How often each variable is read.
    read: BTreeMap<u32, usize>,
}

/// What happens to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Set,
}

/// Whether a term differs by iteration.
fn varies(s: &Shared<'_>, t: Term) -> bool {
    s.arena.mentions(t, |a| matches!(a, Atom::Counter(h) if h != u32::MAX) || matches!(a, Atom::Var(_)))
}

/// Whether a trip count differs by iteration in a way that not each role knows.
pub(crate) fn count_varies(a: &Arena, t: Term) -> bool {
    match a.node(t) {
        _ if a.as_number(t).is_some() => false,
        Node::Const(_) => false,
        Node::Atom(x) => matches!(x, Atom::Counter(h) if *h != NO_LOOP) || matches!(x, Atom::Var(_)),
        Node::Sum(_, parts) => parts.iter().any(|(x, _)| count_varies(a, *x)),
        Node::Op(_, args) => args.iter().any(|x| count_varies(a, *x)),
        Node::Table(i, ..) => count_varies(a, *i),
    }
}

/// Whether a term depends on a word of memory that differs by iteration.
pub(crate) fn is_data(s: &Shared<'_>, t: Term, vars: &BTreeSet<u32>) -> bool {
    if s.arena.mentions(t, |a| matches!(a, Atom::Var(v) if vars.contains(&v))) {
        return true;
    }
    match s.arena.node(t) {
        Node::Const(_) | Node::Atom(_) => false,
        Node::Sum(_, parts) => parts.iter().any(|(x, _)| is_data(s, *x, vars)),
        // What is known of an iteration, each role knows.
        Node::Op(Op::Load, _) if s.arena.as_number(t).is_some() => false,
        Node::Op(Op::Load | Op::Trips | Op::HowOften | Op::MulHigh, _) => varies(s, t),
        Node::Op(_, args) => args.iter().any(|x| is_data(s, *x, vars)),
        Node::Table(i, ..) => is_data(s, *i, vars),
    }
}

/// Calls `f` on each value that a variable is set to.
pub(crate) fn each_set(list: &[Merged], f: &mut dyn FnMut(u32, Term)) {
    for n in list {
        match &n.kind {
            MergedKind::Set(v, t) => f(*v, *t),
            MergedKind::If(_, a, b) => {
                each_set(a, f);
                each_set(b, f);
            }
            MergedKind::For(_, _, body) => each_set(body, f),
            MergedKind::Op(_) | MergedKind::End => {}
        }
    }
}

/// Variables that depend on words that differ by iteration.
pub(crate) fn data_vars(s: &Shared<'_>, tree: &[Merged]) -> BTreeSet<u32> {
    let mut vars = BTreeSet::new();
    loop {
        let before = vars.len();
        let mut found = Vec::new();
        each_set(tree, &mut |v, t| found.extend(is_data(s, t, &vars).then_some(v)));
        vars.extend(found);
        if vars.len() == before {
            return vars;
        }
    }
}

/// Variables that are set in a node.
fn sets_of(n: &Merged) -> BTreeSet<u32> {
    let mut vars = BTreeSet::new();
    each_set(std::slice::from_ref(n), &mut |v, _| vars.extend([v]));
    vars
}

/// Conditions of branches and counts of loops.
fn conditions(list: &[Merged]) -> Vec<Term> {
    let of = |n: &Merged| match &n.kind {
        MergedKind::If(c, a, b) => [vec![*c], conditions(a), conditions(b)].concat(),
        MergedKind::For(_, count, body) => [vec![*count], conditions(body)].concat(),
        _ => Vec::new(),
    };
    list.iter().flat_map(of).collect()
}

/// Whether a term reads the number of an iteration, and not only in the address of a word.
fn reads_number(s: &Shared<'_>, t: Term, counters: &[u32]) -> bool {
    match s.arena.node(t) {
        Node::Const(_) => false,
        Node::Atom(a) => matches!(a, Atom::Counter(h) if counters.contains(h)),
        Node::Sum(_, parts) => parts.iter().any(|(x, _)| reads_number(s, *x, counters)),
        Node::Op(Op::Load, _) => false,
        Node::Op(_, args) => args.iter().any(|x| reads_number(s, *x, counters)),
        Node::Table(i, ..) => reads_number(s, *i, counters),
    }
}

/// How many operations a list has.
fn ops_of(list: &[Merged]) -> usize {
    let mut n = 0;
    each_op(list, &mut |_, _| n += 1);
    n
}

/// Whether a list does anything but set variables.
fn acts(list: &[Merged]) -> bool {
    list.iter().any(|n| match &n.kind {
        MergedKind::Op(_) | MergedKind::End => true,
        MergedKind::If(_, a, b) => acts(a) || acts(b),
        MergedKind::For(_, _, body) => acts(body),
        MergedKind::Set(..) => false,
    })
}

/// Whether a list has a loop that does anything but set variables.
fn loops(list: &[Merged]) -> bool {
    list.iter().any(|n| match &n.kind {
        MergedKind::If(_, a, b) => loops(a) || loops(b),
        MergedKind::For(_, _, body) => acts(body),
        _ => false,
    })
}

impl Cuts<'_, '_> {
    /// Whether a condition in a list that acts depends on data.
    fn decided_by_data(&self, list: &[Merged]) -> bool {
        list.iter().any(|n| match &n.kind {
            MergedKind::If(c, a, b) => {
                (is_data(self.s, *c, &self.data_vars) && (acts(a) || acts(b)))
                    || self.decided_by_data(a)
                    || self.decided_by_data(b)
            }
            MergedKind::For(_, count, body) => {
                (count_varies(&self.s.arena, *count) && acts(body)) || self.decided_by_data(body)
            }
            _ => false,
        })
    }

    fn data(&mut self) -> Term {
        self.s.data += 1;
        self.s.arena.atom(Atom::Data(self.s.data))
    }

    fn value(&mut self, t: Term, values: &Values) -> Term {
        let mut with = FxHashMap::default();
        let mut atoms = Vec::new();
        self.s.arena.each_atom(t, &mut |a| atoms.push(a));
        for a in atoms {
            let value = match a {
                Atom::Var(v) => values.vars.get(&v),
                Atom::Counter(h) => values.counters.get(&h),
                _ => None,
            };
            if let Some(x) = value {
                with.insert(self.s.arena.atom(a), *x);
            }
        }
        if with.is_empty() { t } else { self.s.arena.replace(t, &with, &mut FxHashMap::default()) }
    }

    /// A list with values in place of variables that it does not set.
    fn values_in(&mut self, list: &[Merged], values: &Values) -> Vec<Merged> {
        let a = &mut self.s.arena;
        let vars = values.vars.iter().map(|(v, t)| (Atom::Var(*v), *t));
        let all: Vec<(Atom, Term)> = vars.chain(values.counters.iter().map(|(h, t)| (Atom::Counter(*h), *t))).collect();
        let with: FxHashMap<Term, Term> = all.into_iter().map(|(atom, t)| (a.atom(atom), t)).collect();
        if with.is_empty() {
            return list.to_vec();
        }
        let mut memo = FxHashMap::default();
        let mut f = |a: &mut Arena, t: Term| a.replace(t, &with, &mut memo);
        list.iter().map(|n| replaced(self.s, n, &mut f)).collect()
    }

    /// A list with its loops cut, and with values in place of variables.
    fn list(&mut self, list: Vec<Merged>, values: &mut Values) -> Result<Vec<Merged>, Error> {
        let mut out = Vec::new();
        for i in 0..list.len() {
            let n = list[i].clone();
            if matches!(n.kind, MergedKind::If(..) | MergedKind::For(..)) {
                // A node that sets a variable ends the use of its value.
                for v in sets_of(&n) {
                    let Some(t) = values.vars.remove(&v) else { continue };
                    if self.reads(&list[i..], v) {
                        out.push(Merged { at: n.at, part: 200, warps: n.warps, kind: MergedKind::Set(v, t) });
                    }
                }
            }
            let kind = match n.kind {
                MergedKind::Op(ops) => {
                    let mut f = |e| map_effect(e, &mut |t| self.value(t, values));
                    MergedKind::Op(ops.into_iter().map(|(w, l, e)| (w, l, f(e))).collect())
                }
                MergedKind::Set(v, t) => {
                    let t = self.value(t, values);
                    if values.folds {
                        values.vars.insert(v, t);
                        continue;
                    }
                    values.vars.remove(&v);
                    MergedKind::Set(v, t)
                }
                MergedKind::If(c, a, b) => {
                    let c = self.value(c, values);
                    let mut inner = Values { folds: false, nested: true, ..values.clone() };
                    let a = self.list(a, &mut inner)?;
                    let mut inner = Values { folds: false, nested: true, ..values.clone() };
                    MergedKind::If(c, a, self.list(b, &mut inner)?)
                }
                MergedKind::For(h, count, body) => {
                    let count = self.value(count, values);
                    // What an iteration around it decides is decided here.
                    let body = self.values_in(&body, values);
                    if self.decided_by_data(&body) || count_varies(&self.s.arena, count) && acts(&body) {
                        let whole = Merged { kind: MergedKind::For(h, count, body), ..n };
                        out.extend(self.cut(whole, values)?);
                        continue;
                    }
                    // Loops in a loop that stands there several times would have a trip count of their own each time.
                    let own = loops(&body) || words(&self.s.arena, std::iter::once(count)) > 0;
                    if self.copies > 0 && own && self.resets.within(&self.s.arena, h, &body).is_some() {
                        let kind = MergedKind::For(h, count, body.clone());
                        let whole = Merged { at: n.at, part: n.part, warps: n.warps, kind };
                        let (copies, mut after) = (self.copies, values.clone());
                        if let Ok(cut) = self.cut(whole, &mut after) {
                            *values = after;
                            out.extend(cut);
                            continue;
                        }
                        self.copies = copies;
                    }
                    let mut inner = Values { folds: false, nested: true, ..values.clone() };
                    MergedKind::For(h, count, self.list(body, &mut inner)?)
                }
                MergedKind::End => MergedKind::End,
            };
            out.push(Merged { kind, ..n });
        }
        Ok(out)
    }

    /// Whether a list may read a variable before it sets it.
    fn reads(&self, list: &[Merged], v: u32) -> bool {
        self.first_use(list, v) == Some(Use::Read)
    }

    /// What a list does with a variable first, on some way for a read and on every way for a value that it sets.
    fn first_use(&self, list: &[Merged], v: u32) -> Option<Use> {
        let of = |t: Term| self.s.arena.mentions(t, |a| a == Atom::Var(v));
        for n in list {
            let found = match &n.kind {
                MergedKind::Op(ops) => ops.iter().any(|(_, _, e)| terms_of(e).into_iter().any(of)).then_some(Use::Read),
                MergedKind::Set(_, t) if of(*t) => Some(Use::Read),
                MergedKind::Set(x, _) => (*x == v).then_some(Use::Set),
                MergedKind::If(c, ..) if of(*c) => Some(Use::Read),
                MergedKind::If(_, a, b) => match (self.first_use(a, v), self.first_use(b, v)) {
                    (Some(Use::Read), _) | (_, Some(Use::Read)) => Some(Use::Read),
                    (Some(Use::Set), Some(Use::Set)) => Some(Use::Set),
                    _ => None,
                },
                MergedKind::For(_, count, _) if of(*count) => Some(Use::Read),
                // A loop may make no iteration.
                MergedKind::For(_, _, body) => self.first_use(body, v).filter(|found| *found == Use::Read),
                MergedKind::End => None,
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Zero or two iterations of a loop.
    fn cut(&mut self, n: Merged, values: &mut Values) -> Result<Vec<Merged>, Error> {
        let set = sets_of(&n);
        let MergedKind::For(header, count, body) = &n.kind else { return Ok(vec![n]) };
        let mut counters = vec![*header];
        let mut body = body.clone();
        // The part of an iteration that acts, where that is one loop or one way of a branch alone.
        let halves = loop {
            if let Some(found) = self.resets.within(&self.s.arena, counters[counters.len() - 1], &body) {
                break found;
            }
            let mut acting = body.iter().filter(|n| acts(std::slice::from_ref(n)));
            let (Some(one), None) = (acting.next(), acting.next()) else { return Err(self.error(&n)) };
            body = match &one.kind {
                MergedKind::For(h, _, inner) => {
                    counters.push(*h);
                    inner.clone()
                }
                MergedKind::If(_, a, b) if !acts(b) => a.clone(),
                MergedKind::If(_, a, b) if !acts(a) => b.clone(),
                _ => return Err(self.error(&n)),
            };
        };
        // Iterations of one loop that follow each other; of loops in loops nothing is known but that none is negative.
        let (zero, one) = (self.s.arena.int(0), self.s.arena.int(1));
        let numbers = |s: &mut Self| {
            let number = |s: &mut Self| {
                let d = s.data();
                s.s.arena.op(Op::Max, &[d, zero])
            };
            counters.iter().map(|h| (*h, number(s))).collect::<BTreeMap<_, _>>()
        };
        let these = numbers(self);
        let mut next = numbers(self);
        if let ([h], [t]) = (counters.as_slice(), these.values().collect::<Vec<_>>().as_slice()) {
            next.insert(*h, self.s.arena.add(**t, one));
        }
        let once = counters.len() == 1 && self.s.arena.range(*count).0 >= 1;
        let whole = once && !loops(&body)
            || self.s.every_fence
            || self.resets.need_fences(&self.s.arena, &halves)
            || self.resets.starts_beside(std::slice::from_ref(&n))
            || conditions(&body).into_iter().any(|t| reads_number(self.s, t, &counters));
        // An iteration that begins with its barrier, and the barrier of the next one.
        if !whole
            && !acts(&halves.head)
            && let Some(barrier @ Merged { kind: MergedKind::Op(_), .. }) = halves.tail.first()
        {
            let barrier = vec![barrier.clone()];
            let (head, tail) = self.iteration(&n, &set, these, &halves, values)?;
            let barrier = self.may_follow(&n, barrier);
            return Ok(self.of_iterations((n, set), once, [head, tail, barrier].concat(), values));
        }
        let (head, tail) = self.iteration(&n, &set, these, &halves, values)?;
        let before = if whole { [head, tail].concat() } else { tail };
        let (last, rest) = self.iteration(&n, &set, next, &halves, values)?;
        // Whatever is before the loop meets a whole iteration, also where the end of another one would stand between.
        let mut copies = if whole { before } else { self.may_follow(&n, before) };
        copies.extend(last);
        copies.extend(rest);
        Ok(self.of_iterations((n, set), once, copies, values))
    }

    /// A part of an iteration that may be left out, where the kernel does something beside the loop.
    fn may_follow(&mut self, n: &Merged, part: Vec<Merged>) -> Vec<Merged> {
        if ops_of(std::slice::from_ref(n)) >= self.ops {
            return part;
        }
        let again = self.data();
        let again = self.s.arena.ge(again);
        vec![Merged { at: n.at, part: 209, warps: n.warps, kind: MergedKind::If(again, part, Vec::new()) }]
    }

    /// The iterations that stand for a loop, or none where it can make none.
    fn of_iterations(
        &mut self,
        (n, set): (Merged, BTreeSet<u32>),
        once: bool,
        copies: Vec<Merged>,
        values: &mut Values,
    ) -> Vec<Merged> {
        let line = self.s.entry.code[n.at].line;
        self.first.get_or_insert(line);
        self.s.assume(
            line,
            "a loop that data decide is decided for any two iterations that follow each other: at a barrier in each nothing is in flight",
        );
        let mut out = if once {
            copies
        } else {
            let any = self.data();
            let any = self.s.arena.ge(any);
            vec![Merged { at: n.at, part: 210, warps: n.warps, kind: MergedKind::If(any, copies, Vec::new()) }]
        };
        let inside = if values.nested { reads_of(&self.s.arena, std::slice::from_ref(&n)) } else { BTreeMap::new() };
        // The values of variables are unknown after the loop.
        for v in set {
            let t = self.data();
            values.vars.insert(v, t);
            if values.nested && inside.get(&v) < self.read.get(&v) {
                out.push(Merged { at: n.at, part: 211, warps: n.warps, kind: MergedKind::Set(v, t) });
            }
        }
        out
    }

    /// An iteration of a loop with values of its own: what comes before its barrier, and the barrier and what is behind it.
    fn iteration(
        &mut self,
        n: &Merged,
        set: &BTreeSet<u32>,
        counters: BTreeMap<u32, Term>,
        halves: &Halves,
        values: &Values,
    ) -> Result<(Vec<Merged>, Vec<Merged>), Error> {
        self.copies += 1;
        if self.copies > MOST_COPIES {
            return Err(self.error(n));
        }
        let mut inner = Values { folds: true, nested: false, ..values.clone() };
        for v in set {
            inner.vars.insert(*v, self.data());
        }
        inner.counters.extend(counters);
        let head = self.list(halves.head.clone(), &mut inner)?;
        // Variables that keep their place are set where they stand.
        let mut kept = Vec::new();
        each_set(&head, &mut |v, _| kept.push(v));
        let tail = self.list(halves.tail.clone(), &mut inner)?;
        if kept.iter().any(|v| self.reads(&tail, *v)) {
            return Err(self.error(n));
        }
        Ok((head, tail))
    }

    fn error(&self, n: &Merged) -> Error {
        let i = &self.s.entry.code[n.at.min(self.s.entry.code.len() - 1)];
        Error {
            line: i.line,
            span: i.span,
            message: "data decide how often this loop goes on or what an iteration does, and what it starts may be in \
                      flight when the next begins"
                .into(),
            expected: NO_RESET.into(),
        }
    }
}
