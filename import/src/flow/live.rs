//! Which registers are read behind a place.

use crate::ptx::Reg;

use super::{BlockId, Flow};

/// For each block, the registers whose values where it begins may be read there or behind it.
#[derive(Debug)]
pub struct Live {
    before: Vec<Set>,
}

/// A set of registers, a bit each. Large kernels have thousands of blocks and tens of thousands of registers.
type Set = Vec<u64>;

/// What a block reads before it writes it, and what it writes.
struct Block {
    reads: Set,
    writes: Set,
}

impl Live {
    /// `reads` and `writes` call a function on each register that an instruction reads, or gives a new value in all lanes.
    /// All are below `registers`.
    pub fn of(
        flow: &Flow,
        registers: usize,
        reads: impl Fn(usize, &mut dyn FnMut(Reg)),
        writes: impl Fn(usize, &mut dyn FnMut(Reg)),
    ) -> Live {
        let empty = vec![0u64; registers.div_ceil(64)];
        let bit = |r: Reg| (r as usize / 64, 1u64 << (r % 64));
        let block_of = |b: &super::Block| {
            let mut block = Block { reads: empty.clone(), writes: empty.clone() };
            for at in (b.first..b.end).rev() {
                writes(at, &mut |r| {
                    let (word, bit) = bit(r);
                    block.writes[word] |= bit;
                    block.reads[word] &= !bit;
                });
                reads(at, &mut |r| {
                    let (word, bit) = bit(r);
                    block.reads[word] |= bit;
                });
            }
            block
        };
        let blocks: Vec<Block> = flow.blocks.iter().map(block_of).collect();
        let mut live = Live { before: vec![empty; blocks.len()] };
        let mut changed = true;
        while changed {
            changed = false;
            for (n, block) in blocks.iter().enumerate().rev() {
                let mut before = live.union_behind(flow, n);
                let parts = before.iter_mut().zip(block.writes.iter().zip(&block.reads));
                parts.for_each(|(live, (writes, reads))| *live = *live & !writes | reads);
                if before != live.before[n] {
                    live.before[n] = before;
                    changed = true;
                }
            }
        }
        live
    }

    /// Whether the value of a register where a block begins may be read.
    pub fn is(&self, block: BlockId, r: Reg) -> bool {
        has(&self.before[block], r)
    }

    /// The registers whose values where a block ends may be read.
    pub fn behind(&self, flow: &Flow, block: BlockId) -> impl Iterator<Item = Reg> {
        let set = self.union_behind(flow, block);
        (0..64 * set.len() as Reg).filter(move |r| has(&set, *r))
    }

    fn union_behind(&self, flow: &Flow, block: BlockId) -> Set {
        let mut all = vec![0; self.before[block].len()];
        for next in &flow.blocks[block].next {
            all.iter_mut().zip(&self.before[*next]).for_each(|(to, from)| *to |= from);
        }
        all
    }
}

fn has(set: &Set, r: Reg) -> bool {
    set[r as usize / 64] >> (r % 64) & 1 == 1
}
