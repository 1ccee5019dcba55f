//! Fences. What each fence covers is in [`fence`](crate::protocol::fence).

use crate::ir;

use super::Instruction;
use crate::protocol::step::StepEffect;
use crate::protocol::vocabulary::{AgentId, Blocked};
use crate::protocol::world::World;

/// A fence.
pub(super) struct Fence {
    pub(super) kind: ir::Fence,
}

impl Instruction for Fence {
    fn step(&self, w: &mut World<'_>, a: AgentId, _pc: u32) -> Result<StepEffect, Blocked> {
        w.fence(a, self.kind);
        Ok(StepEffect::Sync)
    }

    fn together(&self) -> Option<bool> {
        (self.kind == ir::Fence::Wgmma).then_some(true)
    }

    fn may_wait(&self) -> bool {
        false
    }
}
