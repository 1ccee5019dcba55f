//! Copies by the asynchronous proxy: `cp.async.bulk.tensor` in both directions. Stores by threads that complete bytes on an
//! mbarrier: `st.async`, `red.async`.

use smallvec::{SmallVec, smallvec};

use crate::code::Code;
use crate::ir::{ArrivalsPer, BarRef, BarrierCta, Expr, Program, Waits};
use crate::timeline::{Lanes, Work};

use super::moves::Move;
use super::{BarrierUses, Instruction, PlaceUses};
use crate::protocol::flight::Flight;
use crate::protocol::footprint::Footprint;
use crate::protocol::order::{Access, Epoch};
use crate::protocol::parts::StatePart;
use crate::protocol::rendezvous::RendezvousKind;
use crate::protocol::step::StepEffect;
use crate::protocol::stream::StreamKind;
use crate::protocol::vocabulary::{AgentId, Blocked, Fault, MbarIx};
use crate::protocol::world::World;

/// `cp.async.bulk.tensor` to shared memory: writes by the asynchronous proxy, bytes on an mbarrier.
pub(super) struct BulkLoad<'o>(pub(super) Move<'o>);

impl Instruction for BulkLoad<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let mut m = self.0.evaluate(w, a)?;
        let Some(bar) = self.0.signals else { return m.done(w) };
        let multicast = self.0.multicast;
        let ctas = w.copies_to(a, multicast, m.dst.cta)?;
        m.effect.copies = ctas.len() as u32;
        let mut f = Flight::new(a, pc);
        for cta in ctas {
            let ix = w.signal_in(a, bar, cta, multicast.is_some())?;
            w.usable_remotely(a, pc, ix);
            w.arrives_in_order(a, pc, ix);
            let phase = w.mbar(ix).phase;
            let epoch = Epoch { comp: w.spec.mbar_comp(ix), clock: phase + 1 };
            let x = Access { epoch, pc, agent: a, generic: false, in_order: false };
            if f.delivers.is_empty() {
                // A row that knows that the bytes came knows that the source was read.
                w.touch_global(a, &m.src, self.0.src.elements, x, false);
            }
            let dst = Footprint { cta, ..m.dst };
            w.check_write(a, w.spec.agent_row(a), &dst, x, m.effect.tile);
            f.delivers.push((ix, m.effect.chip_bytes, phase));
        }
        f.issued_after = w.issued(a);
        m.effect.flights.push(w.launch(f));
        m.done(w)
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        let Some(bar) = self.0.signals else { return Ok(()) };
        let own = w.footprint(a, self.0.dst, self.0.crew)?.cta;
        for cta in w.copies_to(a, self.0.multicast, own)? {
            list.push(StatePart::Mbar(w.signal_in(a, bar, cta, self.0.multicast.is_some())?));
        }
        Ok(())
    }

    fn pieces(&self, w: &World<'_>, a: AgentId, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        let [src, dst] = self.0.ends();
        w.add_pieces(a, &src, &[], list)?;
        let own = w.footprint(a, self.0.dst, self.0.crew)?.cta;
        w.add_pieces(a, &dst, &w.copies_to(a, self.0.multicast, own)?, list)
    }

    fn work(&self) -> Work {
        Work::Load
    }

    move_operands!();
    lanes_apart!();
}

/// `st.async` and `red.async`: stores of registers, by the generic proxy, that complete bytes on an mbarrier of the CTA that
/// receives the data. Nobody else may rely on the order of the stores.
pub(super) struct AsyncStore<'o>(pub(super) Move<'o>);

impl Instruction for AsyncStore<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        // The bytes are those of all lanes, and lanes in step come here together.
        if w.arrives_in_step(a, pc, ArrivalsPer::Warp) {
            w.join_warp(a, pc)?;
        }
        // Lane classes that are not in step complete bytes of their own. All else is that of the class with nearly all
        // lanes, as for any other store.
        let for_the_warp = w.does_lanes(a, pc);
        if !for_the_warp && !w.agents[a].diverged {
            return Ok(StepEffect::Nothing);
        }
        let Some(bar) = self.0.signals else { return self.0.evaluate(w, a)?.done(w) };
        let (src, dst, bytes) = self.0.ends_and_bytes(w, a)?;
        let bytes = bytes_of_lanes(w, a, pc, bytes);
        if bytes == 0 {
            return Ok(StepEffect::Nothing);
        }
        w.ready(a, &src)?;
        let ix = w.bars(a, bar)?[0];
        if w.mbar_cta(ix) != dst.cta {
            return Err(Fault::Elsewhere(w.mbar_cta(ix), dst.cta).into());
        }
        if dst.cta == w.spec.info[a as usize].cta {
            w.alive(a, pc, ix);
        } else {
            w.usable_remotely(a, pc, ix);
        }
        w.arrives_in_order(a, pc, ix);
        let phase = w.mbar(ix).phase;
        if for_the_warp {
            let tile = self.0.evaluate(w, a)?.tile;
            w.check_read(a, w.spec.agent_row(a), &src, w.own_access(a, pc));
            let epoch = Epoch { comp: w.spec.mbar_comp(ix), clock: phase + 1 };
            let x = Access { epoch, pc, agent: a, generic: true, in_order: false };
            w.check_write(a, w.spec.agent_row(a), &dst, x, Some(tile));
        }
        let mut f = Flight::new(a, pc);
        f.delivers.push((ix, bytes, phase));
        f.issued_after = w.issued(a);
        Ok(StepEffect::Signal { flight: w.launch(f), in_stream: false })
    }

    fn parts(&self, w: &World<'_>, a: AgentId, pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        if w.arrives_in_step(a, pc, ArrivalsPer::Warp) {
            let me = w.spec.info[a as usize];
            list.push(StatePart::Rendezvous(w.rendezvous_of(RendezvousKind::Warp(me.cta, me.warp))));
        }
        self.0.signals.map_or(Ok(()), |bar| w.add_barriers(a, bar, list))
    }

    fn pieces(&self, w: &World<'_>, a: AgentId, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        let [src, dst] = self.0.ends();
        w.add_pieces(a, &src, &[], list)?;
        w.add_pieces(a, &dst, &[w.footprint(a, self.0.dst, self.0.crew)?.cta], list)
    }

    fn work(&self) -> Work {
        Work::Shared
    }

    fn together(&self) -> Option<bool> {
        Some(false)
    }

    fn sets_apart(&self, _w: &World<'_>, _pc: u32) -> bool {
        true
    }

    move_operands!();
}

/// Bytes of a warp's store that the lanes of an agent complete: all of them, unless its lane classes are not in step.
fn bytes_of_lanes(w: &World<'_>, a: AgentId, pc: u32, bytes: i64) -> i64 {
    let of_one = bytes / i64::from(w.spec.rules.warp_size.max(1));
    let apart = w.agents[a].diverged && !w.spec.elected_at[pc as usize];
    match w.spec.info[a as usize].lanes {
        Some(Lanes::Elected) if apart => of_one,
        Some(Lanes::Rest) if apart => bytes - of_one,
        _ => bytes,
    }
}

/// `cp.async.bulk.tensor` to global memory, in the thread's bulk groups: reads by the asynchronous proxy.
pub(super) struct BulkStore<'o>(pub(super) Move<'o>);

impl Instruction for BulkStore<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let mut m = self.0.evaluate(w, a)?;
        let elements = self.0.dst.elements;
        w.expect_tile(a, pc, self.0.src, &m.src)?;
        w.check_sum(a, pc, &m.src, m.dst.obj);
        w.store_sum(a, pc, (&m.src, &m.dst), elements);
        let (x, read) = w.start_move(a, pc, StreamKind::BulkRead, 1);
        w.check_read(a, w.spec.agent_row(a), &m.src, Access { generic: false, ..x });
        let (x, write) = w.start_move(a, pc, StreamKind::Bulk, 1);
        if !w.touch_global(a, &m.dst, elements, Access { generic: false, ..x }, true) {
            w.store_once(a, pc, &m.dst, elements);
        }
        m.effect.flights.push(w.launch(read));
        m.effect.flights.push(w.launch(write));
        m.done(w)
    }

    fn streams(&self, _waits: Waits) -> &'static [StreamKind] {
        &[StreamKind::Bulk, StreamKind::BulkRead]
    }

    fn work(&self) -> Work {
        Work::Store
    }

    fn reads_by_async_proxy(&self, _prog: &Program) -> bool {
        true
    }

    move_operands!();
    lanes_apart!();
}

impl World<'_> {
    /// The CTAs that a copy goes to: those of its mask, or the CTA that its place names.
    fn copies_to(&self, a: AgentId, multicast: Option<&Expr>, own: u32) -> Result<SmallVec<[u32; 4]>, Blocked> {
        let Some(m) = multicast else { return Ok(smallvec![own]) };
        let mask = self.eval(a, m)?;
        if mask <= 0 || mask >> self.prog.cluster != 0 {
            return Err(Fault::Mask(mask).into());
        }
        Ok((0..self.prog.cluster).filter(|c| mask >> c & 1 == 1).collect())
    }

    /// The barrier that a copy into one CTA signals: that CTA's own barrier. With `@cta` (`.cta_group::2`) it is the
    /// barrier of the pair's CTA whose rank has the parity of the CTA named.
    fn signal_in(&self, a: AgentId, bar: &BarRef, cta: u32, multicast: bool) -> Result<MbarIx, Blocked> {
        let named = self.bars(a, bar)?[0];
        let (at, stages) = (self.mbar_cta(named), self.prog.mbars[bar.bar as usize].stages);
        let to = match (&bar.at, multicast) {
            (BarrierCta::Own, _) => cta,
            (_, true) => cta & !1 | at & 1,
            (_, false) if at >> 1 != cta >> 1 => return Err(Fault::Pair(at, cta).into()),
            _ => at,
        };
        Ok(named - at * stages + to * stages)
    }

    /// A barrier that an engine or another CTA signals must have been initialized, with a fence after its `init`.
    pub(super) fn usable_remotely(&mut self, a: AgentId, pc: u32, ix: MbarIx) {
        self.alive(a, pc, ix);
        if self.mbar(ix).live && !self.init_fenced(self.spec.agent_row(a), ix) {
            let message = format!(
                "{} is signaled from outside its CTA's threads, and no `fence mbarrier_init` or `fence async` follows its `init`",
                self.mbar_name(ix)
            );
            let init = self.mbars[ix as usize].init().map(|x| (x.pc, "initialized here".to_string()));
            self.report(self.spec.rules.fences.init, Code::InitFence, (a, pc), message, init);
        }
    }
}
