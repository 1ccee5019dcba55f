//! Barriers of all threads at which no operation is in flight. Such a barrier orders everything after it behind
//! everything before it.

use std::collections::BTreeSet;

use crate::symbolic::Term;

use super::merge::{Merged, MergedKind, Set, each_op};
use super::shared::Shared;
use super::tree::{Effect, Stream, Touch};

/// The kinds of operations that may be in flight, as bits.
type Open = u8;

const COPIES: Open = 1;
const WGMMA: Open = 2;
const STORES: Open = 4;
const TENSOR_LOADS: Open = 8;
const TENSOR_STORES: Open = 16;
/// Bulk copies and matrix multiplications in tensor memory, which signal mbarriers.
const SIGNALS: Open = 32;

/// The operations of a kernel that can be in flight.
#[derive(Debug)]
pub(super) struct Resets {
    everyone: Set,
    threads: i64,
    /// How many operations of the kernel start each.
    started: [usize; 8],
    /// All mbarriers that are initialised.
    barriers: BTreeSet<Term>,
    /// Whether there is an operation that no barrier of all threads ends.
    never: bool,
}

/// The operations that may be in flight at one point.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub(super) fn of(s: &Shared<'_>, tree: &[Merged], everyone: Set) -> Resets {
        let threads = s.block.iter().map(|n| *n as i64).product();
        let mut all = Resets { everyone, threads, started: [0; 8], barriers: BTreeSet::new(), never: s.ctas() > 1 };
        each_op(tree, &mut |_, (_, _, e)| {
            count(&mut all.started, starts(e));
            match e {
                Effect::Init(bar, _) => drop(all.barriers.insert(*bar)),
                // Arrivals that stay pending at a barrier of some threads.
                Effect::Bar(id, n, sync) => all.never |= *id != 0 || *n != threads || !sync,
                Effect::ClusterArrive(_) | Effect::ClusterWait => all.never = true,
                _ => {}
            }
        });
        all
    }

    /// Whether code beside a list starts something that may be in flight.
    pub(super) fn starts_beside(&self, list: &[Merged]) -> bool {
        self.outside(list) != 0
    }

    fn outside(&self, list: &[Merged]) -> Open {
        let mut inside = [0; 8];
        each_op(list, &mut |_, (_, _, e)| count(&mut inside, starts(e)));
        (0..8).filter(|i| self.started[*i] > inside[*i]).fold(0, |all, i| all | 1 << i)
    }

    /// Whether a fence may be missing between an access before a barrier and one behind it: engines read shared memory.
    pub(super) fn need_fences(&self) -> bool {
        (0..8).any(|i| (WGMMA | STORES | SIGNALS) >> i & 1 == 1 && self.started[i] > 0)
    }

    /// A barrier of all threads at which nothing is in flight, and that each execution of a list comes to: its place in the
    /// list.
    pub(super) fn within(&self, list: &[Merged]) -> Option<usize> {
        let mut begins = BTreeSet::new();
        let mut odd = false;
        each_op(list, &mut |_, (_, _, e)| match e {
            Effect::Init(bar, _) => drop(begins.insert(*bar)),
            Effect::Regs(..) | Effect::GridWait | Effect::Tensor { .. } => odd = true,
            _ => {}
        });
        if self.never || odd || ends(list) || begins != self.barriers || !committed(list) {
            return None;
        }
        // What other code starts may be in flight when the first execution begins, and what the list leaves when another does.
        let outside = self.outside(list);
        let mut now = State { open: outside, loose: outside, live: BTreeSet::new() };
        loop {
            let before = now.clone();
            list.iter().for_each(|n| self.step(n, &mut now));
            now.join(&before);
            if now == before {
                break;
            }
        }
        list.iter().position(|n| {
            let met = matches!(self.by_all(n), Some(Effect::Bar(..))) && now.open == 0 && now.live.is_empty();
            self.step(n, &mut now);
            met
        })
    }

    /// The operations that are in flight after a node.
    fn step(&self, n: &Merged, now: &mut State) {
        let ops = match &n.kind {
            MergedKind::Op(ops) => ops,
            MergedKind::If(_, a, b) => {
                let mut other = now.clone();
                a.iter().for_each(|n| self.step(n, now));
                b.iter().for_each(|n| self.step(n, &mut other));
                return now.join(&other);
            }
            MergedKind::For(_, _, body) => {
                // After zero, one or several iterations.
                loop {
                    let before = now.clone();
                    body.iter().for_each(|n| self.step(n, now));
                    now.join(&before);
                    if *now == before {
                        return;
                    }
                }
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
