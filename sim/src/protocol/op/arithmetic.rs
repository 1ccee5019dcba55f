//! Vector arithmetic, and accumulators that are cleared.

use smallvec::{SmallVec, smallvec};

use crate::ir::{Class, Expr, Place};
use crate::timeline::Work;

use super::{Aligned, Instruction, PlaceUse, PlaceUses};
use crate::protocol::footprint::TileKey;
use crate::protocol::order::Access;
use crate::protocol::step::StepEffect;
use crate::protocol::vocabulary::{AgentId, Blocked, Fault};
use crate::protocol::world::World;

/// Vector arithmetic.
pub(super) struct Alu<'o> {
    /// Lane operations of this warp.
    pub(super) count: &'o Expr,
    pub(super) reads: &'o [Place],
    pub(super) writes: &'o [Place],
}

impl Instruction for Alu<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let (mut read, mut written) = (SmallVec::<[_; 2]>::new(), SmallVec::<[_; 2]>::new());
        for p in self.reads {
            let f = w.footprint(a, p, 0)?;
            w.ready(a, &f)?;
            let x = w.own_access(a, pc);
            w.check_read(a, w.spec.agent_row(a), &f, x);
            read.push(f);
        }
        for p in self.writes {
            let f = w.footprint(a, p, 0)?;
            w.ready(a, &f)?;
            written.push(f);
        }
        w.check_places(a, pc, &read, &written);
        for (p, f) in self.writes.iter().zip(&written) {
            let x = w.own_access(a, pc);
            let key = TileKey { obj: p.obj, at: [w.member(a), 0], shift: [0, 0], forms: [0; 2] };
            w.check_write(a, w.spec.agent_row(a), f, x, Some(key));
        }
        w.add_sums(a, &read, &written);
        let count = w.eval(a, self.count)?;
        if count < 0 {
            return Err(Fault::Negative("a number of operations", count).into());
        }
        Ok(StepEffect::Alu { count })
    }

    fn places(&self) -> PlaceUses<'_> {
        self.reads.iter().map(PlaceUse::read).chain(self.writes.iter().map(PlaceUse::write)).collect()
    }

    fn work(&self) -> Work {
        Work::Alu
    }

    fn aligned(&self) -> Aligned {
        Aligned::Lanes
    }

    fn may_wait(&self) -> bool {
        false
    }
}

/// Clears an accumulator.
pub(super) struct Zero<'o> {
    pub(super) place: &'o Place,
}

impl Instruction for Zero<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let f = w.footprint(a, self.place, 0)?;
        w.clear_sum(a, &f);
        if f.pieces != 0 && w.prog.objects[self.place.obj as usize].class != Class::Tmem {
            // The next product ignores the old sum (`scale-d`): no instruction writes the registers.
            let x = Access { generic: false, ..w.own_access(a, pc) };
            w.check_write(a, w.spec.agent_row(a), &f, x, None);
        }
        Ok(StepEffect::Nothing)
    }

    fn places(&self) -> PlaceUses<'_> {
        smallvec![PlaceUse::write(self.place)]
    }

    fn work(&self) -> Work {
        Work::Alu
    }

    fn aligned(&self) -> Aligned {
        Aligned::Lanes
    }

    fn may_wait(&self) -> bool {
        false
    }
}
