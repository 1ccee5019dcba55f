//! Rules for Apple, from rows of `src/metal/probes.rs`. MSL has no clock: times become cycles by `clock.mhz`.

use warpline_sim::machine::Machine;

use super::{Rule, key, other};
use crate::measure::Measurements;

/// Cycles in a nanosecond.
fn clock(machine: &Machine) -> f64 {
    key(machine, "clock.mhz") / 1000.0
}

/// Nanoseconds that each simdgroup adds to a barrier, from the time of a barrier with 32.
fn barrier_per_simdgroup(with_32: f64, all: &Measurements) -> f64 {
    (with_32 - other(all, "threadgroup_barrier", 4.0)) / 28.0
}

pub(super) const RULES: &[Rule] = &[
    (
        "memory.shared_latency",
        "threadgroup.latency",
        4.0,
        |v, _, m| v * clock(m),
        "a chain of dependent loads from threadgroup memory; ns at clock.mhz",
    ),
    (
        "memory.shared_bytes_per_clk",
        "threadgroup.read",
        16.0,
        |v, _, m| v / clock(m),
        "32 simdgroups of one core read 16 bytes a lane; ns at clock.mhz",
    ),
    (
        "memory.l1_latency",
        "device.latency",
        4.0,
        |v, _, m| v * clock(m),
        "a chain of dependent loads through 4 KB; ns at clock.mhz",
    ),
    (
        "memory.l2_latency",
        "device.latency",
        256.0,
        |v, _, m| v * clock(m),
        "the same through 256 KB, in no order; ns at clock.mhz",
    ),
    (
        "memory.llc_latency",
        "device.latency",
        16_384.0,
        |v, _, m| v * clock(m),
        "the same through 16 MB; ns at clock.mhz",
    ),
    (
        "memory.dram_latency",
        "device.latency",
        524_288.0,
        |v, _, m| v * clock(m),
        "the same through 512 MB, with the TLB; ns at clock.mhz",
    ),
    (
        "memory.dram_efficiency",
        "device.read",
        1_073_741_824.0,
        |v, _, m| v / key(m, "memory.dram_gbps"),
        "1 GB read once by all cores, over memory.dram_gbps",
    ),
    (
        "mma.warp_latency",
        "simdgroup_matrix.latency",
        8.0,
        |v, _, m| v * clock(m),
        "a chain of 8 x 8 products of f16 into one sum; ns at clock.mhz",
    ),
    (
        "mma.warp_interval",
        "simdgroup_matrix.rate",
        16.0,
        |v, _, m| key(m, "core.schedulers") * clock(m) / v,
        "16 simdgroups of one core with four sums each, by scheduler; ns at clock.mhz",
    ),
    (
        "sync.barrier",
        "threadgroup_barrier",
        4.0,
        |v, all, m| (v - 4.0 * barrier_per_simdgroup(other(all, "threadgroup_barrier", 32.0), all)) * clock(m),
        "4 simdgroups, less what each adds; ns at clock.mhz",
    ),
    (
        "sync.barrier_per_warp",
        "threadgroup_barrier",
        32.0,
        |v, all, m| barrier_per_simdgroup(v, all) * clock(m),
        "32 simdgroups less 4, by simdgroup; ns at clock.mhz",
    ),
    ("alu.fma_per_clk", "fma.rate", 32.0, |v, _, m| v / clock(m), "32 simdgroups of one core; ns at clock.mhz"),
    ("alu.exp_per_clk", "exp2.rate", 32.0, |v, _, m| v / clock(m), "32 simdgroups of one core; ns at clock.mhz"),
    (
        "launch.kernel_us",
        "launch.buffer",
        1.0,
        |v, _, _| v,
        "an empty kernel, from handing its command buffer over until it is known to be done",
    ),
];
