//! Interchangeable warps: warps of one text whose contents can be swapped without changing what follows.

use warpline_sim::ir::{Env, Executors, Expr, Instr, Op};
use warpline_sim::protocol::{AgentId, World};

/// Agents that can be swapped, as far as the text shows: warps of one role in one CTA, each a whole agent. No
/// instruction that they execute names a warp or shares work between warps. The search checks step by step that they
/// behave alike.
pub(super) fn classes(world: &World<'_>) -> Vec<Vec<AgentId>> {
    let prog = world.program();
    // Operations that gather warps, or assign them shares, distinguish warps.
    let apart = |i: &Instr| match i {
        Instr::Op { op, .. } => match op {
            Op::Move { crew, .. } => crew.count_ones() > 1,
            Op::Mma { kind, .. } => *kind != warpline_sim::ir::MmaKind::Warp,
            Op::Regs { .. } | Op::NextTile { .. } => true,
            _ => false,
        },
        _ => false,
    };
    let warp = |e: &Expr| {
        let mut found = false;
        e.visit(&mut |x| found |= matches!(x, Expr::Env(Env::Warp)));
        found
    };
    if prog.code.iter().any(apart) {
        return Vec::new();
    }
    let mut list: Vec<Vec<AgentId>> = Vec::new();
    for role in &prog.roles {
        let masks = prog.code.iter().filter_map(|i| match i {
            Instr::Only(Executors::Warps(w), _) => Some(*w),
            _ => None,
        });
        let split = masks.into_iter().any(|w| w & role.warps != 0 && w & role.warps != role.warps);
        // Conditions on a warp's own number.
        let named = prog.code.iter().any(|i| match i {
            Instr::Set(_, e) | Instr::Unless(e, _) => warp(e),
            _ => false,
        });
        if split || named {
            continue;
        }
        for cta in 0..prog.cluster {
            let in_role = |who: &warpline_sim::protocol::AgentInfo| {
                who.cta == cta && who.lanes.is_none() && role.warps >> who.warp & 1 == 1
            };
            let class: Vec<AgentId> = (0..).zip(world.agents()).filter(|(_, who)| in_role(who)).map(|x| x.0).collect();
            if class.len() > 1 && class.len() == role.warps.count_ones() as usize {
                list.push(class);
            }
        }
    }
    list
}
