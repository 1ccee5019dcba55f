//! Tensor memory: `tcgen05.ld`, `st`, `alloc`, `dealloc`.

use smallvec::{SmallVec, smallvec};

use crate::code::Code;
use crate::ir::{Instr, ObjId, Op, TENSOR_LANES, Waits, Writes, reach_all_lanes};
use crate::timeline::Work;

use super::moves::Move;
use super::{Aligned, BarrierUses, Instruction, PlaceUses};
use crate::protocol::footprint::Footprint;
use crate::protocol::order::Access;
use crate::protocol::parts::StatePart;
use crate::protocol::rendezvous::RendezvousKind;
use crate::protocol::step::StepEffect;
use crate::protocol::stream::StreamKind;
use crate::protocol::vocabulary::{AgentId, Blocked};
use crate::protocol::world::World;

/// Lanes of tensor memory that one warp can access.
const QUARTER: i64 = 32;

/// Facts that moves of tensor memory share. The lanes of a warp execute them together.
macro_rules! tensor_move {
    () => {
        fn parts(&self, _w: &World<'_>, _a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
            list.push(StatePart::Tensor);
            Ok(())
        }

        fn places(&self) -> PlaceUses<'_> {
            self.0.places()
        }

        fn barriers(&self) -> BarrierUses<'_> {
            self.0.barriers()
        }

        fn work(&self) -> Work {
            Work::Shared
        }

        fn aligned(&self) -> Aligned {
            Aligned::Warp
        }

        fn together(&self) -> Option<bool> {
            Some(true)
        }

        fn sets_apart(&self, w: &World<'_>, _pc: u32) -> bool {
            // Each lane class waits for itself.
            !w.spec.rules.fences.tmem_wait
        }

        fn may_wait(&self) -> bool {
            false
        }
    };
}

/// `tcgen05.ld`: tensor memory to registers.
pub(super) struct TensorLoad<'o>(pub(super) Move<'o>);

impl Instruction for TensorLoad<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let mut m = self.0.evaluate(w, a)?;
        w.reaches_lanes(a, pc, &m.src);
        w.allocated(a, pc, &m.src);
        let (x, f) = w.start_move(a, pc, StreamKind::TmemLd, 1);
        let x = w.tensor_access(a, pc, x);
        w.check_read(a, w.spec.agent_row(a), &m.src, Access { generic: true, ..x });
        w.check_write(a, w.spec.agent_row(a), &m.dst, x, Some(m.tile));
        m.effect.flights.push(w.launch(f));
        m.done(w)
    }

    fn streams(&self, _waits: Waits) -> &'static [StreamKind] {
        &[StreamKind::TmemLd]
    }

    tensor_move!();
}

/// `tcgen05.st`: registers to tensor memory.
pub(super) struct TensorStore<'o>(pub(super) Move<'o>);

impl Instruction for TensorStore<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let mut m = self.0.evaluate(w, a)?;
        w.ready(a, &m.src)?;
        w.check_read(a, w.spec.agent_row(a), &m.src, w.own_access(a, pc));
        w.reaches_lanes(a, pc, &m.dst);
        w.allocated(a, pc, &m.dst);
        let (x, f) = w.start_move(a, pc, StreamKind::TmemSt, w.instructions(&m.effect));
        let x = w.tensor_access(a, pc, x);
        w.check_write(a, w.spec.agent_row(a), &m.dst, x, Some(m.tile));
        m.effect.flights.push(w.launch(f));
        m.done(w)
    }

    fn streams(&self, _waits: Waits) -> &'static [StreamKind] {
        &[StreamKind::TmemSt]
    }

    tensor_move!();
}

/// Facts that `tcgen05.alloc` and `tcgen05.dealloc` share: a warp executes them together.
macro_rules! allocation {
    () => {
        fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
            let me = w.spec.info[a as usize];
            let lanes = w.rendezvous_of(RendezvousKind::Warp(me.cta, me.warp));
            list.extend([StatePart::Tensor, StatePart::Rendezvous(lanes)]);
            Ok(())
        }

        fn joins_lanes(&self) -> bool {
            true
        }

        fn together(&self) -> Option<bool> {
            Some(true)
        }
    };
}

/// `tcgen05.alloc`.
pub(super) struct Allocate {
    pub(super) obj: ObjId,
}

impl Instruction for Allocate {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        if w.join_warp(a, pc)? {
            w.tmem_alloc(a, pc, self.obj);
        }
        Ok(StepEffect::Sync)
    }

    allocation!();
}

/// `tcgen05.dealloc`.
pub(super) struct Deallocate {
    pub(super) obj: ObjId,
    /// `.cta_group::2`.
    pub(super) pair: bool,
}

impl Instruction for Deallocate {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        if w.join_warp(a, pc)? {
            w.tmem_dealloc(a, pc, self.obj, self.pair);
        }
        Ok(StepEffect::Sync)
    }

    allocation!();
}

impl World<'_> {
    /// The access of a tensor-memory move that was started as `x`: open until its wait, or complete at once where that
    /// rule is off.
    fn tensor_access(&self, a: AgentId, pc: u32, x: Access) -> Access {
        if self.spec.rules.fences.tmem_wait { x } else { self.own_access(a, pc) }
    }

    /// `tcgen05.alloc`.
    fn tmem_alloc(&mut self, a: AgentId, pc: u32, obj: ObjId) {
        let cta = self.spec.info[a as usize].cta;
        let access = self.own_access(a, pc);
        if self.memory.allocate(obj, cta, access) {
            let message = format!("allocates {} twice", self.prog.objects[obj as usize].name);
            self.find(Code::AllocBalance, a, pc, message, None);
        }
    }

    /// `tcgen05.dealloc`: every use of the columns must be complete, in both CTAs of a pair.
    fn tmem_dealloc(&mut self, a: AgentId, pc: u32, obj: ObjId, pair: bool) {
        let cta = self.spec.info[a as usize].cta;
        let name = self.prog.objects[obj as usize].name.clone();
        let ctas: SmallVec<[u32; 2]> = if pair { smallvec![cta & !1, cta | 1] } else { smallvec![cta] };
        // Whatever lies over the object goes with it.
        let over = |x: &ObjId| *x == obj || self.prog.objects[*x as usize].overlay == Some(obj);
        let objects: SmallVec<[ObjId; 4]> = (0..self.prog.objects.len() as ObjId).filter(over).collect();
        for obj in objects {
            let o = &self.prog.objects[obj as usize];
            let (rows, cols) = (o.rows, o.cols);
            let all = if o.pieces() == 64 { u64::MAX } else { (1 << o.pieces()) - 1 };
            for (slot, &c) in (0..o.slots).flat_map(|slot| ctas.iter().map(move |c| (slot, c))) {
                let f = Footprint {
                    obj,
                    cta: c,
                    slot,
                    at: [slot as i64, 0],
                    forms: [0; 2],
                    rows: (0, rows),
                    cols: (0, cols),
                    pieces: all,
                    writes: Writes::Exclusive,
                };
                for p in self.each_piece(a, &f) {
                    let t = &self.memory[p].trace;
                    // Order in time is enough for the end of a use: no data of it is read.
                    let over = |x: &&Access| self.order.reached(self.spec.agent_row(a), x.epoch.comp) < x.epoch.clock;
                    let open = t.reads.iter().chain(&t.write).find(over);
                    if let Some(x) = open.copied() {
                        let message = format!("gives {name} back; nothing orders it after this use");
                        self.find(Code::FreedInUse, a, pc, message, Some((x.pc, "used here".into())));
                    }
                }
            }
        }
        if !self.memory.deallocate(obj, cta) {
            let message = format!("gives {name} back, which is not allocated");
            self.find(Code::AllocBalance, a, pc, message, None);
        }
    }

    /// Holds a move of tensor memory to the lanes that its warp can access: the 32 lanes from 32 * (warp % 4) on (PTX
    /// ISA, tcgen05, access restrictions). Four warps that name all 128 rows move a quarter each ([`crate::ir::share`]);
    /// more such warps are not checked. The lanes of an object with fewer rows are not known, so such an object is not
    /// checked.
    fn reaches_lanes(&mut self, a: AgentId, pc: u32, f: &Footprint) {
        let warp = self.spec.info[a as usize].warp;
        let first = QUARTER * (warp as i64 % 4);
        if self.prog.objects[f.obj as usize].rows != TENSOR_LANES || (first <= f.rows.0 && f.rows.1 <= first + QUARTER)
        {
            return;
        }
        let warps = self.spec.warps_at[pc as usize];
        if f.rows == (0, TENSOR_LANES) && reach_all_lanes(warps) {
            return;
        }
        let name = &self.prog.objects[f.obj as usize].name;
        let (last, from, to) = (first + QUARTER - 1, f.rows.0, f.rows.1 - 1);
        let message = format!(
            "warp {warp} reaches lanes {first} to {last} of tensor memory, and this is {name} rows {from} to {to}"
        );
        self.find(Code::TensorLanes, a, pc, message, None);
    }

    /// Holds a use of tensor memory to being after its allocation, which is that of the object that it lies over.
    pub(super) fn allocated(&mut self, a: AgentId, pc: u32, f: &Footprint) {
        // Warps of both CTAs allocate together (`.cta_group::2`), so the own allocation implies the other's.
        let own = self.spec.info[a as usize].cta;
        let base = self.prog.base(f.obj);
        let mine = self.memory.allocation(base, own).is_some_and(|x| self.order.has(self.spec.agent_row(a), x.epoch));
        let together = |i: &Instr| matches!(i, Instr::Op { op: Op::TmemAlloc { obj, pair: true }, .. } if *obj == base);
        let by_pair = || f.cta != own && mine && self.prog.code.iter().any(together);
        let name = || self.prog.objects[f.obj as usize].name.clone();
        match self.memory.allocation(base, f.cta) {
            None => {
                let message = format!("uses {} of CTA {}, which is not allocated", name(), f.cta);
                self.find(Code::NotAllocated, a, pc, message, None);
            }
            Some(x) if !(self.order.has(self.spec.agent_row(a), x.epoch) || by_pair()) => {
                let (message, at) = (format!("uses {}; nothing orders it after the `tmem.alloc`", name()), x.pc);
                self.find(Code::NotAllocated, a, pc, message, Some((at, "allocated here".into())));
            }
            Some(_) => {}
        }
    }
}
