//! Which registers are read behind a place.

use crate::flow::{BlockId, Flow};
use crate::ptx::{Entry, Inst, Reg};

use super::slice::writes;

/// For each block, the registers whose values where it begins may be read there or behind it.
#[derive(Debug)]
pub(crate) struct Live {
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
    pub(crate) fn of(entry: &Entry, flow: &Flow) -> Live {
        let empty = vec![0u64; entry.widths.len().div_ceil(64)];
        let blocks: Vec<Block> = flow
            .blocks
            .iter()
            .map(|b| {
                let mut block = Block { reads: empty.clone(), writes: empty.clone() };
                entry.code[b.first..b.end].iter().rev().for_each(|i| block.step_back(i));
                block
            })
            .collect();
        let mut before = vec![empty.clone(); blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (n, block) in blocks.iter().enumerate().rev() {
                let mut live = empty.clone();
                for next in &flow.blocks[n].next {
                    live.iter_mut().zip(&before[*next]).for_each(|(to, from)| *to |= from);
                }
                let parts = live.iter_mut().zip(block.writes.iter().zip(&block.reads));
                parts.for_each(|(live, (writes, reads))| *live = *live & !writes | reads);
                if live != before[n] {
                    before[n] = live;
                    changed = true;
                }
            }
        }
        Live { before }
    }

    /// Whether the value of a register where a block begins may be read.
    pub(crate) fn is(&self, block: BlockId, r: Reg) -> bool {
        self.before[block][r as usize / 64] >> (r % 64) & 1 == 1
    }
}

impl Block {
    /// Adds an instruction before the others. A write under a guard leaves the old value to some lanes, and accumulators of
    /// `wgmma` are read, too.
    fn step_back(&mut self, i: &Inst) {
        let bit = |r: Reg| (r as usize / 64, 1u64 << (r % 64));
        let is_new = !matches!(i.op.as_str(), "wgmma" | "call");
        let mut result = false;
        writes(i, &mut |r| {
            result = true;
            if is_new && i.guard.is_none() {
                let (word, bit) = bit(r);
                self.writes[word] |= bit;
                self.reads[word] &= !bit;
            }
        });
        let mut read = |r: Reg| {
            let (word, bit) = bit(r);
            self.reads[word] |= bit;
        };
        i.args_from(usize::from(result && is_new)).iter().for_each(|a| a.each_reg(&mut read));
        i.guard.iter().for_each(|g| read(g.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx;

    #[test]
    fn a_value_that_is_written_first_is_not_live() {
        let text = "
            .version 8.0
            .target sm_90
            .address_size 64
            .visible .entry k() {
                .reg .pred %p<2>;
                .reg .b32 %r<6>;
                mov.u32 %r1, 1;
                mov.u32 %r2, 2;
                mov.u32 %r3, 3;
                setp.eq.s32 %p1, %r1, 0;
                @%p1 bra DONE;
                mov.u32 %r2, 4;
                @%p1 mov.u32 %r3, 5;
                add.s32 %r4, %r2, %r3;
            DONE:
                ret;
            }";
        let module = ptx::read(text).expect("it is PTX");
        let entry = &module.entries[0];
        let flow = Flow::of(entry).expect("it has blocks");
        let live = Live::of(entry, &flow);
        let written = |n: usize| {
            let mut all = Vec::new();
            writes(&entry.code[n], &mut |r| all.push(r));
            all[0]
        };
        let [one, two, three] = [written(0), written(1), written(2)];
        assert_eq!([one, two, three].map(|r| live.is(1, r)), [false, false, true]);
    }
}
