//! Moves: what each move reads and writes, when the move is complete, and whom its completion signals.

use smallvec::{SmallVec, smallvec};

use crate::code::Code;
use crate::ir::{BarRef, BarrierCta, Class, Expr, MoveKind, Op, Place, Waits};

use super::AgentId;
use super::flight::{Flight, FlightId};
use super::footprint::Footprint;
use super::mbarrier::MbarIx;
use super::order::{Access, Epoch};
use super::step::{Blocked, MoveEffect, StepEffect};
use super::stream::StreamKind;
use super::world::{WaitTarget, World};

/// The operands of a move, evaluated.
pub(super) struct Ends {
    src: Footprint,
    dst: Footprint,
}

impl World<'_> {
    /// Performs a move, or starts it.
    pub(super) fn do_move(&mut self, a: AgentId, pc: u32, op: &Op) -> Result<StepEffect, Blocked> {
        let Op::Move { how, src, dst, crew, batch, dequant, masked, signals, multicast } = op else {
            return Ok(StepEffect::Nothing);
        };
        let e = Ends { src: self.footprint(a, src, *crew)?, dst: self.footprint(a, dst, *crew)? };
        let mut effect = self.measure(*how, &e, *dequant, *batch);
        let tile = self.copied(a, &e.src, &e.dst);
        effect.tile = Some(tile);
        if self.prog.objects[e.dst.obj as usize].class != Class::Global {
            self.carry_sum(a, &e.src, &e.dst);
            self.load_sum(a, &e.src, &e.dst, src.elements);
        }
        if matches!(how, MoveKind::Load | MoveKind::Ldg | MoveKind::CpAsync | MoveKind::LdsDma) && !masked {
            self.inside(a, pc, &e.src, src)?;
        }
        let auto = self.prog.waits == Waits::Auto;
        match how {
            MoveKind::Load => {
                let x = self.own_access(a, pc);
                self.touch_global(a, &e.src, src.elements, x, false);
                self.check_write(a, self.spec.agent_row(a), &e.dst, x, Some(tile));
            }
            MoveKind::Ldg | MoveKind::Lds => {
                if *how == MoveKind::Lds {
                    self.expect_tile(a, pc, src, &e.src)?;
                }
                let kind = match (auto, how) {
                    (true, _) => StreamKind::Scoreboard,
                    (false, MoveKind::Ldg) => StreamKind::Vm,
                    (false, _) => StreamKind::Lgkm,
                };
                let (x, f) = self.start_move(a, pc, kind, self.instructions(&effect));
                let own = self.own_access(a, pc);
                if *how == MoveKind::Lds {
                    self.check_read(a, self.spec.agent_row(a), &e.src, if auto { own } else { x });
                } else {
                    self.touch_global(a, &e.src, src.elements, if auto { own } else { x }, false);
                }
                self.check_write(a, self.spec.agent_row(a), &e.dst, if auto { own } else { x }, Some(tile));
                effect.flights.push(self.fill(f, &e.dst));
            }
            MoveKind::Sts | MoveKind::Store | MoveKind::TmemSt => {
                self.ready(a, &e.src)?;
                self.check_read(a, self.spec.agent_row(a), &e.src, self.own_access(a, pc));
                if *how == MoveKind::TmemSt {
                    self.reaches_lanes(a, pc, &e.dst);
                    self.allocated(a, pc, &e.dst);
                }
                match how {
                    MoveKind::Store => {
                        if !masked {
                            self.inside(a, pc, &e.dst, dst)?;
                        }
                        self.do_store(a, pc, &e, dst, auto, &mut effect);
                    }
                    MoveKind::Sts if auto => {
                        let x = self.own_access(a, pc);
                        self.check_write(a, self.spec.agent_row(a), &e.dst, x, Some(tile));
                    }
                    _ => {
                        let kind = if *how == MoveKind::Sts { StreamKind::Lgkm } else { StreamKind::TmemSt };
                        let (x, f) = self.start_move(a, pc, kind, self.instructions(&effect));
                        let x = self.tensor_access(a, pc, *how, x);
                        self.check_write(a, self.spec.agent_row(a), &e.dst, x, Some(tile));
                        effect.flights.push(self.launch(f));
                    }
                }
            }
            MoveKind::CpAsync | MoveKind::LdsDma => {
                let kind = if *how == MoveKind::CpAsync { StreamKind::Cp } else { StreamKind::Vm };
                let (x, f) = self.start_move(a, pc, kind, self.instructions(&effect));
                self.touch_global(a, &e.src, src.elements, x, false);
                self.check_write(a, self.spec.agent_row(a), &e.dst, x, Some(tile));
                effect.flights.push(self.launch(f));
            }
            MoveKind::TmaLoad => {
                self.tma_load(a, pc, &e, (signals.as_ref(), multicast.as_ref(), src.elements), &mut effect)?;
            }
            MoveKind::TmaStore => self.tma_store(a, pc, src, (&e, dst.elements), &mut effect)?,
            MoveKind::TmemLd => {
                self.reaches_lanes(a, pc, &e.src);
                self.allocated(a, pc, &e.src);
                let (x, f) = self.start_move(a, pc, StreamKind::TmemLd, 1);
                let x = self.tensor_access(a, pc, *how, x);
                self.check_read(a, self.spec.agent_row(a), &e.src, Access { generic: true, ..x });
                self.check_write(a, self.spec.agent_row(a), &e.dst, x, Some(tile));
                effect.flights.push(self.launch(f));
            }
        }
        if *how != MoveKind::Store {
            effect.fills = (self.prog.objects[e.dst.obj as usize].class == Class::Shared).then_some(e.dst);
        }
        Ok(StepEffect::Move(effect))
    }

    /// Sizes of a move.
    fn measure(&self, how: MoveKind, e: &Ends, dequant: bool, batch: Option<u32>) -> MoveEffect {
        let (s, d) = (&self.prog.objects[e.src.obj as usize], &self.prog.objects[e.dst.obj as usize]);
        let global_bytes = match (s.class, d.class) {
            (Class::Global, _) => s.bytes_of(e.src.elements()),
            (_, Class::Global) => d.bytes_of(e.dst.elements()),
            _ => 0,
        };
        let (chip, f) = if s.class == Class::Global || how == MoveKind::Sts { (d, &e.dst) } else { (s, &e.src) };
        MoveEffect {
            how,
            elements: f.elements(),
            global_bytes,
            chip_bytes: chip.bytes_of(f.elements()),
            chip_rows: f.rows.1 - f.rows.0,
            dequant,
            batch,
            flights: SmallVec::new(),
            tile: None,
            fills: None,
            copies: 1,
        }
    }

    /// Machine instructions of one warp: what `vmcnt` and `lgkmcnt` count.
    fn instructions(&self, effect: &MoveEffect) -> u32 {
        let lane = match effect.how {
            MoveKind::LdsDma => self.spec.rules.dma_bytes_per_lane.max(1),
            _ => self.spec.rules.bytes_per_lane.max(1),
        };
        let bytes = if effect.global_bytes > 0 { effect.global_bytes } else { effect.chip_bytes };
        (bytes as u64).div_ceil((lane * self.spec.rules.warp_size) as u64).max(1) as u32
    }

    /// Starts `n` instructions in a stream. Returns their access and their flight.
    fn start_move(&mut self, a: AgentId, pc: u32, kind: StreamKind, n: u32) -> (Access, Flight) {
        let epoch = self.start(a, kind, n);
        let mut f = Flight::new(a, pc);
        f.streams.push((kind, epoch.clock));
        (Access { epoch, pc, agent: a, generic: true, in_order: true }, f)
    }

    /// Launches a flight that makes registers ready when it lands.
    fn fill(&mut self, mut f: Flight, regs: &Footprint) -> FlightId {
        if self.prog.waits == Waits::Auto {
            for p in self.each_piece(f.agent, regs) {
                self.memory.begin_fill(p);
            }
            f.fills = Some(*regs);
        }
        self.launch(f)
    }

    /// The scoreboard: a use of a register waits until the register's load has landed.
    pub(super) fn ready(&self, a: AgentId, f: &Footprint) -> Result<(), Blocked> {
        if self.prog.objects[f.obj as usize].class == Class::Reg
            && self.each_piece(a, f).any(|p| self.memory.filling(p))
        {
            return Err(Blocked::On(WaitTarget::Own(a)));
        }
        Ok(())
    }

    fn do_store(&mut self, a: AgentId, pc: u32, e: &Ends, dst: &Place, auto: bool, effect: &mut MoveEffect) {
        self.check_sum(a, pc, &e.src, e.dst.obj);
        self.store_sum(a, pc, (&e.src, &e.dst), dst.elements);
        let x = if auto {
            self.own_access(a, pc)
        } else {
            let n = self.instructions(effect);
            let (x, f) = self.start_move(a, pc, StreamKind::Vm, n);
            effect.flights.push(self.launch(f));
            x
        };
        if !self.touch_global(a, &e.dst, dst.elements, x, true) {
            self.store_once(a, pc, &e.dst, dst.elements);
        }
    }

    /// `cp.async.bulk.tensor` to shared memory: writes by the asynchronous proxy, bytes on an mbarrier.
    fn tma_load(
        &mut self,
        a: AgentId,
        pc: u32,
        e: &Ends,
        (signals, multicast, elements): (Option<&BarRef>, Option<&Expr>, bool),
        effect: &mut MoveEffect,
    ) -> Result<(), Blocked> {
        let Some(bar) = signals else { return Ok(()) };
        let ctas = self.copies_to(a, multicast, e.dst.cta)?;
        effect.copies = ctas.len() as u32;
        let mut f = Flight::new(a, pc);
        for cta in ctas {
            let ix = self.signal_in(a, bar, cta, multicast.is_some())?;
            self.usable_remotely(a, pc, ix);
            self.arrives_in_order(a, pc, ix);
            let phase = self.mbar(ix).phase;
            let epoch = Epoch { comp: self.spec.mbar_comp(ix), clock: phase + 1 };
            let x = Access { epoch, pc, agent: a, generic: false, in_order: false };
            if f.delivers.is_empty() {
                // A row that knows that the bytes came knows that the source was read.
                self.touch_global(a, &e.src, elements, x, false);
            }
            let dst = Footprint { cta, ..e.dst };
            self.check_write(a, self.spec.agent_row(a), &dst, x, effect.tile);
            f.delivers.push((ix, effect.chip_bytes, phase));
        }
        f.issued_after = self.issued(a);
        effect.flights.push(self.launch(f));
        Ok(())
    }

    /// The CTAs that a copy goes to: those of its mask, or the CTA that its place names.
    pub(super) fn copies_to(
        &self,
        a: AgentId,
        multicast: Option<&Expr>,
        own: u32,
    ) -> Result<SmallVec<[u32; 4]>, Blocked> {
        let Some(m) = multicast else { return Ok(smallvec![own]) };
        let mask = self.eval(a, m)?;
        if mask <= 0 || mask >> self.prog.cluster != 0 {
            return Err(super::world::Fault::Mask(mask).into());
        }
        Ok((0..self.prog.cluster).filter(|c| mask >> c & 1 == 1).collect())
    }

    /// The barrier that a copy into one CTA signals: that CTA's own barrier. With `@cta` (`.cta_group::2`) it is the
    /// barrier of the pair's CTA whose rank has the parity of the CTA named.
    pub(super) fn signal_in(&self, a: AgentId, bar: &BarRef, cta: u32, multicast: bool) -> Result<MbarIx, Blocked> {
        let named = self.bars(a, bar)?[0];
        let (at, stages) = (self.mbar_cta(named), self.prog.mbars[bar.bar as usize].stages);
        let to = match (&bar.at, multicast) {
            (BarrierCta::Own, _) => cta,
            (_, true) => cta & !1 | at & 1,
            (_, false) if at >> 1 != cta >> 1 => return Err(super::world::Fault::Pair(at, cta).into()),
            _ => at,
        };
        Ok(named - at * stages + to * stages)
    }

    /// A barrier that an engine or another CTA signals must have been initialized, with a fence after its `init`.
    pub(super) fn usable_remotely(&mut self, a: AgentId, pc: u32, ix: MbarIx) {
        self.alive(a, pc, ix);
        if self.mbar(ix).live && !self.mbars[ix as usize].init_fenced() {
            let message = format!(
                "{} is signaled from outside its CTA's threads, and no `fence mbarrier_init` or `fence async` follows its `init`",
                self.mbar_name(ix)
            );
            let init = self.mbars[ix as usize].init().map(|x| (x.pc, "initialized here".to_string()));
            self.report(self.spec.rules.fences.init, Code::InitFence, (a, pc), message, init);
        }
    }

    /// `cp.async.bulk.tensor` to global memory, in the thread's bulk groups.
    fn tma_store(
        &mut self,
        a: AgentId,
        pc: u32,
        src: &Place,
        (e, elements): (&Ends, bool),
        effect: &mut MoveEffect,
    ) -> Result<(), Blocked> {
        self.expect_tile(a, pc, src, &e.src)?;
        self.check_sum(a, pc, &e.src, e.dst.obj);
        self.store_sum(a, pc, (&e.src, &e.dst), elements);
        let (x, read) = self.start_move(a, pc, StreamKind::BulkRead, 1);
        self.check_read(a, self.spec.agent_row(a), &e.src, Access { generic: false, ..x });
        let (x, write) = self.start_move(a, pc, StreamKind::Bulk, 1);
        if !self.touch_global(a, &e.dst, elements, Access { generic: false, ..x }, true) {
            self.store_once(a, pc, &e.dst, elements);
        }
        effect.flights.push(self.launch(read));
        effect.flights.push(self.launch(write));
        Ok(())
    }
}
