//! Matrix instructions: `mma.sync` and its kin, `wgmma`, `tcgen05.mma`; tensor memory.

use smallvec::{SmallVec, smallvec};

use crate::code::Code;
use crate::ir::{Class, Instr, MmaKind, ObjId, Object, Op, Operand, Place, Program, Writes};

use super::AgentId;
use super::agents::warps_at;
use super::flight::Flight;
use super::footprint::{Footprint, extent};
use super::order::Access;
use super::step::{Blocked, MmaEffect, StepEffect};
use super::stream::StreamKind;
use super::world::World;

/// Lanes of tensor memory.
const LANES: i64 = 128;
/// Lanes of tensor memory that one warp can access.
const QUARTER: i64 = 32;

/// M, N, K of the executing unit, and the operand bytes that one CTA reads from shared memory.
pub(super) fn shape(prog: &Program, kind: MmaKind, left: &Place, right: &Place) -> MmaEffect {
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

impl World<'_> {
    /// Performs or starts a matrix instruction.
    pub(super) fn do_mma(
        &mut self,
        a: AgentId,
        pc: u32,
        kind: MmaKind,
        (left, right, acc): (&Place, &Place, &Place),
    ) -> Result<StepEffect, Blocked> {
        let x = self.footprint(a, left, 0)?;
        let y = self.footprint(a, right, 0)?;
        let z = self.footprint(a, acc, 0)?;
        self.ready(a, &x)?;
        self.ready(a, &y)?;
        let mut effect = shape(self.prog, kind, left, right);
        effect.tiles = (self.held(a, &x), self.held(a, &y));
        match kind {
            MmaKind::Warp => {
                self.expect_tile(a, pc, left, &x)?;
                self.expect_tile(a, pc, right, &y)?;
                let own = self.own_access(a, pc);
                self.check_read(a, self.spec.agent_row(a), &x, own);
                self.check_read(a, self.spec.agent_row(a), &y, own);
                self.accumulate(a, pc, &z, &x, &y);
                self.check_write(a, self.spec.agent_row(a), &z, own, None);
            }
            MmaKind::Wgmma => {
                if !self.join_warpgroup(a, pc)? {
                    effect.acts = false;
                    return Ok(StepEffect::Mma(effect));
                }
                self.expect_tile(a, pc, left, &x)?;
                self.expect_tile(a, pc, right, &y)?;
                let lead = self.spec.group_lead[a as usize];
                let epoch = self.start(lead, StreamKind::Wgmma, 1);
                let access = Access { epoch, pc, agent: a, generic: false, in_order: true };
                self.check_read(a, self.spec.agent_row(a), &x, access);
                self.check_read(a, self.spec.agent_row(a), &y, access);
                // Each warp of the group holds its rows of the accumulator.
                for w in 0..self.spec.info.len() as AgentId {
                    if self.spec.group_lead[w as usize] == lead && self.spec.info[w as usize].elected() {
                        self.fenced_registers(w, pc, &x, &z);
                        self.accumulate(w, pc, &z, &x, &y);
                        self.check_write(w, self.spec.agent_row(a), &z, access, None);
                    }
                }
                let mut f = Flight::new(a, pc);
                f.streams.push((StreamKind::Wgmma, epoch.clock));
                effect.flight = Some(self.launch(f));
            }
            MmaKind::Umma | MmaKind::UmmaPair => {
                let own = self.spec.info[a as usize].cta;
                let pair: SmallVec<[u32; 2]> =
                    if kind == MmaKind::UmmaPair { smallvec![own & !1, own | 1] } else { smallvec![own] };
                let epoch = self.start(a, StreamKind::Tensor, 1);
                let access = Access { epoch, pc, agent: a, generic: false, in_order: true };
                for &cta in &pair {
                    let here = |f: Footprint| Footprint { cta, ..f };
                    if self.prog.objects[x.obj as usize].class == Class::Tmem {
                        self.allocated(a, pc, &here(x));
                    }
                    self.expect_tile(a, pc, left, &here(x))?;
                    self.expect_tile(a, pc, right, &here(y))?;
                    self.check_read(a, self.spec.agent_row(a), &here(x), access);
                    self.check_read(a, self.spec.agent_row(a), &here(y), access);
                    self.allocated(a, pc, &here(z));
                    self.accumulate(a, pc, &here(z), &here(x), &here(y));
                    self.check_write(a, self.spec.agent_row(a), &here(z), access, None);
                }
                let mut f = Flight::new(a, pc);
                f.streams.push((StreamKind::Tensor, epoch.clock));
                effect.flight = Some(self.launch(f));
            }
        }
        Ok(StepEffect::Mma(effect))
    }

    /// `tcgen05.alloc`.
    pub(super) fn tmem_alloc(&mut self, a: AgentId, pc: u32, obj: ObjId) {
        let cta = self.spec.info[a as usize].cta;
        let access = self.own_access(a, pc);
        if self.memory.allocate(obj, cta, access) {
            let message = format!("allocates {} twice", self.prog.objects[obj as usize].name);
            self.find(Code::AllocBalance, a, pc, message, None);
        }
    }

    /// `tcgen05.dealloc`: every use of the columns must be complete, in both CTAs of a pair.
    pub(super) fn tmem_dealloc(&mut self, a: AgentId, pc: u32, obj: ObjId, pair: bool) {
        let cta = self.spec.info[a as usize].cta;
        let o = &self.prog.objects[obj as usize];
        let (rows, cols, slots, name) = (o.rows, o.cols, o.slots, o.name.clone());
        let all = if o.pieces() == 64 { u64::MAX } else { (1 << o.pieces()) - 1 };
        let ctas: SmallVec<[u32; 2]> = if pair { smallvec![cta & !1, cta | 1] } else { smallvec![cta] };
        for slot in 0..slots {
            for &c in &ctas {
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
    /// ISA, tcgen05, access restrictions). Four warps that each name all 128 rows are taken to move a quarter each. The
    /// lanes of an object with fewer rows are not known, so such an object is not checked.
    pub(super) fn reaches_lanes(&mut self, a: AgentId, pc: u32, f: &Footprint) {
        let warp = self.spec.info[a as usize].warp;
        let first = QUARTER * (warp as i64 % 4);
        if self.prog.objects[f.obj as usize].rows != LANES || (first <= f.rows.0 && f.rows.1 <= first + QUARTER) {
            return;
        }
        let warps = warps_at(self.prog, pc);
        let quarters = (0..self.prog.warps).filter(|w| warps >> w & 1 == 1).fold(0, |all, w| all | 1 << (w % 4));
        if f.rows == (0, LANES) && quarters == 0b1111 {
            return;
        }
        let name = &self.prog.objects[f.obj as usize].name;
        let (last, from, to) = (first + QUARTER - 1, f.rows.0, f.rows.1 - 1);
        let message = format!(
            "warp {warp} reaches lanes {first} to {last} of tensor memory, and this is {name} rows {from} to {to}"
        );
        self.find(Code::TensorLanes, a, pc, message, None);
    }

    /// Holds a use of tensor memory to being after its allocation.
    pub(super) fn allocated(&mut self, a: AgentId, pc: u32, f: &Footprint) {
        // Warps of both CTAs allocate together (`.cta_group::2`), so the own allocation implies the other's.
        let own = self.spec.info[a as usize].cta;
        let mine = self.memory.allocation(f.obj, own).is_some_and(|x| self.order.has(self.spec.agent_row(a), x.epoch));
        let together =
            |i: &Instr| matches!(i, Instr::Op { op: Op::TmemAlloc { obj, pair: true }, .. } if *obj == f.obj);
        let by_pair = || f.cta != own && mine && self.prog.code.iter().any(together);
        let name = || self.prog.objects[f.obj as usize].name.clone();
        match self.memory.allocation(f.obj, f.cta) {
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
