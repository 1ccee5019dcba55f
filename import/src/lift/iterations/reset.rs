//! Barriers of all threads at which no operation is in flight. Such a barrier orders everything after it behind
//! everything before it.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::merge::{Merged, MergedKind, Set, each_op};
use crate::lift::tree::{Effect, Fence, Stream, Touch};
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Term};

/// The kinds of operations that may be in flight, as bits.
type Open = u8;

const COPIES: Open = 1;
const WGMMA: Open = 2;
const STORES: Open = 4;
const TENSOR_LOADS: Open = 8;
const TENSOR_STORES: Open = 16;
/// Bulk copies and matrix multiplications in tensor memory, which signal mbarriers.
const SIGNALS: Open = 32;

/// A missing `fence.proxy.async`.
const ASYNC: u8 = 1;
/// A missing `wgmma.fence`.
const REGISTERS: u8 = 2;

/// The operations of a kernel that can be in flight.
#[derive(Debug)]
pub(crate) struct Resets {
    everyone: Set,
    threads: i64,
    /// How many operations of the kernel start each.
    started: [usize; 8],
    /// The state in which iterations begin, by the header of the loop.
    begins: BTreeMap<u32, State>,
    /// Whether there is an operation that no barrier of all threads ends.
    never: bool,
}

/// A list, cut at a barrier at which nothing is in flight.
#[derive(Debug)]
pub(crate) struct Halves {
    /// What comes before the barrier.
    pub(crate) head: Vec<Merged>,
    /// The barrier and what is behind it.
    pub(crate) tail: Vec<Merged>,
}

/// The operations that may be in flight at one point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    open: Open,
    /// Those of them that may not be in a group yet.
    loose: Open,
    /// mbarriers that may be initialized.
    live: BTreeSet<Term>,
}

impl State {
    fn join(&mut self, other: &State) {
        self.open |= other.open;
        self.loose |= other.loose;
        self.live.extend(&other.live);
    }
}

/// The operations that an effect starts.
fn starts(e: &Effect) -> Open {
    match e {
        Effect::Touch(Touch::Copy, _) => COPIES,
        Effect::Wgmma { .. } => WGMMA,
        Effect::BulkStore { .. } => STORES,
        Effect::TensorLoad(_) => TENSOR_LOADS,
        Effect::TensorStore(_) => TENSOR_STORES,
        Effect::BulkLoad { .. } | Effect::TensorProduct { .. } | Effect::TensorCommit { .. } => SIGNALS,
        Effect::CopyArrive(..) => COPIES | SIGNALS,
        _ => 0,
    }
}

fn count(all: &mut [usize; 8], started: Open) {
    all.iter_mut().enumerate().for_each(|(i, n)| *n += usize::from(started >> i & 1));
}

fn stream(s: Stream) -> Open {
    match s {
        Stream::Copy => COPIES,
        Stream::Wgmma => WGMMA,
        Stream::Bulk | Stream::BulkRead => STORES,
    }
}

impl Resets {
    pub(crate) fn of(s: &Shared<'_>, tree: &[Merged], everyone: Set) -> Resets {
        let threads = s.block.iter().map(|n| *n as i64).product();
        let never = s.ctas() > 1 || !committed(tree);
        let mut all = Resets { everyone, threads, started: [0; 8], begins: BTreeMap::new(), never };
        each_op(tree, &mut |_, (_, _, e)| {
            count(&mut all.started, starts(e));
            match e {
                // Arrivals that stay pending at a barrier of some threads.
                Effect::Bar(id, n, sync) => all.never |= *id != 0 || *n != threads || !sync,
                Effect::ClusterArrive(_) | Effect::ClusterWait => all.never = true,
                _ => {}
            }
        });
        let mut begins: BTreeMap<u32, State> = BTreeMap::new();
        let mut begun = |header, state: &State| begins.entry(header).or_default().join(state);
        all.steps(&s.arena, tree, &mut State::default(), &mut begun);
        all.begins = begins;
        all
    }

    /// Whether code beside a list starts something that may be in flight.
    pub(crate) fn starts_beside(&self, list: &[Merged]) -> bool {
        self.outside(list) != 0
    }

    fn outside(&self, list: &[Merged]) -> Open {
        let mut inside = [0; 8];
        each_op(list, &mut |_, (_, _, e)| count(&mut inside, starts(e)));
        (0..8).filter(|i| self.started[*i] > inside[*i]).fold(0, |all, i| all | 1 << i)
    }

    /// Whether a fence may be missing between an access before the barrier of an iteration and one behind it. That can be
    /// where an engine accesses memory, and not all threads are known to pass a fence between the barrier and this access.
    pub(crate) fn need_fences(&self, a: &Arena, halves: &Halves) -> bool {
        let engines = WGMMA | STORES | SIGNALS;
        if (0..8).all(|i| engines >> i & 1 == 0 || self.started[i] == 0) {
            return false;
        }
        let mut without = ASYNC | REGISTERS;
        self.unfenced(a, &halves.tail, &mut without) || self.unfenced(a, &halves.head, &mut without)
    }

    /// Whether an engine may access memory before a fence of all threads. `without` has the fences that are missing yet.
    fn unfenced(&self, a: &Arena, list: &[Merged], without: &mut u8) -> bool {
        list.iter().any(|n| {
            let before = *without;
            match &n.kind {
                MergedKind::Op(ops) => {
                    match self.by_all(n) {
                        Some(Effect::Fence(Fence::Async)) => *without &= !ASYNC,
                        Some(Effect::Fence(Fence::Wgmma)) => *without &= !REGISTERS,
                        _ => {}
                    }
                    let needs = |e: &Effect| match starts(e) {
                        WGMMA => ASYNC | REGISTERS,
                        STORES | SIGNALS => ASYNC,
                        _ => 0,
                    };
                    ops.iter().any(|(_, _, e)| needs(e) & *without != 0)
                }
                MergedKind::If(_, yes, no) => {
                    let mut other = before;
                    let found = self.unfenced(a, yes, without) || self.unfenced(a, no, &mut other);
                    *without |= other;
                    found
                }
                MergedKind::For(_, count, body) => {
                    let found = self.unfenced(a, body, without);
                    if a.range(*count).0 < 1 {
                        *without = before;
                    }
                    found
                }
                MergedKind::Set(..) | MergedKind::End => false,
            }
        })
    }

    /// The part of a loop's iteration that acts, cut at a barrier of all threads at which nothing is in flight. Each
    /// iteration comes to this barrier. It is the last one of its kind, so that little is behind it. Where no barrier of the
    /// list itself is one, each side of a branch can have its own; then the branch is in both halves.
    pub(crate) fn within(&self, a: &Arena, header: u32, list: &[Merged]) -> Option<Halves> {
        let mut odd = false;
        each_op(list, &mut |_, (_, _, e)| {
            odd |= matches!(e, Effect::Regs(..) | Effect::GridWait | Effect::Tensor { .. });
        });
        if self.never || odd || ends(list) {
            return None;
        }
        self.halves(a, list, self.begins.get(&header)?.clone())
    }

    /// The halves of a list that begins in a state.
    fn halves(&self, a: &Arena, list: &[Merged], begin: State) -> Option<Halves> {
        let mut states = Vec::with_capacity(list.len());
        let mut now = begin;
        for n in list {
            states.push(now.clone());
            self.step(a, n, &mut now, &mut |_, _| {});
        }
        let at = |i: &usize| {
            let still = states[*i].open == 0 && states[*i].live.is_empty();
            still && matches!(self.by_all(&list[*i]), Some(Effect::Bar(..)))
        };
        if let Some(i) = (0..list.len()).rev().find(at) {
            return Some(Halves { head: list[..i].to_vec(), tail: list[i..].to_vec() });
        }
        list.iter().enumerate().rev().find_map(|(i, n)| {
            let MergedKind::If(c, yes, no) = &n.kind else { return None };
            if n.warps != self.everyone {
                return None;
            }
            let (yes, no) = (self.halves(a, yes, states[i].clone())?, self.halves(a, no, states[i].clone())?);
            let branch = |yes, no| Merged { kind: MergedKind::If(*c, yes, no), ..*n };
            let (first, last) = (branch(yes.head, no.head), branch(yes.tail, no.tail));
            Some(Halves { head: [&list[..i], &[first]].concat(), tail: [&[last], &list[i + 1..]].concat() })
        })
    }

    /// The operations that are in flight after a list. `begun` gets the state in which the iterations of a loop begin.
    fn steps(&self, a: &Arena, list: &[Merged], now: &mut State, begun: &mut dyn FnMut(u32, &State)) {
        list.iter().for_each(|n| self.step(a, n, now, begun));
    }

    /// The operations that are in flight after a node.
    fn step(&self, a: &Arena, n: &Merged, now: &mut State, begun: &mut dyn FnMut(u32, &State)) {
        let ops = match &n.kind {
            MergedKind::Op(ops) => ops,
            MergedKind::If(_, yes, no) => {
                let mut other = now.clone();
                self.steps(a, yes, now, begun);
                self.steps(a, no, &mut other, begun);
                return now.join(&other);
            }
            MergedKind::For(header, count, body) => {
                let end = loop {
                    let mut end = now.clone();
                    self.steps(a, body, &mut end, begun);
                    let before = now.clone();
                    now.join(&end);
                    if *now == before {
                        break end;
                    }
                };
                begun(*header, now);
                // A loop may make no iteration.
                if a.range(*count).0 >= 1 {
                    *now = end;
                }
                return;
            }
            MergedKind::Set(..) | MergedKind::End => return,
        };
        match self.by_all(n) {
            Some(Effect::Commit(c)) => now.loose &= !stream(*c),
            Some(Effect::WaitGroup(c, 0)) => now.open &= !stream(*c) | now.loose,
            Some(Effect::TensorWait(load)) => now.open &= if *load { !TENSOR_LOADS } else { !TENSOR_STORES },
            _ => {}
        }
        for (_, _, e) in ops {
            now.open |= starts(e);
            now.loose |= starts(e);
            match e {
                Effect::Init(bar, _) => drop(now.live.insert(*bar)),
                // When an mbarrier ends, all operations that it tracks have completed: the verifier checks this.
                Effect::Inval(bar) if now.live.remove(bar) && now.live.is_empty() => now.open &= !SIGNALS,
                _ => {}
            }
        }
    }

    /// The operation that all threads perform in a node, if it is one operation.
    fn by_all<'n>(&self, n: &'n Merged) -> Option<&'n Effect> {
        let MergedKind::Op(ops) = &n.kind else { return None };
        let full = |w: u32, lanes: u32| {
            let left = self.threads - i64::from(w) * 32;
            i64::from(lanes.count_ones()) == left.clamp(0, 32)
        };
        let all = n.warps == self.everyone && ops.iter().all(|(w, l, e)| *e == ops[0].2 && full(*w, *l));
        all.then_some(&ops[0].2)
    }
}

/// Whether a warp may end in a list.
fn ends(list: &[Merged]) -> bool {
    list.iter().any(|n| match &n.kind {
        MergedKind::End => true,
        MergedKind::If(_, a, b) => ends(a) || ends(b),
        MergedKind::For(_, _, body) => ends(body),
        _ => false,
    })
}

/// Whether a commit follows each matrix multiplication of tensor memory in the same list.
fn committed(list: &[Merged]) -> bool {
    let mut open = false;
    for n in list {
        match &n.kind {
            MergedKind::Op(ops) => match ops[0].2 {
                Effect::TensorProduct { .. } => open = true,
                Effect::TensorCommit { .. } => open = false,
                _ => {}
            },
            MergedKind::If(_, a, b) if !committed(a) || !committed(b) => return false,
            MergedKind::For(_, _, body) if !committed(body) => return false,
            _ => {}
        }
    }
    !open
}
