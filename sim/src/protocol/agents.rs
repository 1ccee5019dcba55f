//! Agents: one for each warp, two for a warp whose elected lane runs apart from the rest.
//!
//! Two lane classes are enough (docs/rules.md 1): the question is whether a lane that signals can run ahead of lanes
//! that only wait. A warp is split only where its lanes perform an operation apart that is not a collective.

use crate::ir::{Executors, Instr, Op, Program};
use crate::timeline::Lanes;

/// Index of an agent in its world.
pub type AgentId = u32;

/// The position of an agent: its CTA, its warp and its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AgentInfo {
    /// Rank of its CTA in the cluster.
    pub cta: u32,
    /// Warp in the CTA.
    pub warp: u32,
    /// The lane class, where the warp is split.
    pub lanes: Option<Lanes>,
}

impl AgentInfo {
    /// Whether `elect:` blocks are executed.
    pub fn elected(&self) -> bool {
        self.lanes != Some(Lanes::Rest)
    }
}

/// Whether lanes that meet at this operation do so as a warp, so that the other lanes perform nothing of their own.
fn joins_lanes(op: &Op) -> bool {
    matches!(
        op,
        Op::Barrier(_)
            | Op::WarpSync
            | Op::Elect
            | Op::Named { .. }
            | Op::ClusterArrive { .. }
            | Op::ClusterWait
            | Op::TmemAlloc { .. }
            | Op::TmemDealloc { .. }
            | Op::Regs { .. }
            | Op::GridWait
    )
}

/// Bits of the warps that are split into elected lane and rest. These warps execute an `elect:` block and, outside of
/// any such block, an operation that lanes perform one by one.
pub(super) fn split_warps(prog: &Program) -> u64 {
    let all = if prog.warps == 64 { u64::MAX } else { (1 << prog.warps) - 1 };
    let (mut inside, mut outside) = (0u64, 0u64);
    // Open blocks as (end, warps that were executing before, elected before).
    let mut open: Vec<(u32, u64, bool)> = Vec::new();
    let (mut warps, mut elected) = (all, false);
    for (pc, instr) in prog.code.iter().enumerate() {
        while let Some(&(end, w, e)) = open.last()
            && end <= pc as u32
        {
            (warps, elected) = (w, e);
            open.pop();
        }
        match instr {
            Instr::Only(who, to) => {
                open.push((*to, warps, elected));
                match who {
                    Executors::Warps(w) => warps &= w,
                    Executors::Cta(_) => {}
                    Executors::Elected => elected = true,
                }
            }
            Instr::Op { .. } if elected => inside |= warps,
            Instr::Op { op, .. } if !joins_lanes(op) => outside |= warps,
            _ => {}
        }
    }
    inside & outside
}

/// Bits of the warps that the heads around an instruction name.
pub(super) fn warps_at(prog: &Program, pc: u32) -> u64 {
    let all = if prog.warps == 64 { u64::MAX } else { (1 << prog.warps) - 1 };
    prog.code[..pc as usize].iter().fold(all, |warps, i| match i {
        Instr::Only(Executors::Warps(named), to) if pc < *to => warps & named,
        _ => warps,
    })
}

/// All agents of a cluster, by CTA, then warp, then lane class.
pub fn agents_of(prog: &Program) -> Vec<AgentInfo> {
    let split = split_warps(prog);
    let mut list = Vec::new();
    for cta in 0..prog.cluster {
        for warp in 0..prog.warps {
            if split >> warp & 1 == 1 {
                list.push(AgentInfo { cta, warp, lanes: Some(Lanes::Elected) });
                list.push(AgentInfo { cta, warp, lanes: Some(Lanes::Rest) });
            } else {
                list.push(AgentInfo { cta, warp, lanes: None });
            }
        }
    }
    list
}
