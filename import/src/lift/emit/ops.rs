//! Operations.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{
    ArrivalsPer, BarrierCta, Binary, Exact, Executors, Expr, Fence as IrFence, Instr, IssueCount, MmaKind, MoveKind,
    ObjId, Op as IrOp, Order, Phase, Queue, Writes,
};

use crate::lift::build::FIRST;
use crate::lift::effects::tensor::TENSOR;
use crate::lift::merge::Set;
use crate::lift::tree::{Effect, Fence, Key, Stream, Touch};
use crate::ptx::Error;
use crate::symbolic::Term;

use super::Emit;
use super::places::{moved, warp_list, whole};

impl Emit<'_, '_, '_> {
    /// The operations of all warps at one instruction.
    pub(super) fn ops(&mut self, at: usize, ops: &[(u32, u32, Effect)], now: Set) -> Result<(), Error> {
        match ops[0].2 {
            Effect::Global(_) => return self.far(at, ops, now),
            Effect::Passes(_) => {
                let each = ops.iter().filter_map(|(.., e)| if let Effect::Passes(n) = e { Some(*n) } else { None });
                self.passes = each.max();
                return Ok(());
            }
            _ => {}
        }
        let how = match &ops[0].2 {
            Effect::Touch(Touch::Read, _) | Effect::Far { what: Touch::Read, .. } => Some(MoveKind::Lds),
            Effect::Touch(Touch::Write | Touch::Scatter | Touch::Atomic, _) | Effect::Far { .. } => Some(MoveKind::Sts),
            Effect::Touch(Touch::Copy, _) => Some(MoveKind::CpAsync),
            Effect::TensorLoad(_) => Some(MoveKind::TmemLd),
            Effect::TensorStore(_) => Some(MoveKind::TmemSt),
            _ => None,
        };
        if let Some(how) = how {
            // CTAs whose warps access the same bytes form one group.
            let mut by_rank: BTreeMap<(u32, Far), Vec<Touched<'_>>> = BTreeMap::new();
            for (w, lanes, e) in ops.iter().filter(|(w, ..)| now >> w & 1 == 1) {
                let alone = matches!(e, Effect::Touch(Touch::Scatter, _));
                let (atomic, far) = match *e {
                    Effect::Far { what, cta, bar, .. } => (what == Touch::Atomic, Far { cta, bar }),
                    _ => (matches!(e, Effect::Touch(Touch::Atomic, _)), Far::default()),
                };
                let one = Touched { warp: w % self.warps, lanes: *lanes, runs: runs(e), atomic, alone };
                by_rank.entry((w / self.warps, far)).or_default().push(one);
            }
            let mut groups: Vec<(Vec<u32>, Far, Vec<Touched<'_>>)> = Vec::new();
            for ((rank, far), list) in by_rank {
                match groups.iter_mut().find(|(_, f, l)| *f == far && *l == list) {
                    Some((ranks, ..)) if self.sources.is_empty() => ranks.push(rank),
                    _ => groups.push((vec![rank], far, list)),
                }
            }
            let passes = self.passes.take();
            for (ranks, far, list) in groups {
                self.touch(at, (how, far, passes), (&ranks, &list), now)?;
            }
            return Ok(());
        }
        // Groups of warps with the same operation and the same number of lanes.
        let mut groups: Vec<(Set, u32, Cow<'_, Effect>)> = Vec::new();
        for (w, lanes, e) in ops.iter().filter(|(w, ..)| now >> w & 1 == 1) {
            let n = lanes.count_ones();
            let mut e = Cow::Borrowed(e);
            // Any lane of a converged warp may initialize a barrier; it does not matter which.
            let life = matches!(*e, Effect::Init(..) | Effect::Inval(_));
            if n < 32 && threads_act(&e) && !for_warp(&e) && !life && !e.is_work() {
                let lane = lanes.trailing_zeros();
                if n == 1 && *self.lane.entry(*w).or_insert(lane) != lane {
                    let Some(other) = by_another_lane(&e) else {
                        let message = format!("two lanes of warp {} act for it at different places", w % self.warps);
                        return Err(self.error(at, message, "one elected lane a warp"));
                    };
                    e = Cow::Owned(other);
                }
            }
            match groups.iter_mut().find(|(_, m, x)| *m == n && *x == e) {
                Some((warps, ..)) => *warps |= 1 << w,
                None => groups.push((1 << w, n, e)),
            }
        }
        for (warps, lanes, e) in groups {
            self.only(at, warps, now, &mut |s, set| s.group(at, lanes, &e, set))?;
        }
        Ok(())
    }

    /// The accesses of threads of some CTAs at one instruction.
    fn touch(
        &mut self,
        at: usize,
        (how, far, passes): (MoveKind, Far, Option<u32>),
        (ranks, list): (&[u32], &[Touched<'_>]),
        now: Set,
    ) -> Result<(), Error> {
        let feet = self.feet(list.iter().map(|t| (t.warp, t.runs)));
        let parts = feet.len();
        // One operation of each warp stands for an instruction that is timed, whatever parts of shared memory it accesses.
        let mut timed = BTreeSet::new();
        for (n, ((object, slot, ring), mut by_warp)) in feet.into_iter().enumerate() {
            if passes.is_some() {
                by_warp.retain(|w, _| timed.insert(*w));
                if by_warp.is_empty() {
                    continue;
                }
            }
            let mut place = self.place(at, object, slot, &ring, &by_warp)?;
            place.cta = far.cta.map(|t| self.expr(at, t)).transpose()?;
            let mut pieces: Vec<u64> = by_warp.values().map(|e: &Exact| e.pieces).collect();
            pieces.sort_unstable();
            if list.iter().any(|t| t.atomic) {
                place.sel.writes = Writes::Atomic;
            } else if how == MoveKind::Sts && !list.iter().any(|t| t.alone) && pieces.windows(2).any(|w| w[0] == w[1]) {
                place.sel.writes = Writes::SameValues;
                let line = self.s.entry.code[at].line;
                self.s.assume(line, "warps that store to the same bytes at one instruction store the same values");
            }
            let mut set: Set = 0;
            for r in ranks {
                by_warp.keys().for_each(|w| set |= 1 << (r * self.warps + w));
            }
            // The accesses of the lane that acts for its warp are per warp.
            let acts = |w: u32| ranks.iter().map(|r| self.lane.get(&(r * self.warps + w))).min().flatten().copied();
            let one = !matches!(how, MoveKind::TmemLd | MoveKind::TmemSt)
                && list
                    .iter()
                    .all(|t| t.lanes.count_ones() == 1 && t.lanes.trailing_zeros() == acts(t.warp).unwrap_or(0));
            let mut op = self.threads_move(how, place, one);
            if let (IrOp::Move { signals, .. }, Some(bar)) = (&mut op, far.bar) {
                *signals = Some(self.bar(at, bar, far.cta)?);
            }
            if let (IrOp::Move { issue, .. }, Some(passes)) = (&mut op, passes) {
                *issue = IssueCount::Passes(passes);
            }
            if let (MoveKind::CpAsync, Some(block)) = (how, self.sources.get(&ranks[0]).cloned()) {
                let from = self.part_of(&block, n, parts);
                if let IrOp::Move { src, crew, issue, .. } = &mut op {
                    // The instructions of all parts are those of the block, which may be fewer than its parts.
                    let until = |n: usize| block.instructions as usize * n / parts;
                    let instructions = (until(n + 1) - until(n)) as u32;
                    // Other warps may copy to other parts.
                    let warps = by_warp.keys().fold(0u64, |s, w| s | 1 << w);
                    let issued = IssueCount::Instructions(instructions);
                    (*src, *crew, *issue) = (from, block.crew & warps, issued);
                }
            }
            self.by(at, set, now, one, &op)?;
        }
        Ok(())
    }

    /// One operation of some warps, by all their lanes or some.
    fn group(&mut self, at: usize, lanes: u32, e: &Effect, set: Set) -> Result<(), Error> {
        if (lanes == 32 && !matches!(e, Effect::Init(..) | Effect::Inval(_))) || !threads_act(e) || for_warp(e) {
            if matches!(
                e,
                Effect::BulkLoad { .. } | Effect::Init(..) | Effect::TensorProduct { .. } | Effect::TensorCommit { .. }
            ) {
                return Err(self.error(
                    at,
                    "all lanes of a warp do what one lane is meant to do".into(),
                    "one elected lane",
                ));
            }
            return self.effect(at, lanes, e, set);
        }
        if lanes != 1 && e.is_work() {
            return self.effect(at, lanes, e, set);
        }
        let by_any = match e {
            // Of a fence that orders nothing here, it does not matter which lanes execute it.
            Effect::Arrive { .. } | Effect::Init(..) | Effect::Inval(_) | Effect::Fence(Fence::Cta) => true,
            // The stores of several lanes are one bulk group (`bulk_rows.rs`).
            Effect::BulkStore { .. } => true,
            Effect::Commit(s) | Effect::WaitGroup(s, _) => matches!(s, Stream::Bulk | Stream::BulkRead),
            _ => false,
        };
        let several = lanes > 1 && !by_any;
        if several {
            return Err(self.error(at, format!("{lanes} lanes of a warp do this, and not all"), "one lane, or all"));
        }
        let b = self.put(at, Instr::Only(Executors::Elected, 0));
        self.effect(at, lanes, e, set)?;
        self.land(b);
        Ok(())
    }

    /// Whether the lanes met at an `elect.sync` behind which only one lane of each warp has acted. The others are still
    /// there, so another meeting orders nothing that matters.
    fn elected_before(&self) -> bool {
        let is_elect = |i: &Instr| matches!(i, Instr::Op { op: IrOp::Elect, .. });
        let Some(last) = self.code.iter().rposition(is_elect) else { return false };
        let mut next = last + 1;
        while let Some(Instr::Only(Executors::Elected, to)) = self.code.get(next) {
            next = (*to as usize).max(next + 1);
        }
        // No branch around that meeting ends behind it.
        let around = |i: &Instr| i.target().is_some_and(|to| to as usize > last);
        next == self.code.len() && !self.code[..last].iter().any(around)
    }

    fn effect(&mut self, at: usize, lanes: u32, e: &Effect, set: Set) -> Result<(), Error> {
        // One of several in a row is sufficient.
        if *e == Effect::WarpSync && matches!(self.code.last(), Some(Instr::Op { op: IrOp::WarpSync, .. })) {
            return Ok(());
        }
        if *e == Effect::Elect && self.s.timing.is_none() && self.elected_before() {
            return Ok(());
        }
        let ranks = self.ranks(set);
        let warps = ranks.iter().fold(0, |all, r| all | self.of_rank(set, *r));
        let op = match e {
            Effect::Touch(..) | Effect::Far { .. } => return Ok(()),
            Effect::Commit(s) => IrOp::Commit(queue(*s)),
            Effect::WaitGroup(s, n) => IrOp::Wait(queue(*s), Expr::Const(*n)),
            Effect::BulkLoad { to, bar, multicast, cta, .. } => {
                let n = self.plan.loads.get(&(at, *to, *bar)).copied().unwrap_or(0);
                let bar = self.bar(at, *bar, *cta)?;
                let mask = multicast.map(|t| self.expr(at, t)).transpose()?;
                let runs = [(*to, n)];
                let feet = self.feet(warp_list(warps).map(|w| (w, runs.as_slice())));
                let block = self.bulk_block(ranks[0], n);
                let parts = feet.len();
                for (n, ((object, slot, ring), by_warp)) in feet.into_iter().enumerate() {
                    let dst = self.place(at, object, slot, &ring, &by_warp)?;
                    let src = match &block {
                        Some(b) => self.part_of(b, n, parts),
                        None => self.global(&dst),
                    };
                    self.op(at, moved(MoveKind::TmaLoad, src, dst, Some(bar.clone()), mask.clone()));
                }
                return Ok(());
            }
            Effect::BulkStore { from, .. } => {
                let n = self.plan.stores.get(&(at, *from)).copied().unwrap_or(0);
                let runs = [(*from, n)];
                let feet = self.feet(warp_list(warps).map(|w| (w, runs.as_slice())));
                let block = self.bulk_block(ranks[0], n);
                let parts = feet.len();
                for (n, ((object, slot, ring), by_warp)) in feet.into_iter().enumerate() {
                    let src = self.place(at, object, slot, &ring, &by_warp)?;
                    let dst = match &block {
                        Some(b) => self.part_of(b, n, parts),
                        None => self.global(&src),
                    };
                    self.op(at, moved(MoveKind::TmaStore, src, dst, None, None));
                }
                return Ok(());
            }
            Effect::Init(t, _) | Effect::Inval(t) => return self.life(at, *t, matches!(e, Effect::Init(..)), set),
            Effect::Arrive { bar, count, expect, cta, relaxed, cluster, in_step, drop, state } => {
                let bar = self.bar(at, *bar, *cta)?;
                let mut count = self.expr(at, *count)?;
                if lanes > 1 && lanes < 32 && !in_step {
                    count = Expr::binary(Binary::Mul, count, Expr::Const(lanes as i64));
                }
                let expect = expect.map(|t| self.expr(at, t)).transpose()?;
                let per = if *in_step { ArrivalsPer::Warp } else { ArrivalsPer::Thread };
                let (relaxed, cluster, drop, state) = (*relaxed, *cluster, *drop, *state);
                IrOp::Arrive { bar, per, count, expect, relaxed, cluster, drop, state }
            }
            Effect::Expect { bar, bytes, cta } => {
                let bytes = self.expr(at, *bytes)?;
                IrOp::Expect { bar: self.bar(at, *bar, *cta)?, bytes }
            }
            Effect::CopyArrive(bar, noinc) => IrOp::CpArrive { bar: self.bar(at, *bar, None)?, noinc: *noinc },
            Effect::Wait(bar, parity) => {
                let parity = match self.expr(at, *parity)? {
                    // A wait reads the lowest bit alone.
                    Expr::Binary(Binary::Rem, pair) if pair.1 == Expr::Const(2) => pair.0,
                    parity => parity,
                };
                IrOp::MbarWait { bar: self.bar(at, *bar, None)?, phase: Phase::Parity(parity) }
            }
            Effect::WaitState(bar, s) => IrOp::MbarWait { bar: self.bar(at, *bar, None)?, phase: Phase::State(*s) },
            Effect::Bar(id, n, sync) => {
                let threads: i64 = self.s.block.iter().map(|n| *n as i64).product();
                if *id == 0 && *n == threads && *sync {
                    IrOp::Barrier(Order::Shared)
                } else {
                    let bar = self.plan.named.iter().position(|x| x == id).unwrap_or(0) as u16;
                    IrOp::Named { bar, index: Expr::Const(0), threads: Expr::Const(*n), sync: *sync }
                }
            }
            Effect::WarpSync => IrOp::WarpSync,
            Effect::Elect => IrOp::Elect,
            Effect::ClusterArrive(relaxed) => IrOp::ClusterArrive { relaxed: *relaxed },
            Effect::ClusterWait => IrOp::ClusterWait,
            Effect::Fence(f) => IrOp::Fence(match f {
                Fence::Async => IrFence::Async,
                Fence::AsyncGlobal => IrFence::AsyncGlobal,
                Fence::Init => IrFence::MbarrierInit,
                Fence::Wgmma => IrFence::Wgmma,
                Fence::TensorBefore => IrFence::TmemBefore,
                Fence::TensorAfter => IrFence::TmemAfter,
                Fence::Cta => IrFence::Cta,
                Fence::Gpu => IrFence::Gpu,
            }),
            Effect::Regs(n, inc) => IrOp::Regs { count: *n, inc: *inc },
            Effect::GridWait => IrOp::GridWait,
            Effect::Tensor { alloc, base, columns: n, pair } => {
                let (from, to) = (TENSOR + base * 64, TENSOR + (base + n) * 64);
                for (o, r) in self.plan.regions.list.iter().enumerate().filter(|(_, r)| from <= r.base && r.base < to) {
                    if r.end > to {
                        return Err(self.error(
                            at,
                            "tensor memory is used beyond what is allocated".into(),
                            "columns of the allocation",
                        ));
                    }
                    let obj = FIRST + o as ObjId;
                    let pair = *pair;
                    self.op(at, if *alloc { IrOp::TmemAlloc { obj, pair } } else { IrOp::TmemDealloc { obj, pair } });
                }
                return Ok(());
            }
            Effect::TensorLoad(_) | Effect::TensorStore(_) => return Ok(()),
            Effect::TensorWait(load) => IrOp::Wait(if *load { Queue::TmemLd } else { Queue::TmemSt }, Expr::Const(0)),
            Effect::TensorCommit { bar, multicast, cta } => {
                let mut bar = self.bar(at, *bar, *cta)?;
                if let Some(mask) = multicast {
                    bar.at = BarrierCta::Ctas(self.expr(at, *mask)?);
                }
                IrOp::CommitUmma(vec![bar])
            }
            Effect::TensorProduct { a, at: reads, b, d, pair, shape } => {
                let kind = if *pair { MmaKind::UmmaPair } else { MmaKind::Umma };
                return self.tensor_product(at, [a, reads, b, d], (kind, *shape), warps);
            }
            Effect::Registers(of) => {
                let places = |keys: &BTreeSet<Key>| -> Vec<_> {
                    keys.iter().filter_map(|k| self.plan.accumulators.get(k)).map(|o| whole(*o)).collect()
                };
                let (reads, writes) = (places(&of.reads), places(&of.writes));
                IrOp::Alu { unit: "int".into(), count: Expr::Const(1), reads, writes, mix: None }
            }
            Effect::Global(_) | Effect::Passes(_) | Effect::Parts(..) | Effect::LoadsFrom => return Ok(()),
            Effect::Work(w) => {
                self.work(at, *w);
                return Ok(());
            }
            Effect::Use(load) => {
                self.used(at, *load);
                return Ok(());
            }
            Effect::Product(shape, count) => {
                self.warp_product(at, *shape, *count);
                return Ok(());
            }
            Effect::Wgmma { a, b, acc, n, k } => return self.product(at, a.as_deref(), b, (*acc, *n, *k), warps),
        };
        self.op(at, op);
        Ok(())
    }
}

/// Whether each executing thread performs the operation by itself.
fn threads_act(e: &Effect) -> bool {
    !matches!(
        e,
        Effect::Touch(..)
            | Effect::Far { .. }
            | Effect::Wgmma { .. }
            | Effect::Registers(_)
            | Effect::WarpSync
            | Effect::Elect
            | Effect::Bar(..)
            | Effect::Regs(..)
            | Effect::GridWait
            | Effect::Tensor { .. }
            | Effect::TensorLoad(_)
            | Effect::TensorStore(_)
            | Effect::TensorWait(_)
    ) && !matches!(
        e,
        Effect::Fence(Fence::Wgmma | Fence::Gpu) | Effect::Commit(Stream::Wgmma) | Effect::WaitGroup(Stream::Wgmma, _)
    )
}

/// The arrival of a lane other than the one that acts for its warp. Accesses of other lanes are not ordered before it, so
/// it releases nothing here.
fn by_another_lane(e: &Effect) -> Option<Effect> {
    let Effect::Arrive { bar, count, expect, cta, cluster, drop, state, .. } = *e else { return None };
    Some(Effect::Arrive { bar, count, expect, cta, relaxed: true, cluster, in_step: true, drop, state })
}

/// Whether one lane arrives for a warp that is converged.
fn for_warp(e: &Effect) -> bool {
    matches!(e, Effect::Arrive { in_step: true, .. })
}

fn queue(s: Stream) -> Queue {
    match s {
        Stream::Copy => Queue::Cp,
        Stream::Wgmma => Queue::Wgmma,
        Stream::Bulk => Queue::Bulk,
        Stream::BulkRead => Queue::BulkRead,
    }
}

/// The bytes that threads access.
fn runs(e: &Effect) -> &[(Term, u32)] {
    match e {
        Effect::Touch(_, r) | Effect::Far { runs: r, .. } | Effect::TensorLoad(r) | Effect::TensorStore(r) => r,
        _ => &[],
    }
}

/// The CTA whose memory threads access, where it is another one, and the barrier there that gets the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Far {
    cta: Option<Term>,
    bar: Option<Term>,
}

/// The accesses of a warp: the bytes of each of its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Touched<'r> {
    warp: u32,
    lanes: u32,
    runs: &'r [(Term, u32)],
    atomic: bool,
    /// Its stores race with those of other warps by the same instruction.
    alone: bool,
}
