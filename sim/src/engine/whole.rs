//! Totals of the whole grid, from the clusters that were simulated.

use crate::ir::{Class, Object, Program};
use crate::protocol::{Shares, Tally, TileKey, dram_bytes, flops};
use crate::report::Outcome;

use super::run::Engine;

/// Work of the whole grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct GridTotals {
    /// Floating-point operations of the grid's matrix instructions.
    pub(super) flops: f64,
    /// Operations of `flops` that multiply elements inside the matrices.
    pub(super) useful: f64,
    /// Bytes that pass DRAM, as a run at core fidelity counts them.
    pub(super) moved: f64,
    /// Whether the totals are scaled from the simulated clusters, since the work of the others was not counted.
    pub(super) scaled: bool,
}

impl Engine<'_> {
    /// Totals of the grid. Clusters with unequal work are counted by their control flow; other clusters are assumed to
    /// equal the simulated ones. A run that did not end counts its work so far, on every core like on the simulated
    /// ones. `share` is the number of CTAs of one core.
    pub(super) fn whole(&self, outcome: &Outcome, share: i64) -> GridTotals {
        let prog = self.prog;
        let ctas = prog.grid.len() * prog.cluster as i64;
        let dram = self.cores.iter().map(|c| c.dram.busy_until(self.end)).sum::<u64>();
        let moved = dram as f64 / self.timing.costs.dram_byte.max(1e-12);
        let inside = if self.flops > 0.0 { self.useful / self.flops } else { 1.0 };
        let times = |factor: f64| {
            let flops = self.flops * factor;
            GridTotals { flops, useful: flops * inside, moved: moved * factor, scaled: false }
        };
        if *outcome != Outcome::Finished {
            // A schedule is for one cluster alone.
            let alone = self.turns.is_some();
            let cores = (share.max(1) * self.cores.len() as i64) as f64;
            return times(if alone { 1.0 } else { ctas as f64 / cores });
        }
        // Units run the same number of clusters, except in the tail. A tile that `clc` hands out stands for a cluster.
        let clusters = self.retired.max(1) + self.handed;
        let as_these = times(ctas as f64 / (clusters * prog.cluster) as f64);
        if clusters as i64 == prog.grid.len() {
            return as_these;
        }
        // At device fidelity, the memory has counted every copy.
        match Tally::new(prog, self.rules, self.timing.memory.is_none()).grid() {
            Shares::Alike => as_these,
            Shares::Differ(times) => {
                let flops = flops(prog, &times);
                let moved = dram_bytes(prog, &times, &self.timing.misses);
                GridTotals { flops, useful: flops * inside, moved, scaled: false }
            }
            _ => GridTotals { scaled: true, ..as_these },
        }
    }
}

/// The share of a matrix instruction's operations on elements inside the matrices, over the whole grid. The tiles name
/// the operands' matrices; a computed operand has no padding of its own.
pub(super) fn inside(prog: &Program, tiles: (Option<TileKey>, Option<TileKey>)) -> f64 {
    let global = |t: Option<TileKey>| t.map(|k| &prog.objects[k.obj as usize]).filter(|o| o.class == Class::Global);
    let part = |size: i64, block: i64| match (size, block) {
        (1.., 1..) => size as f64 / ((size + block - 1) / block * block) as f64,
        _ => 1.0,
    };
    let parts = |o: &Object| [part(o.rows, o.block[0]), part(o.cols, o.block[1])];
    match (global(tiles.0), global(tiles.1)) {
        (None, None) => 1.0,
        // The depth is an extent of both operands and counts once.
        (Some(a), Some(b)) => {
            let [m, k] = parts(a);
            let n = if b.rows == a.cols { parts(b)[1] } else { parts(b)[0] };
            m * k * n
        }
        (Some(one), None) | (None, Some(one)) => parts(one).iter().product(),
    }
}
