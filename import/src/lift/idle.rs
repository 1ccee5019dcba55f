//! Branches between whose sides nothing happens but arithmetic: the special values of a logarithm, say. And loops that only
//! compute and access global memory, such as `for (i = thread; i < n; i += threads) c[i] = 0`.
//!
//! Their conditions are values of each lane, and to follow these values is to follow all data of a kernel.

use std::collections::BTreeMap;

use crate::flow::{BlockId, Ending, Flow, ending};
use crate::ptx::{Inst, Reg};

use super::slice::{acts, only_global, unread, writes};

/// A loop in which each lane only computes and accesses global memory, in its own number of iterations.
#[derive(Clone, Debug)]
pub(super) struct IdleLoop {
    /// Its first block.
    pub(super) header: BlockId,
    /// The block where all lanes meet behind it.
    pub(super) to: BlockId,
    /// Its blocks.
    blocks: Vec<BlockId>,
    /// The registers that it writes.
    pub(super) written: Vec<Reg>,
}

impl IdleLoop {
    /// Its instructions.
    pub(super) fn code(&self, flow: &Flow) -> impl Iterator<Item = usize> {
        self.blocks.iter().flat_map(|b| flow.blocks[*b].first..flow.blocks[*b].end)
    }
}

/// The loops that may be idle.
pub(super) fn loops(code: &[Inst], flow: &Flow) -> Vec<IdleLoop> {
    let of = |index: usize| {
        let l = &flow.loops[index];
        let blocks: Vec<BlockId> = (0..flow.blocks.len()).filter(|b| l.body[*b]).collect();
        let mut regs = Vec::new();
        for b in &blocks {
            let block = &flow.blocks[*b];
            for i in &code[block.first..block.end] {
                if !is_passive(i) && i.op != "nanosleep" && (!only_global(i) || orders(i)) {
                    return None;
                }
                writes(i, &mut |r| regs.push(r));
            }
        }
        let mut out = blocks.iter().flat_map(|b| &flow.blocks[*b].next).copied().filter(|b| !l.body[*b]);
        let to = out.next()?;
        // Lanes that leave an outer loop there are not behind this loop.
        let outer = flow.loops.iter().filter(|o| o.body[l.header]);
        let stays = outer.filter(|o| !std::ptr::eq(*o, l)).all(|o| o.body[to]);
        (stays && out.all(|b| b == to)).then_some(IdleLoop { header: l.header, to, blocks, written: regs })
    };
    (0..flow.loops.len()).filter_map(of).collect()
}

/// Whether an access to memory has an order with others.
fn orders(i: &Inst) -> bool {
    ["volatile", "acquire", "release", "acq_rel", "relaxed", "mmio"].iter().any(|m| i.has(m))
}

/// Whether an instruction only computes or branches.
fn is_passive(i: &Inst) -> bool {
    let goes_on = matches!(ending(i), Ending::Falls | Ending::Branch);
    goes_on && !acts(i) && !unread(i) && !matches!(i.op.as_str(), "call" | "mma" | "nanosleep")
}

/// The branches whose sides only compute until they meet again, each with the registers that the sides write. `loops` are
/// those that may be idle.
pub(super) fn branches(code: &[Inst], flow: &Flow, loops: &[IdleLoop]) -> BTreeMap<usize, Vec<Reg>> {
    let ends =
        flow.blocks.iter().enumerate().filter(|(b, block)| block.end > block.first && flow.order[*b] != usize::MAX);
    let found = ends.filter_map(|(b, block)| {
        let at = block.end - 1;
        let conditional = ending(&code[at]) == Ending::Branch && code[at].guard.is_some();
        let join = flow.join[b].filter(|join| conditional && *join != flow.exit())?;
        Some((at, written((code, flow, loops), b, join)?))
    });
    found.collect()
}

/// The registers that the blocks between a branch and the place where its sides meet write. `None` where an instruction
/// does more than compute, or where control comes back to the branch.
fn written((code, flow, loops): (&[Inst], &Flow, &[IdleLoop]), branch: BlockId, join: BlockId) -> Option<Vec<Reg>> {
    let mut regs = Vec::new();
    let (mut seen, mut open) = (vec![false; flow.blocks.len()], flow.blocks[branch].next.clone());
    while let Some(b) = open.pop() {
        if b == join || std::mem::replace(&mut seen[b], true) {
            continue;
        }
        if b == branch {
            return None;
        }
        // A loop may be one that waits.
        if flow.header_of[b].is_some() {
            let idle = loops.iter().find(|l| l.header == b)?;
            regs.extend(&idle.written);
            open.push(idle.to);
            continue;
        }
        let block = &flow.blocks[b];
        for i in &code[block.first..block.end] {
            if !is_passive(i) {
                return None;
            }
            writes(i, &mut |r| regs.push(r));
        }
        open.extend(&block.next);
    }
    Some(regs)
}
