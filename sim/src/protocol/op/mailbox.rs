//! Values that roles hand to each other through mailboxes, and the tiles that the hardware hands out (`clc`).

use smallvec::smallvec;

use crate::ir::{BarRef, Binary, Expr, Place, VarId};

use super::{Aligned, BarrierAction, BarrierUse, BarrierUses, Instruction, PlaceUse, PlaceUses};
use crate::protocol::flight::Flight;
use crate::protocol::footprint::{Footprint, TileKey};
use crate::protocol::order::{Access, Epoch};
use crate::protocol::parts::StatePart;
use crate::protocol::step::StepEffect;
use crate::protocol::vocabulary::{AgentId, Blocked, Decision, Fault, Number};
use crate::protocol::world::World;

/// Writes a value that other roles read.
pub(super) struct Put<'o> {
    pub(super) dst: &'o Place,
    pub(super) value: &'o Expr,
}

impl Instruction for Put<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let f = w.footprint(a, self.dst, 0)?;
        let v = w.placed(a, self.value)?;
        let key = version(w, a, self.dst)?;
        let x = w.own_access(a, pc);
        w.check_write(a, w.spec.agent_row(a), &f, x, Some(key));
        for p in w.each_piece(a, &f) {
            w.memory.set_word(p, v);
        }
        Ok(StepEffect::Sync)
    }

    fn places(&self) -> PlaceUses<'_> {
        smallvec![PlaceUse::write(self.dst)]
    }

    fn aligned(&self) -> Aligned {
        Aligned::Lanes
    }

    lanes_apart!();
}

/// Reads a value into a variable.
pub(super) struct Get<'o> {
    pub(super) src: &'o Place,
    pub(super) var: VarId,
}

impl Instruction for Get<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let f = w.footprint(a, self.src, 0)?;
        w.expect_tile(a, pc, self.src, &f)?;
        let x = w.own_access(a, pc);
        w.check_read(a, w.spec.agent_row(a), &f, x);
        if let Some(p) = w.each_piece(a, &f).next() {
            w.agents.set_var(a, self.var, w.memory.word(p));
        }
        Ok(StepEffect::Sync)
    }

    fn places(&self) -> PlaceUses<'_> {
        smallvec![PlaceUse::read(self.src)]
    }

    fn together(&self) -> Option<bool> {
        Some(false)
    }

    fn sets_apart(&self, _w: &World<'_>, _pc: u32) -> bool {
        true
    }
}

/// `clusterlaunchcontrol.try_cancel`: the next tile of the grid into a mailbox, and 16 bytes on the barrier of every CTA
/// of the cluster.
pub(super) struct NextTile<'o> {
    pub(super) dst: &'o Place,
    pub(super) signals: &'o BarRef,
}

impl Instruction for NextTile<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        w.judge(Decision::Op(Binary::Gt, w.global.more_tiles.len() as i64, 0));
        let value = w.global.more_tiles.pop().unwrap_or(-1);
        let key = version(w, a, self.dst)?;
        let own = w.spec.info[a as usize].cta;
        let stages = w.prog.mbars[self.signals.bar as usize].stages;
        let here = w.bars(a, self.signals)?[0];
        let f = w.footprint(a, self.dst, 0)?;
        let mut flight = Flight::new(a, pc);
        for cta in 0..w.prog.cluster {
            let ix = here - own * stages + cta * stages;
            w.usable_remotely(a, pc, ix);
            let phase = w.mbar(ix).phase;
            let epoch = Epoch { comp: w.spec.mbar_comp(ix), clock: phase + 1 };
            let x = Access { epoch, pc, agent: a, generic: false, in_order: false };
            let there = Footprint { cta, ..f };
            w.check_write(a, w.spec.agent_row(a), &there, x, Some(key));
            for p in w.each_piece(a, &there) {
                flight.posts.push((p, value));
            }
            flight.delivers.push((ix, 16, phase));
        }
        flight.issued_after = w.issued(a);
        Ok(StepEffect::Signal { flight: w.launch(flight), in_stream: false })
    }

    fn parts(&self, _w: &World<'_>, _a: AgentId, _pc: u32, _list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        // The whole grid shares the tiles still to be handed out.
        Err(Fault::Endless.into())
    }

    fn places(&self) -> PlaceUses<'_> {
        smallvec![PlaceUse::write(self.dst)]
    }

    fn barriers(&self) -> BarrierUses<'_> {
        smallvec![BarrierUse { everywhere: true, ..BarrierUse::new(self.signals, BarrierAction::Deliver) }]
    }

    fn may_wait(&self) -> bool {
        false
    }
}

/// The key of a mailbox slot's content after a write.
fn version(w: &World<'_>, a: AgentId, dst: &Place) -> Result<TileKey, Fault> {
    let version = match &dst.tile {
        Some(t) => w.placed(a, &t.at[0])?,
        None => Number::default(),
    };
    Ok(TileKey { obj: dst.obj, at: [version.v, 0], shift: [0, 0], forms: [version.form, 0] })
}
