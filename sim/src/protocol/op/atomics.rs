//! Operations on counters in global memory. What a counter does is in [`counters`](crate::protocol::counters).

use crate::ir::{CounterAct, CounterRef, Expr, MemOrder, Scope};

use super::Instruction;
use crate::protocol::AgentId;
use crate::protocol::parts::StatePart;
use crate::protocol::step::{Blocked, StepEffect};
use crate::protocol::world::{Fault, World};

/// `red`, `atom`, `st`, `ld` of a counter, or a wait that polls it.
pub(super) struct Counter<'o> {
    pub(super) act: CounterAct,
    pub(super) at: &'o CounterRef,
    pub(super) value: &'o Expr,
    pub(super) order: MemOrder,
    pub(super) scope: Scope,
}

impl Instruction for Counter<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        w.do_counter(a, pc, (self.act, self.at, self.value), (self.order, self.scope))
    }

    fn parts(&self, _w: &World<'_>, _a: AgentId, _pc: u32, _list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        // The whole grid shares counters in global memory.
        Err(Fault::Endless.into())
    }

    fn together(&self) -> Option<bool> {
        Some(false)
    }
}
