//! A kernel in one launch, to find out whether a fault is one of some launch.
//!
//! A proof may hold for more than all launches: counts that depend on each other are varied alone, what differs by
//! iteration is anything, accesses happen always or anywhere. A fault of such a program may be one of no launch. So the
//! kernel is lifted once more for a few launches, and the fault counts if one of them has it:
//!
//! ```text
//!   for i in 0..last[cta.x] - first[cta.x]:              for i in 0..1:
//!     if row[first[cta.x] + i] > 64:            ─▶         <body>
//!       <body>
//! ```
//!
//! A launch gives arguments, coordinates and words of global memory a value (`launch_values.rs`). So each condition has its
//! outcome and each loop its trip count, and the program has no symbol. The host may choose these words for each iteration,
//! but then they are more than one value. So a loop whose body reads a word by its iteration has one iteration in such a
//! launch, or none: its first one. Nothing is taken to happen that does not happen, and accesses at places that are not
//! known are left out. They order nothing. So are accesses behind conditions that data decide, or that lanes decide
//! apart, unless the launch decides the condition of each lane.
//!
//! What is not chosen freely has no value, and a launch that needs such a value is none. Examples are words that the kernel
//! may store, and divisors of which the host computes a factor. So are numbers of bytes, counts and masks that must fit to
//! others.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::Program;

use crate::flow::Flow;
use crate::lift::build::program_of;
use crate::lift::facts::headers::separated;
use crate::lift::memory::always::Accesses;
use crate::lift::memory::anywhere::Unknown;
use crate::lift::merge::effects_of::{map_effect, terms_of};
use crate::lift::merge::{Merged, MergedKind, Set, each_node, each_op, each_term};
use crate::lift::tree::{Effect, Node as WarpNode};
use crate::lift::walk::shared::{How, Shared};
use crate::lift::walk::warps::warps_in;
use crate::lift::ways::Way;
use crate::lift::{Launch, Lifted, merge};
use crate::ptx::{Entry, Module};
use crate::symbolic::{Arena, Atom, NO_LOOP, Node, Op, Term};

use super::cases::{self, Outcome, Wanted};
use super::launch_values::{Chosen, Inside, LaunchValues};

/// Launches that are looked at.
const TRIED: u64 = 1500;
/// Launches for which the kernel is lifted: those with the fewest steps, and those in which loops go round again most often.
const LIFTED: [usize; 2] = [2, 2];

/// Iterations of a loop that count, to show that a slot is used again.
const AGAIN: i64 = 4;

/// The largest trip count of a loop.
const MOST: i64 = 12;

/// A kernel in one launch.
#[derive(Clone, Debug)]
pub struct OneLaunch {
    /// The program, without symbols.
    pub program: Program,
    /// The values of the launch, in words.
    pub values: String,
    /// How often each loop runs that all warps run, by the block with which it begins.
    pub trips: BTreeMap<u32, i64>,
}

/// An entry in some launches: those in which it does most. None where it cannot be followed in a launch.
pub fn in_launches(module: &Module, entry: &Entry, file: &str, text: &str, launch: &Launch) -> Vec<OneLaunch> {
    let apart = separated(entry);
    let entry = apart.as_ref().unwrap_or(entry);
    let Ok(flow) = Flow::of(entry) else { return Vec::new() };
    let (mut open, mut found) = (vec![Vec::new()], Vec::new());
    let how = How { words: true, unknown: Unknown::OfLaunch, counts_capped: false, second_try: true };
    while let Some(outcomes) = open.pop() {
        match warps_in(module, entry, &flow, launch, &outcomes, how) {
            Ok(walked) => found.extend(programs(walked, entry, (file, text), launch)),
            Err((_, Some(Wanted::Outcome(at, of))))
                if outcomes.len() < cases::MOST && outcomes.iter().all(|o: &Outcome| o.at != at) =>
            {
                for taken in [false, true] {
                    open.push(outcomes.iter().copied().chain([Outcome { at, taken, of }]).collect());
                }
            }
            Err(_) => {}
        }
    }
    found
}

/// The programs of one case.
fn programs(
    (mut s, lists): (Shared<'_>, Vec<Vec<WarpNode>>),
    entry: &Entry,
    (file, text): (&str, &str),
    launch: &Launch,
) -> Vec<OneLaunch> {
    let warps = lists.len() as u32;
    let tree = merge::of_all(&mut s, lists, false);
    let mut found = Vec::new();
    for Found { tree, values, trips, .. } in likely(&mut s, &tree) {
        let mut s = s.clone();
        // They hold in this launch.
        s.cases.outcomes.clear();
        s.cases.asserted.clear();
        s.cases.behind.clear();
        let of_launch = |accesses| {
            let way = Way { accesses, ..Way::default() };
            program_of(s.clone(), (tree.clone(), warps), (entry, file, text), launch, way)
        };
        let lifted = of_launch(Accesses::Conditional).or_else(|_| of_launch(Accesses::LeftOut));
        let whole = lifted.ok().filter(is_whole);
        found.extend(whole.map(|l| OneLaunch { program: l.program.bind(), values, trips }));
    }
    found
}

/// Whether nothing of a program is open.
fn is_whole(l: &Lifted) -> bool {
    let open = l.related.is_some() || l.cut.is_some() || l.partial.is_some();
    l.program.symbols.is_empty() && !open
}

/// The tree in a launch.
struct Found {
    tree: Vec<Merged>,
    /// Outcomes and trip counts.
    decided: Vec<i64>,
    /// Trip counts of loops of all warps, by the block with which the loop begins.
    trips: BTreeMap<u32, i64>,
    values: String,
}

/// The tree in the launches in which the kernel does most, of those that differ.
fn likely(s: &mut Shared<'_>, tree: &[Merged]) -> Vec<Found> {
    let (bases, factors) = arguments(s, tree);
    let chosen = Chosen { bases, factors, tickets: super::tickets::tickets(s, tree), taken: s.taken };
    let mut found: BTreeMap<Vec<i64>, Likely> = BTreeMap::new();
    for number in 0..TRIED {
        let Some(Found { tree, decided, .. }) = in_launch(s, tree, number, &chosen) else { continue };
        let mut lines = BTreeSet::new();
        each_op(&tree, &mut |at, _| {
            lines.insert(at);
        });
        let mut again = 0;
        each_node(&tree, &mut |n| {
            let count = match n.kind {
                MergedKind::For(_, count, _) => s.arena.constant(count),
                _ => None,
            };
            again += count.map_or(0, |n| n.min(AGAIN));
        });
        let steps = decided.iter().sum::<i64>();
        found.entry(decided).or_insert(Likely { lines: Reverse(lines.len()), again: Reverse(again), steps, number });
    }
    let mut list: Vec<Likely> = found.into_values().collect();
    // Few steps show a fault, or it takes another iteration.
    list.sort_unstable_by_key(|l| (l.lines, l.steps, l.number));
    let mut rest = list.split_off(LIFTED[0].min(list.len()));
    rest.sort_unstable_by_key(|l| (l.lines, l.again, l.steps, l.number));
    let all = list.into_iter().chain(rest.into_iter().take(LIFTED[1]));
    all.filter_map(|l| in_launch(s, tree, l.number, &chosen)).collect()
}

/// A launch, by what the kernel does in it.
struct Likely {
    /// Instructions that are executed.
    lines: Reverse<usize>,
    /// Iterations of all loops, of each loop up to [`AGAIN`].
    again: Reverse<i64>,
    /// Outcomes and trip counts together.
    steps: i64,
    /// The number of the launch.
    number: u64,
}

/// The tree in the launch with a number. `None` where the launch lacks a value that decides.
fn in_launch(s: &mut Shared<'_>, tree: &[Merged], number: u64, chosen: &Chosen) -> Option<Found> {
    let values = LaunchValues::new(number, chosen);
    let all = tree.iter().fold(0, |all, n| all | n.warps);
    let mut pass = Pass { s, values, inside: Known::default(), decided: Vec::new(), trips: BTreeMap::new(), all };
    pass.is_of_case()?;
    let tree = pass.list(tree)?;
    let Pass { values, decided, trips, .. } = pass;
    Some(Found { tree, decided, trips, values: values.described(&mut s.arena) })
}

/// The arguments that are addresses of arrays from which words are read, and those that are factors and shifts of divisions.
fn arguments(s: &Shared<'_>, tree: &[Merged]) -> (BTreeSet<Atom>, BTreeSet<Atom>) {
    let (mut bases, mut factors, mut seen) = Default::default();
    each_term(tree, &mut |t| arguments_in(s, t, (&mut bases, &mut factors), &mut seen));
    (bases, factors)
}

fn arguments_in(
    s: &Shared<'_>,
    t: Term,
    (bases, factors): (&mut BTreeSet<Atom>, &mut BTreeSet<Atom>),
    seen: &mut BTreeSet<Term>,
) {
    if !seen.insert(t) {
        return;
    }
    let node = match s.arena.unfolded(t) {
        Some((node, _)) => node,
        None => s.arena.node(t),
    };
    let argument = |t: Term| match s.arena.node(t) {
        Node::Atom(atom @ Atom::Param(..)) => Some(*atom),
        _ => None,
    };
    match node {
        Node::Op(Op::Load, args) if args.len() == 1 => {
            let whole = s.arena.parts(args[0]).1;
            let is_address = |x: &Atom| matches!(x, Atom::Param(p, o) if s.cases.bytes.get(&(*p, *o)) == Some(&8));
            bases.extend(whole.iter().filter(|(_, by)| *by == 1).filter_map(|(x, _)| argument(*x)).filter(is_address));
        }
        Node::Op(Op::MulHigh | Op::Shl, args) => factors.extend(argument(args[1])),
        _ => {}
    }
    s.arena.operands(node).into_iter().for_each(|x| arguments_in(s, x, (bases, factors), seen));
}

/// What is known of loops and variables where a node stands.
#[derive(Clone, Default)]
struct Known {
    /// The iterations of loops with one iteration.
    counters: BTreeMap<u32, i64>,
    /// The values of variables, by the warps that have them.
    vars: BTreeMap<u32, Vec<(Set, Option<i64>)>>,
    /// The warps that read.
    now: Set,
}

impl Inside for Known {
    fn counter(&self, header: u32) -> Option<i64> {
        self.counters.get(&header).copied()
    }

    fn var(&self, var: u32) -> Option<i64> {
        let read: Vec<&(Set, Option<i64>)> = self.vars.get(&var)?.iter().filter(|(w, _)| w & self.now != 0).collect();
        let covered = read.iter().fold(0, |all, (w, _)| all | w);
        let v = read.first()?.1?;
        (covered & self.now == self.now && read.iter().all(|(_, x)| *x == Some(v))).then_some(v)
    }
}

impl Known {
    fn set(&mut self, var: u32, warps: Set, v: Option<i64>) {
        let list = self.vars.entry(var).or_default();
        list.iter_mut().for_each(|(w, _)| *w &= !warps);
        list.retain(|(w, _)| *w != 0);
        list.push((warps, v));
    }

    /// Forgets the variables that nodes set.
    fn forget(&mut self, list: &[Merged]) {
        each_node(list, &mut |n| {
            if let MergedKind::Set(v, _) = n.kind {
                self.set(v, n.warps, None);
            }
        });
    }
}

/// One pass over the tree.
struct Pass<'p, 'c, 'a> {
    s: &'p mut Shared<'a>,
    values: LaunchValues<'c>,
    inside: Known,
    /// Outcomes and trip counts.
    decided: Vec<i64>,
    /// Trip counts of loops of all warps, by the block with which the loop begins.
    trips: BTreeMap<u32, i64>,
    /// All warps.
    all: Set,
}

/// Whether a value of the launch decides a term.
fn of_launch_values(a: &Arena, t: Term) -> bool {
    let of_values = |x: Atom| !matches!(x, Atom::Counter(h) if h != NO_LOOP) && !matches!(x, Atom::Var(_));
    a.mentions(t, of_values) || a.reads_memory(t)
}

impl Pass<'_, '_, '_> {
    fn value(&mut self, t: Term, warps: Set) -> Option<i64> {
        self.inside.now = warps;
        self.values.value(&mut self.s.arena, t, &self.inside)
    }

    /// Whether the launch belongs to the case, and all assertions hold in it.
    fn is_of_case(&mut self) -> Option<()> {
        let cases = self.s.cases.clone();
        for outcome in &cases.outcomes {
            let condition = *cases.conditions.get(&outcome.at)?;
            (self.value(condition, 0)? == i64::from(outcome.taken)).then_some(())?;
        }
        for condition in cases.asserted.keys() {
            (self.value(*condition, 0)? != 0).then_some(())?;
        }
        for (path, holds) in cases.behind.iter().map(|b| b.condition()) {
            let mut reached = true;
            for c in path {
                reached = reached && self.value(*c, 0)? != 0;
            }
            (!reached || self.value(holds, 0)? != 0).then_some(())?;
        }
        Some(())
    }

    fn list(&mut self, list: &[Merged]) -> Option<Vec<Merged>> {
        let mut out = Vec::with_capacity(list.len());
        for n in list {
            let kind = match &n.kind {
                MergedKind::Op(ops) => {
                    let mut all = Vec::with_capacity(ops.len());
                    for (warp, lanes, e) in ops {
                        all.push((*warp, *lanes, self.effect(e, 1 << *warp)?));
                    }
                    MergedKind::Op(all)
                }
                MergedKind::If(c, a, b) => match self.value(*c, n.warps) {
                    Some(v) => {
                        self.decided.push(v);
                        out.extend(self.list(if v != 0 { a } else { b })?);
                        continue;
                    }
                    None => {
                        let c = self.term(*c, n.warps)?;
                        let before = self.inside.clone();
                        let a = self.list(a)?;
                        self.inside = before;
                        let b = self.list(b)?;
                        self.inside.forget(&a);
                        self.inside.forget(&b);
                        MergedKind::If(c, a, b)
                    }
                },
                MergedKind::For(h, count, body) => {
                    let trips = self.value(*count, n.warps)?;
                    let trips = trips.max(0);
                    self.decided.push(trips);
                    if n.warps == self.all {
                        self.trips.insert(*h, trips);
                    }
                    if trips == 0 {
                        continue;
                    }
                    if trips > MOST {
                        return None;
                    }
                    if trips == 1 {
                        self.inside.counters.insert(*h, 0);
                    } else {
                        self.inside.forget(body);
                    }
                    let body = self.list(body)?;
                    self.inside.counters.remove(h);
                    if trips > 1 {
                        self.inside.forget(&body);
                    }
                    MergedKind::For(*h, self.s.arena.int(trips), body)
                }
                MergedKind::Set(v, t) => {
                    let value = self.value(*t, n.warps);
                    let t = self.term(*t, n.warps)?;
                    self.inside.set(*v, n.warps, value);
                    MergedKind::Set(*v, t)
                }
                MergedKind::End => MergedKind::End,
            };
            out.push(Merged { kind, ..n.clone() });
        }
        Some(out)
    }

    /// A term with the values of the launch. Iterations and variables stay.
    fn term(&mut self, t: Term, warps: Set) -> Option<Term> {
        if !of_launch_values(&self.s.arena, t) {
            return Some(t);
        }
        let varies = |x: Atom| matches!(x, Atom::Counter(h) if h != NO_LOOP) || matches!(x, Atom::Var(_));
        let whole = !self.s.arena.mentions(t, varies);
        let node = self.s.arena.node(t).clone();
        // A word that an iteration reads is one of the first iteration.
        if whole || matches!(node, Node::Atom(_) | Node::Op(Op::Load | Op::Trips | Op::HowOften | Op::MulHigh, _)) {
            let v = self.value(t, warps)?;
            return Some(self.s.arena.int(v));
        }
        Some(match node {
            Node::Sum(k, parts) => {
                let mut all = self.s.arena.int(k);
                for (x, by) in parts.iter() {
                    let x = self.term(*x, warps)?;
                    let x = self.s.arena.scale(x, *by);
                    all = self.s.arena.add(all, x);
                }
                all
            }
            Node::Op(op, args) => {
                let args: Option<Vec<Term>> = args.iter().map(|x| self.term(*x, warps)).collect();
                self.s.arena.op(op, &args?)
            }
            Node::Table(i, first, cycle) => {
                let i = self.term(i, warps)?;
                self.s.arena.table(i, first.to_vec(), cycle.to_vec())
            }
            Node::Const(_) | Node::Atom(_) => t,
        })
    }

    /// An operation with the values of the launch. Numbers that must fit to others are left to what states them.
    fn effect(&mut self, e: &Effect, warps: Set) -> Option<Effect> {
        let a = &self.s.arena;
        let (fixed, stated): (Vec<Term>, Vec<Term>) = match e {
            Effect::Init(_, count) => (vec![*count], Vec::new()),
            Effect::Arrive { count, expect, cta, .. } => {
                (cta.iter().chain([count]).copied().collect(), expect.iter().copied().collect())
            }
            Effect::Expect { bytes, cta, .. } => (cta.iter().copied().collect(), vec![*bytes]),
            Effect::BulkLoad { bytes, multicast, cta, .. } => {
                (multicast.iter().chain(cta).copied().collect(), bytes.iter().copied().collect())
            }
            Effect::BulkStore { bytes, .. } => (Vec::new(), bytes.iter().copied().collect()),
            Effect::TensorCommit { multicast, cta, .. } => (multicast.iter().chain(cta).copied().collect(), Vec::new()),
            Effect::Far { cta, .. } => (cta.iter().copied().collect(), Vec::new()),
            _ => (Vec::new(), Vec::new()),
        };
        if fixed.iter().any(|t| of_launch_values(a, *t)) {
            return None;
        }
        if !terms_of(e).iter().any(|t| of_launch_values(a, *t)) {
            return Some(e.clone());
        }
        let mut lacks = false;
        let e = map_effect(e.clone(), &mut |t| {
            if stated.contains(&t) {
                return t;
            }
            self.term(t, warps).unwrap_or_else(|| {
                lacks = true;
                t
            })
        });
        (!lacks).then_some(e)
    }
}
