//! Rules for NVIDIA.

use super::{Rule, key, other};

/// `launch.cta` has no rule: from the last store of a CTA to the first instruction of the next takes longer than an
/// empty CTA (`cta.queue`).
pub(super) const RULES: &[Rule] = &[
    ("core.count", "device.cores", 1.0, |v, _, _| v, "the driver"),
    ("core.warp_size", "device.warp", 1.0, |v, _, _| v, "the driver"),
    ("limit.shared_per_core", "device.shared_per_core", 1.0, |v, _, _| v, "the driver"),
    ("limit.shared_per_cta", "device.shared_per_cta", 1.0, |v, _, _| v, "the driver"),
    ("limit.regs_per_core", "device.registers", 1.0, |v, _, _| v, "the driver"),
    ("limit.threads_per_cta", "device.threads_per_cta", 1.0, |v, _, _| v, "the driver"),
    ("memory.l2_bytes", "device.l2", 1.0, |v, _, _| v, "the driver"),
    ("memory.shared_latency", "shared.latency", 1.0, |v, _, _| v, "a chain of dependent ld.shared"),
    (
        "memory.l2_latency",
        "global.latency",
        4096.0,
        |v, _, _| v,
        "a chain of dependent ld.global.cg through 4 MB, in random order",
    ),
    (
        "memory.dram_latency",
        "global.latency",
        262_144.0,
        // Memory behind L2 takes time and not cycles of the cores: the probe counted cycles of its own clock.
        |v, all, m| {
            let at = key(m, "clock.latency_mhz") / other(all, "clock.fma", 1.0);
            let l2 = other(all, "global.latency", 4096.0);
            l2 + (v - l2) * at
        },
        "the same through 256 MB, met cold, with the TLB; what is beyond L2's at clock.latency_mhz",
    ),
    (
        "memory.dram_efficiency",
        "dram.read",
        1_073_741_824.0,
        |v, _, m| v / key(m, "memory.dram_gbps"),
        "1 GB read once by all cores, over memory.dram_gbps",
    ),
    ("mma.warp_latency", "mma.m16n8k16.latency", 1.0, |v, _, _| v, "a chain of dependent mma.sync m16n8k16"),
    (
        "mma.warp_interval",
        "mma.m16n8k16.interval",
        16.0,
        |v, _, m| v / 16.0 * key(m, "core.schedulers"),
        "16 warps with eight chains each, by scheduler",
    ),
    (
        "issue.shared_store",
        "st.shared.v4.issue",
        4.0,
        |v, _, m| v / key(m, "core.schedulers"),
        "four warps, by scheduler",
    ),
    ("issue.tma", "tma.tensor.issue", 2048.0, |v, _, _| v, "eight tensor copies back to back"),
    (
        "issue.cp_async",
        "cp.async.issue",
        16.0,
        |v, all, _| (16.0 * v - 8.0 * other(all, "cp.async.issue", 8.0)) / 8.0,
        "each of the last 8 of 16 back to back by one warp, addresses included",
    ),
    ("sync.mbarrier_arrive", "mbarrier.arrive.issue", 1.0, |v, _, _| v, "256 in a row by one thread"),
    (
        "sync.mbarrier_wait",
        "mbarrier.try_wait.complete",
        1.0,
        |v, _, _| v,
        "try_wait.parity of a complete phase, from wait to wait",
    ),
    ("sync.mbarrier_init", "mbarrier.init", 1.0, |v, _, _| v, "64 in a row by one thread"),
    ("sync.cluster", "cluster.sync", 2.0, |v, _, _| v, "cluster of 2"),
    ("sync.barrier_per_warp", "syncthreads", 32.0, |v, _, _| (v - 12.0) / 32.0, "32 warps, less 12, by warp"),
    ("launch.kernel_us", "launch.empty", 1.0, |v, _, _| v, "empty kernels of one CTA back to back in a stream"),
];
