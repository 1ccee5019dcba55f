//! Branches between whose sides nothing happens but arithmetic and accesses to global memory: the special values of a
//! logarithm, say. And such loops, as in `for (i = thread; i < n; i += threads) c[i] = 0`.
//!
//! Their conditions are values of each lane, and to follow these values is to follow all data of a kernel.

use std::collections::BTreeMap;

use crate::flow::{BlockId, Ending, Flow, ending};
use crate::ptx::{Inst, Reg};

use super::in_flight::List;
use super::pointers::Pointers;
use super::slice::{acts, only_global, unread, writes};

/// A loop in which each lane only computes and accesses global memory, in its own number of iterations.
#[derive(Clone, Debug)]
pub(crate) struct IdleLoop {
    /// Its first block.
    pub(crate) header: BlockId,
    /// The block where all lanes meet behind it.
    pub(crate) to: BlockId,
    /// Its blocks.
    blocks: Vec<BlockId>,
    /// The registers that it writes.
    pub(crate) written: Vec<Reg>,
}

impl IdleLoop {
    /// Its instructions.
    pub(crate) fn code(&self, flow: &Flow) -> impl Iterator<Item = usize> {
        self.blocks.iter().flat_map(|b| flow.blocks[*b].first..flow.blocks[*b].end)
    }
}

/// The loops that may be idle. No instruction in `accesses` is.
pub(crate) fn loops(code: &[Inst], flow: &Flow, (pointers, accesses): (&Pointers, &List)) -> Vec<IdleLoop> {
    let of = |index: usize| {
        let l = &flow.loops[index];
        let blocks: Vec<BlockId> = (0..flow.blocks.len()).filter(|b| l.body[*b]).collect();
        let mut regs = Vec::new();
        for b in &blocks {
            let block = &flow.blocks[*b];
            for (i, at) in code[block.first..block.end].iter().zip(block.first..) {
                if accesses.contains_key(&at) || !is_passive(i) && i.op != "nanosleep" && !is_far(i, pointers) {
                    return None;
                }
                writes(i, &mut |r| regs.push(r));
            }
        }
        Some(IdleLoop { header: l.header, to: only_exit(code, flow, index)?, blocks, written: regs })
    };
    (0..flow.loops.len()).filter_map(of).collect()
}

/// The blocks behind a loop: those that reach a trap at once, and others.
pub(crate) fn exits(code: &[Inst], flow: &Flow, index: usize) -> (Vec<BlockId>, Vec<BlockId>) {
    let body = &flow.loops[index].body;
    let blocks = flow.blocks.iter().zip(body).filter(|(_, inside)| **inside);
    let out = blocks.flat_map(|(b, _)| &b.next).copied().filter(|b| !body[*b]);
    let traps = |b: &BlockId| {
        let block = &flow.blocks[*b];
        code[block.first..block.end].iter().any(|i| ending(i) == Ending::Trap && i.guard.is_none())
    };
    out.partition(traps)
}

/// The block to which all exits of a loop but traps lead, where lanes that leave it are in all loops around it.
pub(crate) fn only_exit(code: &[Inst], flow: &Flow, index: usize) -> Option<BlockId> {
    let l = &flow.loops[index];
    let mut out = exits(code, flow, index).1.into_iter();
    let to = out.next()?;
    let outer = flow.loops.iter().filter(|o| o.body[l.header]);
    let stays = outer.filter(|o| !std::ptr::eq(*o, l)).all(|o| o.body[to]);
    (stays && out.all(|b| b == to)).then_some(to)
}

/// Whether an instruction accesses memory outside of shared memory.
pub(crate) fn is_elsewhere(i: &Inst, pointers: &Pointers) -> bool {
    only_global(i) || pointers.elsewhere(i)
}

/// Whether an instruction acts on memory outside of shared memory, and orders nothing in its CTA. `griddepcontrol` orders
/// accesses of global memory with those of another grid.
fn is_far(i: &Inst, pointers: &Pointers) -> bool {
    i.op == "griddepcontrol" || is_elsewhere(i, pointers) && !orders(i)
}

/// Whether an access to memory has an order with others. A relaxed store has none, and is followed by nobody.
fn orders(i: &Inst) -> bool {
    let relaxed = ["volatile", "relaxed", "mmio"].iter().any(|m| i.has(m)) && !matches!(i.op.as_str(), "st" | "red");
    relaxed || ["acquire", "release", "acq_rel"].iter().any(|m| i.has(m))
}

/// Whether an instruction only computes or branches.
pub(crate) fn is_passive(i: &Inst) -> bool {
    let goes_on = matches!(ending(i), Ending::Falls | Ending::Branch);
    goes_on && !acts(i) && !unread(i) && !matches!(i.op.as_str(), "call" | "mma" | "nanosleep")
}

/// A branch whose sides only compute and access global memory until they meet again.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdleBranch {
    /// The registers that the sides write.
    pub(crate) written: Vec<Reg>,
    /// The blocks of the sides to which all ways lead over the branch.
    blocks: Vec<BlockId>,
}

impl IdleBranch {
    /// The instructions of these blocks.
    pub(crate) fn code(&self, flow: &Flow) -> impl Iterator<Item = usize> {
        self.blocks.iter().flat_map(|b| flow.blocks[*b].first..flow.blocks[*b].end)
    }
}

/// The branches that may be idle, by instruction. `loops` are those that may be idle.
pub(crate) fn branches(
    code: &[Inst],
    flow: &Flow,
    loops: &[IdleLoop],
    followed: (&Pointers, &List),
) -> BTreeMap<usize, IdleBranch> {
    let ends =
        flow.blocks.iter().enumerate().filter(|(b, block)| block.end > block.first && flow.order[*b] != usize::MAX);
    let found = ends.filter_map(|(b, block)| {
        let at = block.end - 1;
        let conditional = ending(&code[at]) == Ending::Branch && code[at].guard.is_some();
        let join = flow.join[b].filter(|join| conditional && *join != flow.exit())?;
        Some((at, sides((code, flow, loops), followed, b, join)?))
    });
    found.collect()
}

/// The blocks between a branch and the place where its sides meet. `None` where an instruction does more than compute and
/// access global memory, or where control comes back to the branch.
fn sides(
    (code, flow, loops): (&[Inst], &Flow, &[IdleLoop]),
    (pointers, accesses): (&Pointers, &List),
    branch: BlockId,
    join: BlockId,
) -> Option<IdleBranch> {
    let mut all = IdleBranch::default();
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
            all.written.extend(&idle.written);
            open.push(idle.to);
            continue;
        }
        let block = &flow.blocks[b];
        for (i, at) in code[block.first..block.end].iter().zip(block.first..) {
            if accesses.contains_key(&at) || !is_passive(i) && !is_far(i, pointers) {
                return None;
            }
            writes(i, &mut |r| all.written.push(r));
        }
        if flow.dominates(branch, b) {
            all.blocks.push(b);
        }
        open.extend(&block.next);
    }
    Some(all)
}
