//! bf16 products that Triton compiles, on an H200: each row's clock is an input.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rayon::prelude::*;
use warpline_api::Traits;
use warpline_sim::ir::Program;
use warpline_sim::machine::Machine;
use warpline_sim::report::{Fidelity, Report, RunOptions};

use super::csv;
use crate::facts::load_on;

/// A row: predicted and measured.
pub(super) struct Row {
    /// `ptr` or `tma`.
    pub(super) variant: String,
    pub(super) sizes: [i64; 3],
    pub(super) tile: [i64; 3],
    pub(super) warps: i64,
    pub(super) stages: i64,
    pub(super) mhz: f64,
    /// CTAs that fit on a core.
    pub(super) resident: f64,
    pub(super) traits: Traits,
    pub(super) cycles: (f64, f64),
    /// Fractions.
    pub(super) hits: (f64, f64),
    /// Bytes.
    pub(super) read: (f64, f64),
    pub(super) written: (f64, f64),
}

impl Row {
    pub(super) fn error(&self) -> f64 {
        self.cycles.0 / self.cycles.1 - 1.0
    }

    /// Compiled to something else than the kernels here say: element by element, where Triton knows no divisibility by 16
    /// elements, or with accumulators in memory, where a thread has more of them than registers.
    pub(super) fn apart(&self) -> bool {
        apart(self.sizes, self.tile, self.warps)
    }
}

fn apart([_, n, k]: [i64; 3], [tile_m, tile_n, _]: [i64; 3], warps: i64) -> bool {
    n % 16 != 0 || k % 16 != 0 || tile_m * tile_n / (32 * warps) >= 256
}

/// What a row of a table was measured with.
pub(super) struct Asked {
    /// The series of runs it is from.
    pub(super) set: String,
    variant: String,
    /// m, n, k, tile_m, tile_n, tile_k, warps, stages, regs.
    values: [i64; 9],
    pub(super) mhz: f64,
    pub(super) cycles: f64,
    hits: f64,
    read: f64,
    written: f64,
}

const NAMES: [&str; 9] = ["m", "n", "k", "tile_m", "tile_n", "tile_k", "warps", "stages", "regs"];

impl Asked {
    /// The scenario that says the same, and its values.
    pub(super) fn scenario(&self) -> (String, Vec<(String, f64)>) {
        let scenario = if self.variant == "ptr" { "hopper/cp_async_wgmma" } else { "hopper/tma_wgmma" };
        (scenario.to_string(), NAMES.iter().zip(self.values).map(|(n, v)| (n.to_string(), v as f64)).collect())
    }

    pub(super) fn flop(&self) -> f64 {
        let [m, n, k, ..] = self.values;
        2.0 * m as f64 * n as f64 * k as f64
    }

    /// See [`Row::apart`].
    pub(super) fn apart(&self) -> bool {
        let [m, n, k, tile_m, tile_n, tile_k, warps, ..] = self.values;
        apart([m, n, k], [tile_m, tile_n, tile_k], warps)
    }
}

/// A scenario on an H200 at device fidelity, at a clock.
pub(super) fn at(scenario: &str, values: &[(String, f64)], mhz: f64) -> Report {
    let (program, machine) = loaded(scenario, values, mhz);
    executed(scenario, &program, &machine)
}

fn loaded(scenario: &str, values: &[(String, f64)], mhz: f64) -> (Program, Machine) {
    let mut set: Vec<(&str, f64)> = values.iter().map(|(n, v)| (n.as_str(), *v)).collect();
    set.push(("machine.clock.mhz", mhz));
    load_on(Some("h200"), scenario, &set)
}

fn executed(scenario: &str, program: &Program, machine: &Machine) -> Report {
    let options = RunOptions { fidelity: Fidelity::Device, ..RunOptions::default() };
    warpline_sim::run(program, machine, &options).unwrap_or_else(|e| panic!("{scenario}: {e}"))
}

fn run(asked: &Asked) -> Row {
    let (scenario, values) = asked.scenario();
    let (program, machine) = loaded(&scenario, &values, asked.mhz);
    let r = executed(&scenario, &program, &machine);
    let [m, n, k, tile_m, tile_n, tile_k, warps, stages, _] = asked.values;
    Row {
        variant: asked.variant.clone(),
        sizes: [m, n, k],
        tile: [tile_m, tile_n, tile_k],
        warps,
        stages,
        mhz: asked.mhz,
        resident: f64::from(r.occupancy.ctas_per_core),
        traits: Traits::of(&program, &machine, false),
        cycles: (r.cycles, asked.cycles),
        hits: (r.l2_hit_rate, asked.hits),
        read: (r.dram_read_bytes, asked.read),
        written: (r.dram_write_bytes, asked.written),
    }
}

fn rows(
    path: &str,
    columns: [&str; 9],
    other: [&str; 4],
    clock: impl Fn(&BTreeMap<String, String>) -> f64,
) -> Vec<Asked> {
    let number = |r: &BTreeMap<String, String>, c: &str| r[c].parse::<f64>().unwrap();
    csv(path)
        .iter()
        .filter(|r| r.get("set").is_none_or(|s| s != "few"))
        .map(|r| Asked {
            set: r.get("set").map_or("sample", String::as_str).to_string(),
            variant: r["variant"].clone(),
            values: columns.map(|c| number(r, c) as i64),
            mhz: clock(r),
            cycles: number(r, other[0]),
            hits: number(r, other[1]) / 100.0,
            read: number(r, other[2]),
            written: number(r, other[3]),
        })
        .collect()
}

/// The sample: 4096^3, two tiles, one to six stages.
pub(super) static SAMPLE: LazyLock<Vec<Row>> = LazyLock::new(|| sample_asked().par_iter().map(run).collect());

/// More sizes, tiles and warps, by `calibrate/probes/gemm.py`.
pub(super) static OURS: LazyLock<Vec<Row>> = LazyLock::new(|| ours_asked().par_iter().map(run).collect());

pub(super) fn sample_asked() -> Vec<Asked> {
    let columns = ["M", "N", "K", "BM", "BN", "BK", "warps", "stages", "regs"];
    let clock = |r: &BTreeMap<String, String>| {
        r["sm_cycles"].parse::<f64>().unwrap() / r["duration_ns"].parse::<f64>().unwrap() * 1e3
    };
    let other = ["sm_cycles", "l2_hit_pct", "dram_read", "dram_write"];
    rows("calibrate/data/h200_triton_gemm_sample.csv", columns, other, clock)
}

pub(super) fn ours_asked() -> Vec<Asked> {
    let clock = |r: &BTreeMap<String, String>| r["sm_mhz"].parse().unwrap();
    let other = ["sm_cycles", "l2_hit_pct", "dram_read", "dram_write"];
    rows("calibrate/data/h200_gemm.csv", NAMES, other, clock)
}

/// Variant, sizes, tile, warps: what has a choice of stages.
type Kernel<'a> = (&'a str, [i64; 3], [i64; 3], i64);

/// A stage count chosen by prediction.
pub(super) struct Choice {
    pub(super) name: String,
    pub(super) chosen: i64,
    pub(super) best: i64,
    /// Cycles it takes more than the best measured one, as a fraction.
    pub(super) costs: f64,
}

/// For each kernel, size and tile with several stage counts: what would be chosen.
pub(super) fn choices(rows: &[Row]) -> Vec<Choice> {
    let mut groups: BTreeMap<Kernel<'_>, Vec<&Row>> = BTreeMap::new();
    for r in rows {
        groups.entry((&r.variant, r.sizes, r.tile, r.warps)).or_default().push(r);
    }
    let least = |list: &[&Row], by: fn(&Row) -> f64| -> (i64, f64) {
        let r = list.iter().min_by(|a, b| by(a).total_cmp(&by(b))).unwrap();
        (r.stages, r.cycles.1)
    };
    let choice = |((v, _, t, w), list): (Kernel<'_>, Vec<&Row>)| {
        let (chosen, takes) = least(&list, |r| r.cycles.0);
        let (best, least) = least(&list, |r| r.cycles.1);
        let name = format!("{v} {}x{}x{}, {w} warps", t[0], t[1], t[2]);
        Choice { name, chosen, best, costs: takes / least - 1.0 }
    };
    groups.into_iter().filter(|(_, list)| list.len() > 1).map(choice).collect()
}
