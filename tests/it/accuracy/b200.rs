//! One SM of a B200, swept over stages: the clock of the runs is not recorded, so one is fitted to all rows.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rayon::prelude::*;
use warpline_sim::report::{Fidelity, RunOptions};

use super::csv;
use crate::facts::load;

/// Element type, tile.
pub(super) type Tile = (String, [i64; 3]);

/// A row: predicted cycles and measured microseconds.
pub(super) struct Row {
    pub(super) tile: Tile,
    pub(super) stages: i64,
    /// Of a K-tile.
    pub(super) cycles: f64,
    /// Of a K-tile.
    us: f64,
}

impl Row {
    /// Measured cycles of a K-tile at a clock.
    pub(super) fn measured(&self, mhz: f64) -> f64 {
        self.us * mhz
    }

    pub(super) fn error(&self, mhz: f64) -> f64 {
        self.cycles / self.measured(mhz) - 1.0
    }
}

/// The sweep and the clock that meets it best.
pub(super) struct Sweep {
    pub(super) rows: Vec<Row>,
    pub(super) mhz: f64,
}

/// Where more stages stop helping: the first within 3 % of the best.
pub(super) struct Knee {
    pub(super) tile: String,
    pub(super) measured: i64,
    pub(super) predicted: i64,
}

/// All rows with a stage count of their own; 0 is the library's choice.
pub(super) static SWEEP: LazyLock<Sweep> = LazyLock::new(|| {
    let rows: Vec<_> = csv("calibrate/data/published/b200_stage_sweep.csv");
    let rows: Vec<Row> = rows.par_iter().filter(|r| r["STAGES"] != "0").map(run).collect();
    // Rows are met at cycles / us; the clock is the one of a fine scale that leaves the least mean error.
    let mean = |mhz: f64| rows.iter().map(|r| r.error(mhz).abs()).sum::<f64>();
    let mhz = clocks().min_by(|a, b| mean(*a).total_cmp(&mean(*b))).unwrap();
    Sweep { rows, mhz }
});

/// The clocks that are tried.
pub(super) fn clocks() -> impl Iterator<Item = f64> {
    (1000..2000).map(f64::from)
}

fn run(row: &BTreeMap<String, String>) -> Row {
    let whole = |c: &str| row[c].parse::<i64>().unwrap();
    let bits = if row["dtype"] == "BF16" { 16 } else { 8 };
    let (tile, stages, k) = ([whole("TILE_M"), whole("TILE_N"), whole("TILE_K")], whole("STAGES"), whole("K"));
    let set = [
        ("tile_m", tile[0]),
        ("tile_n", tile[1]),
        ("tile_k", tile[2]),
        ("stages", stages),
        ("k", k),
        ("dtype_bits", bits),
        ("machine.clock.mhz", 1280),
    ];
    let (program, machine) = load("blackwell/gemm_1sm", &set.map(|(n, v)| (n, v as f64)));
    let options = RunOptions { fidelity: Fidelity::Device, warm_l2: true, ..RunOptions::default() };
    let r = warpline_sim::run(&program, &machine, &options).unwrap_or_else(|e| panic!("{tile:?}: {e}"));
    let steps = k as f64 / tile[2] as f64;
    let ms: f64 = row["time_ms"].parse().unwrap();
    Row { tile: (row["dtype"].clone(), tile), stages, cycles: r.cycles / steps, us: ms * 1e3 / steps }
}

impl Sweep {
    fn tiles(&self) -> BTreeMap<&Tile, Vec<&Row>> {
        let mut by: BTreeMap<&Tile, Vec<&Row>> = BTreeMap::new();
        self.rows.iter().for_each(|r| by.entry(&r.tile).or_default().push(r));
        by.values_mut().for_each(|l| l.sort_by_key(|r| r.stages));
        by
    }

    /// The tiles, each with its rows by stages.
    pub(super) fn by_tile(&self) -> Vec<(String, Vec<&Row>)> {
        let name = |t: &Tile| format!("{} {}x{}x{}", t.0, t.1[0], t.1[1], t.1[2]);
        self.tiles().into_iter().map(|(t, rows)| (name(t), rows)).collect()
    }

    /// Within 3 % of the fastest of its tile.
    pub(super) fn saturated(&self, row: &Row) -> bool {
        let best = self.rows.iter().filter(|r| r.tile == row.tile).map(|r| r.us).fold(f64::MAX, f64::min);
        row.us <= best / 0.97
    }

    pub(super) fn knees(&self) -> Vec<Knee> {
        let knee = |rows: &[&Row], by: &dyn Fn(&Row) -> f64| {
            let best = rows.iter().map(|r| by(r)).fold(f64::MAX, f64::min);
            rows.iter().find(|r| by(r) <= 1.03 * best).map_or(0, |r| r.stages)
        };
        let list = self.by_tile().into_iter().filter(|(_, rows)| rows.len() > 1);
        list.map(|(tile, rows)| Knee { tile, measured: knee(&rows, &|r| r.us), predicted: knee(&rows, &|r| r.cycles) })
            .collect()
    }
}
