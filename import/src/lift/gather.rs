//! Joins nodes for which one operation of the engine can stand: accesses of the same warps to one array, instructions
//! of several blocks, and products in a row. Only arithmetic may be between joined accesses.
//!
//! A tile that sixteen `cp.async` instructions copy becomes one copy of that tile.

use std::collections::BTreeMap;

use super::merge::{Merged, MergedKind};
use super::shared::Shared;
use super::timed::sample;
use super::tree::{Effect, Global, GlobalAccess, Touch};

/// The operations of warps at a node: warp, lanes, effect.
type Ops = Vec<(u32, u32, Effect)>;

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
pub(super) fn gather(s: &mut Shared<'_>, tree: Vec<Merged>) -> Vec<Merged> {
    Gather { s, first: BTreeMap::new() }.list(tree)
}

struct Gather<'g, 'a> {
    s: &'g mut Shared<'a>,
    /// For each load that joined another one, that one.
    first: BTreeMap<u32, u32>,
}

impl Gather<'_, '_> {
    fn list(&mut self, list: Vec<Merged>) -> Vec<Merged> {
        let mut out: Vec<Merged> = Vec::new();
        let mut open: BTreeMap<(Class, u16), Open> = BTreeMap::new();
        // The assembler issues a load as soon as it can, but not before a barrier or a branch.
        let mut earliest = 0;
        let mut rest = list.into_iter().peekable();
        while let Some(mut n) = rest.next() {
            n.kind = match n.kind {
                MergedKind::If(c, a, b) => {
                    let (a, b) = (self.list(a), self.list(b));
                    MergedKind::If(c, a, b)
                }
                MergedKind::For(h, count, body) => MergedKind::For(h, count, self.list(body)),
                kind => kind,
            };
            let MergedKind::Op(ops) = &mut n.kind else {
                open.clear();
                out.push(n);
                earliest = out.len();
                continue;
            };
            match &mut ops[0].2 {
                Effect::Work(_) => {
                    if !out.last_mut().is_some_and(|last| add_work(last, ops)) {
                        out.push(n);
                    }
                }
                Effect::Product(..) => {
                    if !out.last_mut().is_some_and(|last| add_products(last, ops)) {
                        out.push(n);
                    }
                }
                Effect::Use(_) => {
                    for (_, _, e) in ops.iter_mut() {
                        if let Effect::Use(load) = e {
                            *load = self.first.get(load).copied().unwrap_or(*load);
                        }
                    }
                    open.retain(|(class, _), _| *class != Class::Load);
                    out.push(n);
                }
                Effect::Global(g) => {
                    let (class, param) = match g.how {
                        GlobalAccess::Load(_) => (Class::Load, g.param),
                        GlobalAccess::Store => (Class::Store, g.param),
                        GlobalAccess::Atomic => (Class::Atomic, g.param),
                        GlobalAccess::Copy => (Class::Copy, g.param),
                        GlobalAccess::BoxLoad | GlobalAccess::BoxStore => {
                            out.push(n);
                            continue;
                        }
                    };
                    let copy = class == Class::Copy && rest.peek().is_some_and(|c| is_copy(c, n.at));
                    let second = if copy { rest.next() } else { None };
                    let known = open.get(&(class, param)).copied().filter(|o| o.copy == copy);
                    if let Some(o) = known
                        && self.join(&mut out, o, &n, second.as_ref())
                    {
                        continue;
                    }
                    if class == Class::Load {
                        open.values_mut().filter(|o| o.index >= earliest).for_each(|o| o.index += 1);
                        open.insert((class, param), Open { index: earliest, copy });
                        out.insert(earliest, n);
                        earliest += 1;
                        continue;
                    }
                    open.insert((class, param), Open { index: out.len(), copy });
                    out.push(n);
                    out.extend(second);
                }
                Effect::Touch(Touch::Read, _) | Effect::Passes(_) => out.push(n),
                Effect::Touch(Touch::Write, _) => {
                    open.clear();
                    out.push(n);
                }
                _ => {
                    open.clear();
                    out.push(n);
                    earliest = out.len();
                }
            }
        }
        out
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
