//! Natural loops.

use super::{Block, BlockId};

/// A natural loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Its only entry.
    pub header: BlockId,
    /// For each block, whether it is part of the loop.
    pub body: Vec<bool>,
    /// Blocks that go back to the header.
    pub latches: Vec<BlockId>,
}

/// All natural loops. An error is a block, other than the header, at which a loop is entered.
pub(super) fn loops(blocks: &[Block], order: &[usize], dominator: &[Option<BlockId>]) -> Result<Vec<Loop>, BlockId> {
    let dominates = |a: BlockId, mut b: BlockId| loop {
        if a == b {
            return true;
        }
        match dominator[b] {
            Some(up) => b = up,
            None => return false,
        }
    };
    let mut back = vec![Vec::new(); blocks.len()];
    for (b, block) in blocks.iter().enumerate().filter(|(b, _)| order[*b] != usize::MAX) {
        block.next.iter().for_each(|to| back[*to].push(b));
    }
    let mut list: Vec<Loop> = Vec::new();
    for (b, block) in blocks.iter().enumerate().filter(|(b, _)| order[*b] != usize::MAX) {
        for &h in block.next.iter().filter(|h| order[**h] <= order[b]) {
            if !dominates(h, b) {
                return Err(h);
            }
            let known = list.iter().position(|l| l.header == h);
            let i = known.unwrap_or_else(|| {
                let mut body = vec![false; blocks.len()];
                body[h] = true;
                list.push(Loop { header: h, body, latches: Vec::new() });
                list.len() - 1
            });
            let l = &mut list[i];
            l.latches.push(b);
            let mut open = vec![b];
            while let Some(x) = open.pop() {
                if !std::mem::replace(&mut l.body[x], true) {
                    open.extend(&back[x]);
                }
            }
        }
    }
    Ok(list)
}
