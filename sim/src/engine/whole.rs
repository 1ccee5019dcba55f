//! Totals of the whole grid, from the clusters that were simulated.

use crate::protocol::{Shares, Tally, dram_bytes, flops};
use crate::report::Outcome;

use super::run::Engine;

/// Work of the whole grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct GridTotals {
    /// Floating-point operations of the grid's matrix instructions.
    pub(super) flops: f64,
    /// Bytes that pass DRAM, as a run at core fidelity counts them.
    pub(super) moved: f64,
    /// Whether the totals are scaled from the simulated clusters, since the work of the others was not counted.
    pub(super) scaled: bool,
}

impl Engine<'_> {
    /// Totals of the grid. Clusters with unequal work are counted by their control flow; other clusters are taken to be
    /// like the simulated ones.
    pub(super) fn whole(&self, outcome: &Outcome) -> GridTotals {
        let prog = self.prog;
        let ctas = prog.grid.len() * prog.cluster as i64;
        // Units run the same number of clusters but for the tail. A tile that `clc` hands out stands for a cluster.
        let clusters = self.retired.max(1) + self.handed;
        let done = (clusters * prog.cluster) as f64;
        let dram = self.cores.iter().map(|c| c.dram.busy).sum::<u64>();
        let moved = dram as f64 / self.timing.costs.dram_byte.max(1e-12);
        let as_these =
            GridTotals { flops: self.flops * ctas as f64 / done, moved: moved * ctas as f64 / done, scaled: false };
        if clusters as i64 == prog.grid.len() {
            return as_these;
        }
        // At device fidelity, the memory has counted every copy.
        match Tally::new(prog, self.rules, self.timing.memory.is_none()).grid() {
            Shares::Alike => as_these,
            Shares::Differ(times) if *outcome == Outcome::Finished => GridTotals {
                flops: flops(prog, &times),
                moved: dram_bytes(prog, &times, &self.timing.misses),
                scaled: false,
            },
            _ => GridTotals { scaled: true, ..as_these },
        }
    }
}
