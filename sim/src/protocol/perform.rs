//! Which agents of a warp perform an operation.

use crate::ir::Op;

use super::AgentId;
use super::op::{Aligned, instruction};
use super::order::Epoch;
use super::step::{Blocked, StepEffect};
use super::world::World;

impl World<'_> {
    /// Performs one operation for an agent, or returns why the operation cannot be performed yet. A blocked operation
    /// changes nothing but the arrival that it counted.
    pub(super) fn perform(&mut self, a: AgentId, pc: u32, op: &Op) -> Result<StepEffect, Blocked> {
        let me = self.spec.info[a as usize].lanes;
        if me.is_none() || self.spec.elected_at[pc as usize] {
            let effect = self.execute(a, pc, op)?;
            if !self.spec.elected_at[pc as usize] {
                self.keeps_step(a, pc, op);
            }
            return Ok(effect);
        }
        // A split warp. Operations in step (`.sync.aligned`) join its lanes and are performed once. Operations of
        // single lanes are performed by the class that has nearly all lanes, so that the elected lane's own order stays
        // separate.
        match instruction(op, |i| i.aligned()) {
            Aligned::Warp => {
                if !self.agents[a].performs_for_warp && !self.join_warp(a, pc)? {
                    self.passes(a, pc, op);
                    return Ok(StepEffect::Nothing);
                }
                self.agents[a].performs_for_warp = true;
                let rest = self.rest_of(a);
                if rest != a {
                    let (mine, other) = (self.spec.agent_row(a), self.spec.agent_row(rest));
                    self.order.join(other, mine);
                    // The rest has not seen the elected lane's next operations.
                    self.order.tick(mine, a);
                }
                let effect = self.execute(rest, pc, op)?;
                self.agents[a].performs_for_warp = false;
                self.passes(a, pc, op);
                Ok(effect)
            }
            Aligned::Lanes if me == Some(crate::timeline::Lanes::Elected) => {
                self.passes(a, pc, op);
                Ok(StepEffect::Nothing)
            }
            _ => {
                let effect = self.execute(a, pc, op)?;
                self.passes(a, pc, op);
                Ok(effect)
            }
        }
    }

    /// The agent of a warp that holds all lanes, or all lanes but the elected one.
    pub(super) fn rest_of(&self, a: AgentId) -> AgentId {
        if self.spec.info[a as usize].lanes == Some(crate::timeline::Lanes::Elected) { a + 1 } else { a }
    }

    fn execute(&mut self, a: AgentId, pc: u32, op: &Op) -> Result<StepEffect, Blocked> {
        instruction(op, |i| i.step(self, a, pc))
    }

    /// Number of threads that execute an instruction one by one.
    pub(super) fn lanes(&self, a: AgentId, pc: u32) -> u32 {
        use crate::timeline::Lanes::*;
        if self.spec.elected_at[pc as usize] {
            return 1;
        }
        match self.spec.info[a as usize].lanes {
            None => self.spec.rules.warp_size,
            Some(Elected) => 1,
            Some(Rest) => self.spec.rules.warp_size - 1,
        }
    }

    /// Whether a warp is the first of its role, or of its member of the role.
    pub(super) fn leads(&self, warp: u32) -> bool {
        match self.prog.role_of(warp) {
            Some(r) => {
                let size = (r.warps.count_ones() / r.members.max(1)).max(1);
                (r.warps & ((1u64 << warp) - 1)).count_ones().is_multiple_of(size)
            }
            None => warp == 0,
        }
    }

    /// What an agent has done so far, as a row for a signal that arrives later. The agent's clock advances.
    pub(super) fn released(&mut self, a: AgentId, with: Option<Epoch>) -> u32 {
        let row = self.order.snapshot(self.spec.agent_row(a));
        if let Some(e) = with {
            self.order.raise(row, e.comp, e.clock);
        }
        self.order.tick(self.spec.agent_row(a), a);
        row
    }
}
