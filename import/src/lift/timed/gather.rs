//! Joins nodes for which one operation of the engine can stand: accesses of the same warps to one array, instructions
//! of several blocks, and products in a row. Only arithmetic may be between joined accesses.
//!
//! A tile that sixteen `cp.async` instructions copy becomes one copy of that tile.

use std::collections::BTreeMap;

use crate::lift::launch::ParamField;
use crate::lift::merge::{Merged, MergedKind};
use crate::lift::tree::{Effect, Global, GlobalAccess, Touch};
use crate::lift::walk::shared::Shared;
use crate::sass::LoadOrder;

use super::{SHARED_LOAD, sample};

/// The operations of warps at a node: warp, lanes, effect.
type Ops = Vec<(u32, u32, Effect)>;

/// A load that the machine code issues only once other loads are used.
#[derive(Debug)]
struct Held {
    /// Uses of loads before it, since the last barrier or branch.
    uses: u32,
    node: Merged,
}

/// An access that later ones may join: its index in the list, and whether the copy to shared memory follows it.
#[derive(Clone, Copy, Debug)]
struct Open {
    index: usize,
    copy: bool,
}

/// The kinds of access that join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Load,
    Store,
    Atomic,
    Copy,
}

/// The tree with joined accesses.
pub(crate) fn gather(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    let order = s.timing.as_ref().and_then(|t| t.load_order.clone()).unwrap_or_default();
    Gather { s, order, first: BTreeMap::new() }.list(tree)
}

struct Gather<'g, 'a> {
    s: &'g mut Shared<'a>,
    /// The order of loads in the machine code, if it is known.
    order: LoadOrder,
    /// For each load that joined another one, that one.
    first: BTreeMap<u32, u32>,
}

/// The nodes of a list so far.
#[derive(Debug, Default)]
struct Sequence {
    out: Vec<Merged>,
    /// The accesses that later ones may join.
    open: BTreeMap<(Class, Option<ParamField>), Open>,
    /// Where the assembler can issue a load at the earliest: behind the last barrier or branch.
    earliest: usize,
    /// First uses of loads since then.
    uses: u32,
    /// Loads that the machine code issues later.
    held: Vec<Held>,
}

impl Gather<'_, '_> {
    fn list(&mut self, list: Vec<Merged>) -> Vec<Merged> {
        let mut s = Sequence::default();
        let mut rest = list.into_iter().peekable();
        while let Some(mut n) = rest.next() {
            n.kind = match n.kind {
                MergedKind::If(c, a, b) => {
                    let (a, b) = (self.list(a), self.list(b));
                    MergedKind::If(c, a, b)
                }
                MergedKind::For(h, count, body) => {
                    let body = self.list(body);
                    MergedKind::For(h, count, super::unrolled::unrolled(&mut self.s.arena, (h, count), body))
                }
                kind => kind,
            };
            let MergedKind::Op(ops) = &mut n.kind else {
                self.end(&mut s, n);
                continue;
            };
            match &mut ops[0].2 {
                Effect::Work(_) => {
                    if !s.out.last_mut().is_some_and(|last| add_work(last, ops)) {
                        s.out.push(n);
                    }
                }
                Effect::Product(..) => {
                    if !s.out.last_mut().is_some_and(|last| add_products(last, ops)) {
                        s.out.push(n);
                    }
                }
                Effect::Use(_) => self.used(&mut s, n),
                Effect::Global(g) => {
                    let source = g.source;
                    let class = match g.how {
                        GlobalAccess::Load(_) => Class::Load,
                        GlobalAccess::Store => Class::Store,
                        GlobalAccess::Atomic => Class::Atomic,
                        GlobalAccess::Copy => Class::Copy,
                        GlobalAccess::BoxLoad | GlobalAccess::BoxStore => {
                            s.out.push(n);
                            continue;
                        }
                    };
                    let copy = class == Class::Copy && rest.peek().is_some_and(|c| is_copy(c, n.at));
                    let second = if copy { rest.next() } else { None };
                    let held = self.order.uses.get(&(n.at as u32)).copied().filter(|_| class == Class::Load);
                    if let Some(uses) = held {
                        s.held.push(Held { uses, node: n });
                        continue;
                    }
                    let known = s.open.get(&(class, source)).copied().filter(|o| o.copy == copy);
                    if let Some(o) = known
                        && self.join(&mut s.out, o, &n, second.as_ref())
                    {
                        continue;
                    }
                    if class == Class::Load {
                        let earliest = s.earliest;
                        s.open.values_mut().filter(|o| o.index >= earliest).for_each(|o| o.index += 1);
                        s.open.insert((class, source), Open { index: earliest, copy });
                        s.out.insert(earliest, n);
                        s.earliest += 1;
                        continue;
                    }
                    s.open.insert((class, source), Open { index: s.out.len(), copy });
                    s.out.push(n);
                    s.out.extend(second);
                }
                Effect::LoadsFrom => {
                    s.open.retain(|(class, _), _| *class != Class::Load);
                    s.earliest = s.out.len();
                }
                Effect::Touch(Touch::Read, _) | Effect::Passes(_) => s.out.push(n),
                Effect::Touch(Touch::Write, _) => {
                    s.open.clear();
                    s.out.push(n);
                }
                _ => self.end(&mut s, n),
            }
        }
        self.issue(&mut s, |_| true);
        s.out
    }

    /// Adds a barrier, a branch or another node that no load crosses.
    fn end(&mut self, s: &mut Sequence, n: Merged) {
        self.issue(s, |_| true);
        s.open.clear();
        s.out.push(n);
        (s.earliest, s.uses) = (s.out.len(), 0);
    }

    /// Adds the first use of a load. Loads that the machine code issues before it come first.
    fn used(&mut self, s: &mut Sequence, mut n: Merged) {
        let MergedKind::Op(ops) = &mut n.kind else { return };
        let numbers: Vec<u32> =
            ops.iter().filter_map(|o| if let Effect::Use(load) = o.2 { Some(load) } else { None }).collect();
        let uses = s.uses;
        self.issue(s, |h| h.uses <= uses || numbers.contains(&(h.node.at as u32)));
        for (_, _, e) in ops.iter_mut() {
            if let Effect::Use(load) = e {
                *load = self.first.get(load).copied().unwrap_or(*load);
            }
        }
        s.open.retain(|(class, _), _| *class != Class::Load);
        s.uses += u32::from(numbers.iter().any(|l| *l != SHARED_LOAD));
        s.out.push(n);
    }

    /// Issues the held loads for which a condition holds.
    fn issue(&mut self, s: &mut Sequence, now: impl Fn(&Held) -> bool) {
        let from = s.out.len();
        let (issued, held): (Vec<Held>, Vec<Held>) = std::mem::take(&mut s.held).into_iter().partition(now);
        s.held = held;
        for Held { node, .. } in issued {
            let MergedKind::Op(ops) = &node.kind else { continue };
            let Effect::Global(Global { source, .. }) = ops[0].2 else { continue };
            let known = s.open.get(&(Class::Load, source)).copied().filter(|o| o.index >= from);
            if known.is_some_and(|o| self.join(&mut s.out, o, &node, None)) {
                continue;
            }
            s.open.insert((Class::Load, source), Open { index: s.out.len(), copy: false });
            s.out.push(node);
        }
    }

    /// Joins an access to an earlier one, if the warps are the same and the distance between both is known.
    fn join(&mut self, out: &mut [Merged], open: Open, n: &Merged, second: Option<&Merged>) -> bool {
        let (MergedKind::Op(old), MergedKind::Op(new)) = (&out[open.index].kind, &n.kind) else { return false };
        if !same_warps(old, new) || out[open.index].warps != n.warps {
            return false;
        }
        let mut joined: Ops = Vec::new();
        for ((w, lanes, x), (_, _, y)) in old.iter().zip(new) {
            let (Effect::Global(x), Effect::Global(y)) = (x, y) else { return false };
            let shift = match (x.at.as_slice(), y.at.as_slice()) {
                ([a], [b]) => {
                    let d = self.s.arena.sub(*b, *a);
                    sample(&mut self.s.arena, d)
                }
                ([], []) => Some(x.lanes.iter().map(|(at, n)| at + i64::from(*n)).max().unwrap_or(0)),
                _ => None,
            };
            let Some(shift) = shift else { return false };
            let mut lanes_of = x.lanes.clone();
            lanes_of.extend(y.lanes.iter().map(|(at, n)| (at + shift, *n)));
            let (instructions, sectors) = (x.instructions + y.instructions, x.sectors + y.sectors);
            joined.push((*w, *lanes, Effect::Global(Global { lanes: lanes_of, instructions, sectors, ..x.clone() })));
        }
        let numbers = match (&old[0].2, &new[0].2) {
            (Effect::Global(x), Effect::Global(y)) => Some((x.how, y.how)),
            _ => None,
        };
        if let Some(second) = second {
            let (MergedKind::Op(to), MergedKind::Op(from)) = (&mut out[open.index + 1].kind, &second.kind) else {
                return false;
            };
            if !same_warps(to, from) {
                return false;
            }
            for ((_, _, x), (_, _, y)) in to.iter_mut().zip(from) {
                if let (Effect::Touch(_, x), Effect::Touch(_, y)) = (x, y) {
                    x.extend(y);
                    x.sort_unstable();
                    x.dedup();
                }
            }
        }
        if let Some((GlobalAccess::Load(a), GlobalAccess::Load(b))) = numbers {
            self.first.insert(b, a);
        }
        out[open.index].kind = MergedKind::Op(joined);
        true
    }
}

fn same_warps(a: &Ops, b: &Ops) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x.0, x.1) == (y.0, y.1))
}

/// Whether a node is the copy to shared memory of the instruction `at`.
fn is_copy(n: &Merged, at: usize) -> bool {
    n.at == at
        && matches!(&n.kind, MergedKind::Op(ops) if matches!(ops.first(), Some((_, _, Effect::Touch(Touch::Copy, _)))))
}

fn add_work(last: &mut Merged, ops: &Ops) -> bool {
    let MergedKind::Op(old) = &mut last.kind else { return false };
    if !same_warps(old, ops) || !old.iter().all(|o| matches!(o.2, Effect::Work(_))) {
        return false;
    }
    for ((_, _, x), (_, _, y)) in old.iter_mut().zip(ops) {
        if let (Effect::Work(x), Effect::Work(y)) = (x, y) {
            *x = x.and(*y);
        }
    }
    true
}

fn add_products(last: &mut Merged, ops: &Ops) -> bool {
    let MergedKind::Op(old) = &mut last.kind else { return false };
    let alike = |x: &Effect, y: &Effect| matches!((x, y), (Effect::Product(a, _), Effect::Product(b, _)) if a == b);
    if !same_warps(old, ops) || !old.iter().zip(ops).all(|(x, y)| alike(&x.2, &y.2)) {
        return false;
    }
    for ((_, _, x), (_, _, y)) in old.iter_mut().zip(ops) {
        if let (Effect::Product(_, x), Effect::Product(_, y)) = (x, y) {
            *x += *y;
        }
    }
    true
}
