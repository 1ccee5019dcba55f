//! Matrix products: `mma.sync` and its kin, `wgmma`, `tcgen05.mma`, and the arrival behind tensor-core products.

use smallvec::{SmallVec, smallvec};

use crate::ir::{BarRef, Class, MmaKind, Object, Operand, Place, Program, Waits};
use crate::timeline::Work;

use super::{Aligned, BarrierAction, BarrierUse, BarrierUses, Instruction, PlaceUse, PlaceUses};
use crate::protocol::flight::Flight;
use crate::protocol::footprint::{Footprint, extent};
use crate::protocol::order::Access;
use crate::protocol::parts::StatePart;
use crate::protocol::rendezvous::RendezvousKind;
use crate::protocol::step::{MmaEffect, StepEffect};
use crate::protocol::stream::StreamKind;
use crate::protocol::vocabulary::{AgentId, Blocked};
use crate::protocol::world::World;

/// A matrix product with its operands.
#[derive(Clone, Copy)]
pub(super) struct Product<'o> {
    pub(super) kind: MmaKind,
    pub(super) left: &'o Place,
    pub(super) right: &'o Place,
    pub(super) acc: &'o Place,
}

/// A matrix product whose operands are evaluated.
struct Evaluated {
    left: Footprint,
    right: Footprint,
    acc: Footprint,
    effect: Box<MmaEffect>,
}

impl<'o> Product<'o> {
    fn places(&self) -> PlaceUses<'o> {
        smallvec![PlaceUse::read(self.left), PlaceUse::read(self.right), PlaceUse::write(self.acc)]
    }

    /// Evaluates the operands, which must be ready.
    fn evaluate(&self, w: &World<'_>, a: AgentId) -> Result<Evaluated, Blocked> {
        let left = w.footprint(a, self.left, 0)?;
        let right = w.footprint(a, self.right, 0)?;
        let acc = w.footprint(a, self.acc, 0)?;
        w.ready(a, &left)?;
        w.ready(a, &right)?;
        let mut effect = Box::new(shape(w.prog, self.kind, self.left, self.right));
        effect.tiles = (w.held(a, &left), w.held(a, &right));
        Ok(Evaluated { left, right, acc, effect })
    }

    /// Whether an operand is in shared memory.
    fn reads_shared(&self, prog: &Program) -> bool {
        [self.left, self.right].iter().any(|p| prog.objects[p.obj as usize].class == Class::Shared)
    }
}

/// Whether a program has tensor memory. Each product then depends on its allocations.
fn uses_tensor_memory(w: &World<'_>) -> bool {
    w.prog.objects.iter().any(|o| o.class == Class::Tmem)
}

/// A product by one warp, complete when the warp continues.
pub(super) struct WarpProduct<'o>(pub(super) Product<'o>);

impl Instruction for WarpProduct<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let Evaluated { left, right, acc, effect } = self.0.evaluate(w, a)?;
        w.expect_tile(a, pc, self.0.left, &left)?;
        w.expect_tile(a, pc, self.0.right, &right)?;
        let own = w.own_access(a, pc);
        w.check_read(a, w.spec.agent_row(a), &left, own);
        w.check_read(a, w.spec.agent_row(a), &right, own);
        w.accumulate(a, pc, &acc, &left, &right);
        w.check_write(a, w.spec.agent_row(a), &acc, own, None);
        Ok(StepEffect::Mma(effect))
    }

    fn parts(&self, w: &World<'_>, _a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        list.extend(uses_tensor_memory(w).then_some(StatePart::Tensor));
        Ok(())
    }

    fn places(&self) -> PlaceUses<'_> {
        self.0.places()
    }

    fn work(&self) -> Work {
        Work::Mma
    }

    fn aligned(&self) -> Aligned {
        Aligned::Warp
    }

    fn together(&self) -> Option<bool> {
        Some(true)
    }

    fn sets_apart(&self, _w: &World<'_>, _pc: u32) -> bool {
        true
    }

    fn may_wait(&self) -> bool {
        false
    }
}

/// `wgmma`: a product by the four warps of a warpgroup, in the warpgroup's stream.
pub(super) struct GroupProduct<'o>(pub(super) Product<'o>);

impl Instruction for GroupProduct<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let Evaluated { left, right, acc, mut effect } = self.0.evaluate(w, a)?;
        if !w.join_warpgroup(a, pc)? {
            effect.acts = false;
            return Ok(StepEffect::Mma(effect));
        }
        w.expect_tile(a, pc, self.0.left, &left)?;
        w.expect_tile(a, pc, self.0.right, &right)?;
        let lead = w.spec.group_lead[a as usize];
        let epoch = w.start(lead, StreamKind::Wgmma, 1);
        let access = Access { epoch, pc, agent: a, generic: false, in_order: true };
        w.check_read(a, w.spec.agent_row(a), &left, access);
        w.check_read(a, w.spec.agent_row(a), &right, access);
        // Each warp of the group holds its rows of the accumulator.
        for warp in 0..w.spec.info.len() as AgentId {
            if w.spec.group_lead[warp as usize] == lead && w.spec.info[warp as usize].elected() {
                w.fenced_registers(warp, pc, &left, &acc);
                w.accumulate(warp, pc, &acc, &left, &right);
                w.check_write(warp, w.spec.agent_row(a), &acc, access, None);
            }
        }
        let mut f = Flight::new(a, pc);
        f.streams.push((StreamKind::Wgmma, epoch.clock));
        effect.flight = Some(w.launch(f));
        Ok(StepEffect::Mma(effect))
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        let me = w.spec.info[a as usize];
        list.push(StatePart::Agent(w.spec.group_lead[a as usize]));
        list.push(StatePart::Rendezvous(w.rendezvous_of(RendezvousKind::Warpgroup(me.cta, me.warp / 4))));
        list.extend(uses_tensor_memory(w).then_some(StatePart::Tensor));
        Ok(())
    }

    fn pieces(&self, w: &World<'_>, a: AgentId, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        self.places().iter().try_for_each(|p| w.add_pieces(a, p, &[], list))?;
        // Each warp of the group holds its rows of the accumulator.
        let lead = w.spec.group_lead[a as usize];
        let group = (0..w.spec.info.len()).filter(|i| w.spec.group_lead[*i] == lead);
        group.map(|i| i as AgentId).try_for_each(|i| w.add_pieces(i, &PlaceUse::write(self.0.acc), &[], list))
    }

    fn places(&self) -> PlaceUses<'_> {
        self.0.places()
    }

    fn streams(&self, _waits: Waits) -> &'static [StreamKind] {
        &[StreamKind::Wgmma]
    }

    fn work(&self) -> Work {
        Work::Mma
    }

    fn together(&self) -> Option<bool> {
        Some(true)
    }

    fn may_wait(&self) -> bool {
        false
    }

    fn reads_by_async_proxy(&self, prog: &Program) -> bool {
        self.0.reads_shared(prog)
    }
}

/// `tcgen05.mma`: a product by the tensor core of a CTA or of a pair, in the agent's stream.
pub(super) struct TensorProduct<'o>(pub(super) Product<'o>);

impl TensorProduct<'_> {
    /// The CTAs whose memory the product uses.
    fn ctas(&self, w: &World<'_>, a: AgentId) -> SmallVec<[u32; 2]> {
        let own = w.spec.info[a as usize].cta;
        if self.0.kind == MmaKind::UmmaPair { smallvec![own & !1, own | 1] } else { smallvec![own] }
    }
}

impl Instruction for TensorProduct<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let Evaluated { left, right, acc, mut effect } = self.0.evaluate(w, a)?;
        let ctas = self.ctas(w, a);
        let epoch = w.start(a, StreamKind::Tensor, 1);
        let access = Access { epoch, pc, agent: a, generic: false, in_order: true };
        for &cta in &ctas {
            let here = |f: Footprint| Footprint { cta, ..f };
            if w.prog.objects[left.obj as usize].class == Class::Tmem {
                w.allocated(a, pc, &here(left));
            }
            w.expect_tile_of(cta, a, pc, self.0.left, &here(left))?;
            w.expect_tile_of(cta, a, pc, self.0.right, &here(right))?;
            w.check_read(a, w.spec.agent_row(a), &here(left), access);
            w.check_read(a, w.spec.agent_row(a), &here(right), access);
            w.allocated(a, pc, &here(acc));
            w.accumulate(a, pc, &here(acc), &here(left), &here(right));
            w.check_write(a, w.spec.agent_row(a), &here(acc), access, None);
        }
        let mut f = Flight::new(a, pc);
        f.streams.push((StreamKind::Tensor, epoch.clock));
        effect.flight = Some(w.launch(f));
        Ok(StepEffect::Mma(effect))
    }

    fn parts(&self, _w: &World<'_>, _a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        list.push(StatePart::Tensor);
        Ok(())
    }

    fn pieces(&self, w: &World<'_>, a: AgentId, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        let ctas = if self.0.kind == MmaKind::UmmaPair { self.ctas(w, a) } else { SmallVec::new() };
        self.places().iter().try_for_each(|p| w.add_pieces(a, p, &ctas, list))
    }

    fn places(&self) -> PlaceUses<'_> {
        self.0.places()
    }

    fn streams(&self, _waits: Waits) -> &'static [StreamKind] {
        &[StreamKind::Tensor]
    }

    fn work(&self) -> Work {
        Work::Mma
    }

    fn may_wait(&self) -> bool {
        false
    }

    fn reads_by_async_proxy(&self, prog: &Program) -> bool {
        self.0.reads_shared(prog)
    }
}

/// `tcgen05.commit`: arrives when the agent's earlier products are done.
pub(super) struct CommitProducts<'o> {
    pub(super) bars: &'o [BarRef],
}

impl Instruction for CommitProducts<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let mut all: SmallVec<[(u32, u32); 2]> = SmallVec::new();
        for b in self.bars {
            for ix in w.bars(a, b)? {
                w.usable_remotely(a, pc, ix);
                w.arrives_in_order(a, pc, ix);
                all.push((ix, 1));
            }
        }
        let epoch = w.start(a, StreamKind::Tensor, 1);
        let row = w.released(a, Some(epoch));
        let mut f = Flight::new(a, pc);
        all.iter().for_each(|&(ix, _)| f.meant_for(w.mbar(ix).phase));
        f.streams.push((StreamKind::Tensor, epoch.clock));
        f.arrives = all;
        f.releases = Some(row);
        f.epoch = Some(epoch);
        f.follows = Some(epoch);
        Ok(StepEffect::Signal { flight: w.launch(f), in_stream: true })
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        self.bars.iter().try_for_each(|b| w.add_barriers(a, b, list))
    }

    fn barriers(&self) -> BarrierUses<'_> {
        let arrives = |bar| BarrierUse { count: Some(1), ..BarrierUse::new(bar, BarrierAction::ArriveBehindProducts) };
        self.bars.iter().map(arrives).collect()
    }

    fn streams(&self, _waits: Waits) -> &'static [StreamKind] {
        &[StreamKind::Tensor]
    }

    fn may_wait(&self) -> bool {
        false
    }
}

/// M, N, K of the executing unit, and the operand bytes that one CTA reads from shared memory.
pub(in crate::protocol) fn shape(prog: &Program, kind: MmaKind, left: &Place, right: &Place) -> MmaEffect {
    let (a, b) = (&prog.objects[left.obj as usize], &prog.objects[right.obj as usize]);
    let ((m, k), (rows, cols)) = (extent(prog, left), extent(prog, right));
    let n = rows * cols / k.max(1);
    let both = if kind == MmaKind::UmmaPair { 2 } else { 1 };
    let shared = |o: &Object, n: i64| if o.class == Class::Shared { o.bytes_of(n) } else { 0 };
    if let (Some(x), Some(y)) = (left.sel.operand, right.sel.operand) {
        let bytes = |o: &Object, x: Operand| {
            if o.class == Class::Shared { i64::from(x.rows) * i64::from(x.depth) * i64::from(x.bits) / 8 } else { 0 }
        };
        return MmaEffect {
            kind,
            m: i64::from(x.rows) * both,
            n: i64::from(y.rows) * both,
            k: x.depth.into(),
            bits: x.bits.max(y.bits).into(),
            shared_bytes: bytes(a, x) + bytes(b, y),
            tiles: (None, None),
            flight: None,
            acts: true,
        };
    }
    MmaEffect {
        kind,
        m: m * both,
        n: n * both,
        k,
        bits: a.dtype.bits().max(b.dtype.bits()),
        shared_bytes: shared(a, m * k) + shared(b, rows * cols),
        tiles: (None, None),
        flight: None,
        acts: true,
    }
}
