//! Rules for AMD, from rows of `probes/cdna.hip`. Cycles are those of the probe's clock.

use warpline_sim::machine::Machine;

use super::{Rule, key, other};
use crate::measure::Measurements;

/// A product's number, if the machine's product is as deep: K elements of 16 bits.
fn deep(v: f64, machine: &Machine, k: f64) -> f64 {
    if key(machine, "mma.warp_k_bytes") == 2.0 * k { v } else { f64::NAN }
}

/// What each wave adds to a barrier, from the time of a barrier with 16 waves.
fn barrier_per_wave(with_16: f64, all: &Measurements) -> f64 {
    (with_16 - other(all, "s_barrier", 4.0)) / 12.0
}

pub(super) const RULES: &[Rule] = &[
    ("core.count", "device.cores", 1.0, |v, _, _| v, "the runtime"),
    ("core.warp_size", "device.warp", 1.0, |v, _, _| v, "the runtime"),
    ("limit.shared_per_core", "device.shared_per_core", 1.0, |v, _, _| v, "the runtime"),
    ("limit.shared_per_cta", "device.shared_per_cta", 1.0, |v, _, _| v, "the runtime"),
    ("limit.threads_per_cta", "device.threads_per_cta", 1.0, |v, _, _| v, "the runtime"),
    (
        "issue.global_load",
        "global_load_dwordx4.issue",
        1.0,
        |v, _, _| v,
        "one wave, from lines in the first-level cache",
    ),
    ("issue.shared_load", "ds_read_b128.issue", 1.0, |v, _, _| v, "one wave"),
    ("issue.shared_store", "ds_write_b128.issue", 1.0, |v, _, _| v, "one wave"),
    ("memory.shared_latency", "lds.latency", 16.0, |v, _, _| v, "a chain of dependent ds_read_b128"),
    ("memory.shared_bytes_per_clk", "lds.read", 16.0, |v, _, _| v, "ds_read_b128 by 16 waves of one compute unit"),
    ("memory.l1_latency", "global.latency", 8.0, |v, _, _| v, "a chain of dependent global_load_dword through 8 KB"),
    ("memory.l2_latency", "global.latency", 1024.0, |v, _, _| v, "the same through 1 MB, in random order"),
    (
        "memory.llc_latency",
        "global.latency",
        65_536.0,
        |v, _, m| if m.get("memory.llc_bytes").is_some() { v } else { f64::NAN },
        "the same through 64 MB",
    ),
    (
        "memory.dram_latency",
        "global.latency",
        2_097_152.0,
        |v, _, _| v,
        "the same through 2 GB, met cold, with the TLB",
    ),
    ("memory.l2_bytes_per_clk", "l2.read", 1024.0, |v, _, _| v, "all compute units read the same 1 MB, each by itself"),
    (
        "memory.dram_efficiency",
        "dram.read",
        4_294_967_296.0,
        |v, all, m| {
            // A device may be one die of the machine.
            let part = other(all, "device.cores", 1.0) / key(m, "core.count");
            v / part / key(m, "memory.dram_gbps")
        },
        "4 GB read once by all compute units, over their part of memory.dram_gbps",
    ),
    (
        "mma.warp_latency",
        "mfma.f16.latency",
        16.0,
        |v, _, m| deep(v, m, 16.0),
        "a chain of v_mfma_f32_16x16x16_f16 through the left operand, with the wait states that the compiler puts in",
    ),
    (
        "mma.warp_latency",
        "mfma.f16.latency",
        32.0,
        |v, _, m| deep(v, m, 32.0),
        "a chain of v_mfma_f32_16x16x32_f16 through the left operand, with the wait states that the compiler puts in",
    ),
    (
        "mma.warp_interval",
        "mfma.f16.interval",
        16.0,
        |v, _, m| deep(v, m, 16.0),
        "four sums of v_mfma_f32_16x16x16_f16 in turn, by one wave",
    ),
    (
        "mma.warp_interval",
        "mfma.f16.interval",
        32.0,
        |v, _, m| deep(v, m, 32.0),
        "four sums of v_mfma_f32_16x16x32_f16 in turn, by one wave",
    ),
    (
        "sync.barrier",
        "s_barrier",
        4.0,
        |v, all, _| v - 4.0 * barrier_per_wave(other(all, "s_barrier", 16.0), all),
        "4 waves, less what each adds",
    ),
    ("sync.barrier_per_warp", "s_barrier", 16.0, |v, all, _| barrier_per_wave(v, all), "16 waves less 4, by wave"),
    ("alu.fma_per_clk", "v_fma_f32.rate", 16.0, |v, _, _| v, "16 waves of one compute unit"),
    ("alu.exp_per_clk", "v_exp_f32.rate", 16.0, |v, _, _| v, "16 waves of one compute unit"),
    ("alu.int_per_clk", "v_add_u32.rate", 16.0, |v, _, _| v, "16 waves of one compute unit"),
    ("launch.kernel_us", "launch.empty", 1.0, |v, _, _| v, "empty kernels of one wave back to back in a stream"),
];
