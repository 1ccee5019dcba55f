//! The lanes of a warp that is one agent: whether all have come as far as the one that arrives for them.
//!
//! Such lanes are taken to be in step. PTX promises it only behind an instruction that they execute together
//! (`__syncwarp`, whatever is `.aligned`); the rule `warp-arrive` asks for one.

use crate::code::Code;
use crate::fences::Level;
use crate::ir::{Fence, How, MmaKind, Op, Per, Queue};

use super::AgentId;
use super::world::World;

/// Whether lanes execute an operation together, or each reads, writes or waits for itself; neither where it does nothing
/// that an arrival speaks for.
fn together(op: &Op) -> Option<bool> {
    Some(match op {
        Op::Barrier(_) | Op::Named { .. } | Op::WarpSync | Op::ClusterArrive { .. } | Op::ClusterWait => true,
        Op::TmemAlloc { .. } | Op::TmemDealloc { .. } | Op::Regs { .. } | Op::Fence(Fence::Wgmma) => true,
        Op::Commit(Queue::Wgmma) | Op::Wait(Queue::Wgmma | Queue::TmemLd | Queue::TmemSt, _) => true,
        Op::Mma { kind: MmaKind::Warp | MmaKind::Wgmma, .. } => true,
        Op::Move { how: How::TmemLd | How::TmemSt, .. } => true,
        Op::Move { .. } | Op::Put { .. } | Op::Get { .. } | Op::MbarWait { .. } | Op::Wait(..) => false,
        Op::Counter { .. } => false,
        _ => return None,
    })
}

impl World<'_> {
    /// A whole warp performed an operation.
    pub(super) fn keeps_step(&mut self, a: AgentId, pc: u32, op: &Op) {
        if self.rules.fences.warp_arrive != Level::Off
            && let Some(together) = together(op)
        {
            self.agents[a as usize].apart = (!together).then_some(pc);
        }
    }

    /// One lane arrives for its warp: the others have done what came before.
    pub(super) fn speaks_for_all(&mut self, a: AgentId, pc: u32, per: Per) {
        let Some(last) = self.agents[a as usize].apart else { return };
        if per != Per::Thread && self.info[a as usize].lanes.is_none() && !self.elected_at[pc as usize] {
            let message = "arrives by one lane, and the others may still be at what came before: no `warp.sync`, nor anything \
                           else that lanes execute together, is in between";
            let level = self.rules.fences.warp_arrive;
            self.report(level, Code::LaneArrive, (a, pc), message.to_string(), Some((last, "what came before".into())));
        }
    }
}
