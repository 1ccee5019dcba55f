//! Results that others published without the clock, or of kernels that ours only resemble: ratios, from which the clock drops out,
//! and times in cycles. Ladders and ablations, step by step, are in `ladders.rs`.

use rayon::prelude::*;
use std::sync::LazyLock;
use warpline_sim::report::{Fidelity, Report, RunOptions};

use super::ladders::LADDERS;
use crate::facts::load;
use Beside::{Launch, Rate, Step};

pub(super) type Values = &'static [(&'static str, f64)];
/// A scenario, and values that stand above its own, the last above those before.
pub(super) type Run = (&'static str, &'static [Values]);

/// A ratio of two results, or cycles of a step.
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

    /// Whether it says which of two is faster, by more than a twentieth, and the prediction says the other.
    pub(super) fn turned_round(&self) -> bool {
        self.measured < 10.0 && (self.measured - 1.0).abs() > 0.05 && (self.measured > 1.0) != (self.predicted > 1.0)
    }
}

pub(super) struct Asked {
    pub(super) what: &'static str,
    pub(super) source: &'static str,
    pub(super) measured: f64,
    pub(super) first: Run,
    pub(super) second: Beside,
    pub(super) why: &'static str,
}

/// What the first run's number is held against.
pub(super) enum Beside {
    /// The ratio of its rate and this one's.
    Rate(Run),
    /// Its cycles of a step.
    Step,
    /// Its cycles, of the whole launch.
    Launch,
}

fn ran((name, set): Run, fidelity: Fidelity) -> Report {
    let (program, machine) = load(name, &set.concat());
    let options = RunOptions { fidelity, ..RunOptions::default() };
    warpline_sim::run(&program, &machine, &options).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// TFLOPS, useful ones, of the whole launch.
fn rate(run: Run) -> f64 {
    ran(run, Fidelity::Device).tflops
}

const GLUON: &str = "Triton's Gluon tutorial 07, Hopper, fp16 8192x8192x16384, 128x256, 8 warps";
const LOOP: &str = "hopper/tma_wgmma";
const GLUON_SIZE: Values =
    &[("m", 8192.0), ("n", 8192.0), ("k", 16384.0), ("tile_n", 256.0), ("warps", 8.0), ("regs", 168.0)];
const GLUON_BASE: Run = (LOOP, &[GLUON_SIZE, &[("stages", 3.0)]]);
const GLUON_K: &str = "Triton's Gluon tutorial 07, Hopper, fp16 8192x8192xK, not persistent";
const GLUON_100: &str = "Triton's Gluon tutorial 07, Blackwell, fp16 8192x8192x16384, 128x256, 4 warps";
const GLUON_K_100: &str = "Triton's Gluon tutorial 07, Blackwell, fp16 8192x8192xK, not persistent";
pub(super) const RING: &str = "blackwell/gemm_1sm_grid";
const RING_SIZE: Values =
    &[("m", 8192.0), ("n", 8192.0), ("k", 16384.0), ("tile_m", 128.0), ("tile_n", 256.0), ("tile_k", 64.0)];
const RING_BASE: Run = (RING, &[RING_SIZE, &[("stages", 3.0)]]);
const RHRNALD: &str = "rhrnald/benchmark, 5.GEMM, B200, 8192^3, 128x128x128 a stage, one CTA a core";
const DEPTH: Values = &[
    ("m", 8192.0),
    ("n", 8192.0),
    ("k", 8192.0),
    ("tile_m", 128.0),
    ("tile_n", 128.0),
    ("tile_k", 128.0),
    ("machine.limit.ctas_per_core", 1.0),
];
pub(super) const LADDER: Values = &[("m", 4096.0), ("n", 4096.0), ("k", 4096.0), ("tile_m", 128.0)];
const HIPKITTENS: &str = "HipKittens (arXiv 2511.08083), MI355X, bf16";
const HIPKITTENS_SIZE: Values = &[("m", 7680.0), ("n", 8192.0), ("k", 8192.0)];

const ASKED: &[Asked] = &[
    Asked {
        what: "two buffers of K 128 / three of K 64",
        source: GLUON,
        measured: 489.26 / 673.67,
        first: (LOOP, &[GLUON_SIZE, &[("tile_k", 128.0), ("stages", 2.0)]]),
        second: Rate(GLUON_BASE),
        why: "Gluon's loop issues its copies before it waits for the product, Triton's after",
    },
    Asked {
        what: "four buffers of K 64 / three",
        source: GLUON,
        measured: 669.16 / 673.67,
        first: (LOOP, &[GLUON_SIZE, &[("stages", 4.0)]]),
        second: Rate(GLUON_BASE),
        why: "",
    },
    Asked {
        what: "K = 512 / K = 16384, three buffers",
        source: GLUON_K,
        measured: 491.74 / 653.79,
        first: (LOOP, &[GLUON_SIZE, &[("stages", 3.0), ("k", 512.0)]]),
        second: Rate(GLUON_BASE),
        why: "the last products of a tile and its stores from registers: Gluon's go through shared memory and TMA",
    },
    Asked {
        what: "two buffers of K 128 / three of K 64",
        source: GLUON_100,
        measured: 735.96 / 1054.00,
        first: (RING, &[RING_SIZE, &[("tile_k", 128.0), ("stages", 2.0)]]),
        second: Rate(RING_BASE),
        why: "ours has a warp that does nothing but load; Gluon's loop loads and multiplies from the same warps, and has little in flight with two buffers",
    },
    Asked {
        what: "four buffers of K 64 / three",
        source: GLUON_100,
        measured: 1175.70 / 1054.00,
        first: (RING, &[RING_SIZE, &[("stages", 4.0)]]),
        second: Rate(RING_BASE),
        why: "open; a wave has the pace of its first CTA here (DEVIATIONS.md 1), with the largest effect for a short ring",
    },
    Asked {
        what: "K = 512 / K = 16384, four buffers",
        source: GLUON_K_100,
        measured: 615.86 / 1185.62,
        first: (RING, &[RING_SIZE, &[("stages", 4.0), ("k", 512.0)]]),
        second: Rate((RING, &[RING_SIZE, &[("stages", 4.0)]])),
        why: "the epilogue: Gluon's goes through shared memory and TMA",
    },
    Asked {
        what: "two stages / one, one issuer",
        source: RHRNALD,
        measured: 1219.755 / 653.192,
        first: (RING, &[DEPTH, &[("stages", 2.0)]]),
        second: Rate((RING, &[DEPTH, &[("stages", 1.0)]])),
        why: "",
    },
    Asked {
        what: "three stages / two, one issuer",
        source: RHRNALD,
        measured: 1263.276 / 1219.755,
        first: (RING, &[DEPTH, &[("stages", 3.0)]]),
        second: Rate((RING, &[DEPTH, &[("stages", 2.0)]])),
        why: "one thread issues copies and products there and comes to its own limit; ours has a warp for each",
    },
    Asked {
        what: "two stages / one, two issuers",
        source: RHRNALD,
        measured: 1658.831 / 1012.511,
        first: (RING, &[DEPTH, &[("stages", 2.0)]]),
        second: Rate((RING, &[DEPTH, &[("stages", 1.0)]])),
        why: "the second issuer hides part of the round trip of one stage there (1013 against 653 TFLOPS); how they share the work is not stated",
    },
    Asked {
        what: "three stages / two, two issuers",
        source: RHRNALD,
        measured: 1800.166 / 1658.831,
        first: (RING, &[DEPTH, &[("stages", 3.0)]]),
        second: Rate((RING, &[DEPTH, &[("stages", 2.0)]])),
        why: "the same",
    },
    Asked {
        what: "cycles of a K-tile of 256x256x64, three stages",
        source: "rhrnald/benchmark, 5.GEMM, clock64 inside the kernel, B200",
        measured: 1064.0,
        first: ("blackwell/gemm_1sm", &[&[("tile_m", 256.0), ("tile_n", 256.0), ("tile_k", 64.0), ("stages", 3.0)]]),
        second: Step,
        why: "as one SM; the pace of the tensor pipe, less what the reading of clocks takes there",
    },
    Asked {
        what: "seven stages of 128x128x64 and warps of their own / two of 128x256x128",
        source: "gau-nernst's blog, v4 / v3, B200, bf16 4096^3",
        measured: 1208.83 / 939.61,
        first: (RING, &[LADDER, &[("tile_n", 128.0), ("tile_k", 64.0), ("stages", 7.0)]]),
        second: Rate((RING, &[LADDER, &[("tile_n", 256.0), ("tile_k", 128.0), ("stages", 2.0)]])),
        why: "v3 has no warps of its own for loading; ours has them in both",
    },
    Asked {
        what: "specialized waves / none, 3072^3",
        source: HIPKITTENS,
        measured: 683.61 / 808.16,
        first: ("cdna/producer_consumer", &[&[("m", 3072.0), ("n", 3072.0), ("k", 3072.0)]]),
        second: Rate(("cdna/ping_pong", &[&[("m", 3072.0), ("n", 3072.0), ("k", 3072.0)]])),
        why: "as below",
    },
    Asked {
        what: "specialized waves / none, 9216^3",
        source: HIPKITTENS,
        measured: 1129.15 / 1418.23,
        first: ("cdna/producer_consumer", &[&[("m", 9216.0), ("n", 9216.0), ("k", 9216.0)]]),
        second: Rate(("cdna/ping_pong", &[&[("m", 9216.0), ("n", 9216.0), ("k", 9216.0)]])),
        why: "as below",
    },
    Asked {
        what: "specialized waves / none, 7680x8192x8192",
        source: HIPKITTENS,
        measured: 1251.18 / 1521.94,
        first: ("cdna/producer_consumer", &[HIPKITTENS_SIZE]),
        second: Rate(("cdna/ping_pong", &[HIPKITTENS_SIZE])),
        why: "the sign is right: producers hold registers that a larger tile needs. Ours has a tile of 128x256, theirs is not stated",
    },
    Asked {
        what: "K = 1024 / K = 16384 of 4096x4096",
        source: "tingqli/pyhip, MI355X, bf16, 256x256, 8 waves",
        measured: 1101.0 / 1544.0,
        first: ("cdna/ping_pong", &[&[("m", 4096.0), ("n", 4096.0), ("k", 1024.0)]]),
        second: Rate(("cdna/ping_pong", &[&[("m", 4096.0), ("n", 4096.0), ("k", 16384.0)]])),
        why: "a launch of some 9 us is in the measurement; no figure for a launch on the device was found for CDNA",
    },
];

/// All of them.
pub(super) static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let row = |a: &Asked| Row {
        what: a.what,
        source: a.source,
        measured: a.measured,
        predicted: match a.second {
            Rate(second) => rate(a.first) / rate(second),
            Step => ran(a.first, Fidelity::Core).cycles_per_tile.unwrap_or(f64::NAN),
            Launch => ran(a.first, Fidelity::Device).cycles,
        },
        why: a.why,
    };
    ASKED.par_iter().chain(LADDERS.par_iter()).map(row).collect()
});
