//! Branches between whose sides nothing happens but arithmetic: the special values of a logarithm, say.
//!
//! Their conditions are values of each lane, and to follow these values is to follow all data of a kernel.

use std::collections::BTreeMap;

use crate::flow::{BlockId, Ending, Flow, ending};
use crate::ptx::{Inst, Reg};

use super::slice::{acts, unread, writes};

/// The branches whose sides only compute until they meet again, each with the registers that the sides write.
pub(super) fn branches(code: &[Inst], flow: &Flow) -> BTreeMap<usize, Vec<Reg>> {
    let ends =
        flow.blocks.iter().enumerate().filter(|(b, block)| block.end > block.first && flow.order[*b] != usize::MAX);
    let found = ends.filter_map(|(b, block)| {
        let at = block.end - 1;
        let conditional = ending(&code[at]) == Ending::Branch && code[at].guard.is_some();
        let join = flow.join[b].filter(|join| conditional && *join != flow.exit())?;
        Some((at, written(code, flow, b, join)?))
    });
    found.collect()
}

/// The registers that the blocks between a branch and the place where its sides meet write. `None` where an instruction
/// does more than compute, or where control comes back to the branch.
fn written(code: &[Inst], flow: &Flow, branch: BlockId, join: BlockId) -> Option<Vec<Reg>> {
    let mut regs = Vec::new();
    let (mut seen, mut open) = (vec![false; flow.blocks.len()], flow.blocks[branch].next.clone());
    while let Some(b) = open.pop() {
        if b == join || std::mem::replace(&mut seen[b], true) {
            continue;
        }
        // A loop may be one that waits.
        if b == branch || flow.header_of[b].is_some() {
            return None;
        }
        let block = &flow.blocks[b];
        for i in &code[block.first..block.end] {
            let ends = !matches!(ending(i), Ending::Falls | Ending::Branch);
            if ends || acts(i) || unread(i) || matches!(i.op.as_str(), "call" | "mma" | "nanosleep") {
                return None;
            }
            writes(i, &mut |r| regs.push(r));
        }
        open.extend(&block.next);
    }
    Some(regs)
}
