//! Loads and stores of threads: `load`, `ldg`, `lds`, `sts`, `store`.

use crate::ir::{IssueCount, MoveKind, Waits};
use crate::timeline::Work;

use super::moves::Move;
use super::{Aligned, BarrierUses, Instruction, PlaceUses};
use crate::protocol::step::StepEffect;
use crate::protocol::stream::StreamKind;
use crate::protocol::vocabulary::{AgentId, Blocked};
use crate::protocol::world::World;

/// A synchronous load from global to threadgroup memory (Metal): complete when the warp continues.
pub(super) struct Load<'o>(pub(super) Move<'o>);

impl Instruction for Load<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let m = self.0.evaluate(w, a)?;
        if !self.0.masked {
            w.inside(a, pc, &m.src, self.0.src)?;
        }
        let x = w.own_access(a, pc);
        w.touch_global(a, &m.src, self.0.src.elements, x, false);
        w.check_write(a, w.spec.agent_row(a), &m.dst, x, Some(m.tile));
        m.done(w)
    }

    fn work(&self) -> Work {
        Work::Load
    }

    thread_move!();
}

/// A load to registers, from global memory (`ldg`) or from shared memory (`lds`).
pub(super) struct RegisterLoad<'o>(pub(super) Move<'o>);

impl Instruction for RegisterLoad<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let mut m = self.0.evaluate(w, a)?;
        let (shared, auto) = (self.0.how == MoveKind::Lds, w.prog.waits == Waits::Auto);
        // A compiled load states its instructions, and ptxas may give it other registers than the load before it had.
        if self.0.issue == IssueCount::FromBytes {
            w.ready(a, &m.dst)?;
        }
        if shared {
            w.expect_tile(a, pc, self.0.src, &m.src)?;
        } else if !self.0.masked {
            w.inside(a, pc, &m.src, self.0.src)?;
        }
        let kind = self.streams(w.prog.waits)[0];
        let (x, f) = w.start_move(a, pc, kind, w.instructions(&m.effect));
        let x = if auto { w.own_access(a, pc) } else { x };
        if shared {
            w.check_read(a, w.spec.agent_row(a), &m.src, x);
        } else {
            w.touch_global(a, &m.src, self.0.src.elements, x, false);
        }
        w.check_write(a, w.spec.agent_row(a), &m.dst, x, Some(m.tile));
        m.effect.flights.push(w.fill(f, &m.dst));
        m.done(w)
    }

    fn streams(&self, waits: Waits) -> &'static [StreamKind] {
        match (waits, self.0.how) {
            (Waits::Manual, MoveKind::Ldg) => &[StreamKind::Vm],
            (Waits::Manual, _) => &[StreamKind::Lgkm],
            _ => &[StreamKind::Scoreboard],
        }
    }

    fn work(&self) -> Work {
        if self.0.how == MoveKind::Ldg { Work::Load } else { Work::Shared }
    }

    thread_move!();
}

/// A store from registers to shared memory (`sts`).
pub(super) struct SharedStore<'o>(pub(super) Move<'o>);

impl Instruction for SharedStore<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let mut m = self.0.evaluate(w, a)?;
        w.ready(a, &m.src)?;
        w.check_read(a, w.spec.agent_row(a), &m.src, w.own_access(a, pc));
        let x = match self.streams(w.prog.waits) {
            [] => w.own_access(a, pc),
            [kind, ..] => {
                let (x, f) = w.start_move(a, pc, *kind, w.instructions(&m.effect));
                m.effect.flights.push(w.launch(f));
                x
            }
        };
        w.check_write(a, w.spec.agent_row(a), &m.dst, x, Some(m.tile));
        m.done(w)
    }

    fn streams(&self, waits: Waits) -> &'static [StreamKind] {
        if waits == Waits::Manual { &[StreamKind::Lgkm] } else { &[] }
    }

    fn work(&self) -> Work {
        Work::Shared
    }

    thread_move!();
}

/// A store to global memory (`store`).
pub(super) struct GlobalStore<'o>(pub(super) Move<'o>);

impl Instruction for GlobalStore<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let mut m = self.0.evaluate(w, a)?;
        let dst = self.0.dst;
        w.ready(a, &m.src)?;
        w.check_read(a, w.spec.agent_row(a), &m.src, w.own_access(a, pc));
        if !self.0.masked {
            w.inside(a, pc, &m.dst, dst)?;
        }
        w.check_sum(a, pc, &m.src, m.dst.obj);
        w.store_sum(a, pc, (&m.src, &m.dst), dst.elements);
        let x = match self.streams(w.prog.waits) {
            [] => w.own_access(a, pc),
            [kind, ..] => {
                let (x, f) = w.start_move(a, pc, *kind, w.instructions(&m.effect));
                m.effect.flights.push(w.launch(f));
                x
            }
        };
        if !w.touch_global(a, &m.dst, dst.elements, x, true) {
            w.store_once(a, pc, &m.dst, dst.elements);
        }
        Ok(StepEffect::Move(m.effect))
    }

    fn streams(&self, waits: Waits) -> &'static [StreamKind] {
        if waits == Waits::Manual { &[StreamKind::Vm] } else { &[] }
    }

    fn work(&self) -> Work {
        Work::Store
    }

    thread_move!();
}
