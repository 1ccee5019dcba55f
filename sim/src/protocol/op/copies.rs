//! Copies that threads start: `cp.async`, direct loads to LDS (CDNA), and the arrival behind `cp.async`.

use smallvec::smallvec;

use crate::ir::{BarRef, MoveKind, Waits};
use crate::timeline::Work;

use super::moves::Move;
use super::{Aligned, BarrierAction, BarrierUse, BarrierUses, Instruction, PlaceUses};
use crate::protocol::flight::Flight;
use crate::protocol::parts::StatePart;
use crate::protocol::step::StepEffect;
use crate::protocol::stream::StreamKind;
use crate::protocol::vocabulary::{AgentId, Blocked};
use crate::protocol::world::World;

/// `cp.async`, or a direct load to LDS: a copy from global to shared memory by the generic proxy, in the agent's stream.
pub(super) struct Copy<'o>(pub(super) Move<'o>);

impl Instruction for Copy<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let mut m = self.0.evaluate(w, a)?;
        if !self.0.masked {
            w.inside(a, pc, &m.src, self.0.src)?;
        }
        let kind = self.streams(w.prog.waits)[0];
        let (x, f) = w.start_move(a, pc, kind, w.instructions(&m.effect));
        w.touch_global(a, &m.src, self.0.src.elements, x, false);
        w.check_write(a, w.spec.agent_row(a), &m.dst, x, Some(m.tile));
        m.effect.flights.push(w.launch(f));
        m.done(w)
    }

    fn streams(&self, _waits: Waits) -> &'static [StreamKind] {
        if self.0.how == MoveKind::CpAsync { &[StreamKind::Cp] } else { &[StreamKind::Vm] }
    }

    fn work(&self) -> Work {
        Work::Load
    }

    thread_move!();
}

/// `cp.async.mbarrier.arrive`: each thread arrives when its earlier copies are done.
pub(super) struct CopyArrive<'o> {
    pub(super) bar: &'o BarRef,
    /// Whether the arrival is one of the expected; else the pending count is raised first.
    pub(super) noinc: bool,
}

impl Instruction for CopyArrive<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let ix = w.bars(a, self.bar)?[0];
        w.alive(a, pc, ix);
        w.arrives_in_order(a, pc, ix);
        let lanes = w.lanes(a, pc);
        if !self.noinc {
            w.mbars[ix as usize].add_pending(lanes);
        }
        let epoch = w.start(a, StreamKind::Cp, 1);
        let row = w.released(a, None);
        // The arrival tracks the thread's copies and nothing else (PTX, cp.async.mbarrier.arrive).
        w.order.forget(row);
        w.order.raise(row, epoch.comp, epoch.clock);
        if self.noinc {
            // The arrival makes nothing visible, and the phase does not complete without it.
            w.mbars[ix as usize].note_own_arrival(a);
        } else {
            // The added pending count is in time only if another arrival of the phase comes behind it. The operation's
            // own arrival, which has `row`, does not show that.
            let access = w.own_access(a, pc);
            w.mbars[ix as usize].note_expect(access);
        }
        let mut f = Flight::new(a, pc);
        f.follows = Some(epoch);
        f.streams.push((StreamKind::Cp, epoch.clock));
        f.meant_for(w.mbar(ix).phase);
        f.arrives.push((ix, lanes));
        f.releases = Some(row);
        Ok(StepEffect::Signal { flight: w.launch(f), in_stream: true })
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        w.add_barriers(a, self.bar, list)
    }

    fn barriers(&self) -> BarrierUses<'_> {
        smallvec![BarrierUse::new(self.bar, BarrierAction::ArriveBehindCopies)]
    }

    fn streams(&self, _waits: Waits) -> &'static [StreamKind] {
        &[StreamKind::Cp]
    }

    fn sets_apart(&self, _w: &World<'_>, _pc: u32) -> bool {
        true
    }
}
