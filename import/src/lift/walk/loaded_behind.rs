//! Branches by data of which a side uses registers that `tcgen05.ld` loads, in a text without `tcgen05.wait::ld`.
//!
//! The text relies on the hardware to wait before the use. The lanes that do not use the register are of the same warp, and
//! a load is one instruction of the whole warp. So the load has arrived behind the branch.

use crate::flow::BlockId;
use crate::lift::facts::slice::reads;
use crate::lift::tree::Effect;
use crate::ptx::Error;

use super::Walk;

impl Walk<'_, '_> {
    /// A branch that is passed over, as its sides only compute and access global memory.
    pub(crate) fn passes_over(&mut self, at: usize, (branch, join): (BlockId, BlockId)) -> Result<(), Error> {
        if self.loading.is_empty() {
            return Ok(());
        }
        let flow = self.s.flow;
        let (mut seen, mut open) = (vec![false; flow.blocks.len()], flow.blocks[branch].next.clone());
        while let Some(b) = open.pop() {
            if b == join || std::mem::replace(&mut seen[b], true) {
                continue;
            }
            for n in flow.blocks[b].first..flow.blocks[b].end {
                let i = self.inst(n);
                let mut newest = None;
                reads(i, &mut |r| newest = newest.max(self.loading.newest(r)));
                if let Some(load) = newest {
                    self.loading.used_behind(load, i.line);
                }
            }
            open.extend(&flow.blocks[b].next);
        }
        self.arrived_behind(at)
    }

    /// The end of a branch by data: what a side used has arrived.
    pub(crate) fn arrived_behind(&mut self, at: usize) -> Result<(), Error> {
        let used = if self.unsure == 0 { self.loading.arrived_behind() } else { None };
        let Some(line) = used else { return Ok(()) };
        let what = "`tcgen05.ld` has loaded a register behind a branch by data of which a side uses it";
        self.s.assume(line, format!("{what}, as this text has no `tcgen05.wait::ld`"));
        self.push(at, 7, Effect::TensorWait(true))
    }
}
