//! Results that others published without the clock, or of kernels that ours only resemble: ratios, from which the clock drops out.

use rayon::prelude::*;
use warpline_sim::report::{Fidelity, RunOptions};

use crate::facts::load;

type Values = &'static [(&'static str, f64)];
/// A scenario, and values that stand above its own, the last above those before.
type Run = (&'static str, &'static [Values]);

/// A ratio of two results.
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) source: &'static str,
    pub(super) measured: f64,
    pub(super) predicted: f64,
    /// Why it is off, or what the kernels do not share.
    pub(super) why: &'static str,
}

impl Row {
    pub(super) fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }
}

struct Asked {
    what: &'static str,
    source: &'static str,
    measured: f64,
    first: Run,
    second: Run,
    why: &'static str,
}

/// TFLOPS, useful ones.
fn rate((name, set): Run) -> f64 {
    let (program, machine) = load(name, &set.concat());
    let options = RunOptions { fidelity: Fidelity::Device, ..RunOptions::default() };
    warpline_sim::run(&program, &machine, &options).unwrap_or_else(|e| panic!("{name}: {e}")).tflops
}

const GLUON: &str = "Triton's Gluon tutorial 07, Hopper, fp16 8192x8192x16384, 128x256, 8 warps";
const LOOP: &str = "hopper/tma_wgmma";
const GLUON_SIZE: Values =
    &[("m", 8192.0), ("n", 8192.0), ("k", 16384.0), ("tile_n", 256.0), ("warps", 8.0), ("regs", 168.0)];
const GLUON_BASE: Run = (LOOP, &[GLUON_SIZE, &[("stages", 3.0)]]);
const HIPKITTENS: &str = "HipKittens (arXiv 2511.08083), MI355X, bf16";
const HIPKITTENS_SIZE: Values = &[("m", 7680.0), ("n", 8192.0), ("k", 8192.0)];

const ASKED: &[Asked] = &[
    Asked {
        what: "two buffers of K 128 / three of K 64",
        source: GLUON,
        measured: 489.26 / 673.67,
        first: (LOOP, &[GLUON_SIZE, &[("tile_k", 128.0), ("stages", 2.0)]]),
        second: GLUON_BASE,
        why: "Gluon's loop issues its copies before it waits for the product, Triton's after",
    },
    Asked {
        what: "four buffers of K 64 / three",
        source: GLUON,
        measured: 669.16 / 673.67,
        first: (LOOP, &[GLUON_SIZE, &[("stages", 4.0)]]),
        second: GLUON_BASE,
        why: "",
    },
    Asked {
        what: "specialised waves / none",
        source: HIPKITTENS,
        measured: 1251.18 / 1521.94,
        first: ("cdna/producer_consumer", &[HIPKITTENS_SIZE]),
        second: ("cdna/ping_pong", &[HIPKITTENS_SIZE]),
        why: "the sign is right: producers hold registers that a larger tile needs. Ours has a tile of 128x256, theirs is not stated",
    },
    Asked {
        what: "K = 1024 / K = 16384 of 4096x4096",
        source: "tingqli/pyhip, MI355X, bf16, 256x256, 8 waves",
        measured: 1101.0 / 1544.0,
        first: ("cdna/ping_pong", &[&[("m", 4096.0), ("n", 4096.0), ("k", 1024.0)]]),
        second: ("cdna/ping_pong", &[&[("m", 4096.0), ("n", 4096.0), ("k", 16384.0)]]),
        why: "a launch of some 9 us is in the measurement; no figure for a launch on the device was found for CDNA",
    },
];

/// All of them.
pub(super) fn rows() -> Vec<Row> {
    let row = |a: &Asked| Row {
        what: a.what,
        source: a.source,
        measured: a.measured,
        predicted: rate(a.first) / rate(a.second),
        why: a.why,
    };
    ASKED.par_iter().map(row).collect()
}
