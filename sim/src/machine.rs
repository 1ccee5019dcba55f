//! A machine: a table of numbers, each with unit, kind and source.
//!
//! There are no defaults. A missing number that is needed is an error ([`MissingParam`]) that names the machine, the
//! parameter and what needs it.

use std::collections::BTreeMap;

/// How the value of a number is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// From the vendor's documents, headers or compiler.
    Documented,
    /// From a measurement, published or our own.
    Measured,
    /// From inference, arithmetic or a stand-in machine.
    Estimated,
}

impl Kind {
    /// The word used in machine files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Documented => "documented",
            Kind::Measured => "measured",
            Kind::Estimated => "estimated",
        }
    }
}

/// One number of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The value, in `unit`.
    pub value: f64,
    /// Unit, as in [`KEYS`].
    pub unit: String,
    /// How the value is known.
    pub kind: Kind,
    /// The source, and sources that disagree.
    pub source: String,
    /// Plausible range as (low, high), where one is known.
    pub spread: Option<(f64, f64)>,
}

/// The vendor of a machine, for `needs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vendor {
    /// Apple GPU families: `apple7`, `apple8`, `apple9`.
    Apple,
    /// NVIDIA compute capabilities: `sm_70` to `sm_100a`.
    Nvidia,
    /// AMD CDNA: `gfx90a`, `gfx942`, `gfx950`.
    Amd,
    /// No hardware: a design on paper, with costs stated in the kernel.
    Paper,
}

/// A machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Short name (`m4-max`).
    pub name: String,
    /// Full name.
    pub title: String,
    /// Vendor.
    pub vendor: Vendor,
    /// Architecture (`apple9`, `sm_90a`, `gfx950`).
    pub arch: String,
    /// The numbers, by key.
    pub params: BTreeMap<String, Param>,
}

/// A parameter that was needed and is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("machine `{machine}` has no `{key}`, which {needed_by} needs ({doc})")]
pub struct MissingParam {
    /// The machine.
    pub machine: String,
    /// The parameter.
    pub key: String,
    /// The parameter's description.
    pub doc: String,
    /// What needs the parameter.
    pub needed_by: String,
}

/// A parameter that machine files may have.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Dotted name; the part before the first dot is its table in the file.
    pub key: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// Description.
    pub doc: &'static str,
}

const fn key(key: &'static str, unit: &'static str, doc: &'static str) -> Key {
    Key { key, unit, doc }
}

/// Every parameter. A machine file may omit any of them and may have no other.
pub const KEYS: &[Key] = &[
    key("clock.mhz", "MHz", "clock that converts cycles to time"),
    key(
        "clock.latency_mhz",
        "MHz",
        "clock in which latencies behind L2 are given in cycles; at another clock they take the same time",
    ),
    key("clock.l2_mhz", "MHz", "clock of the L2 slices, where it differs from the cores' clock"),
    key("clock.peak_mhz", "MHz", "clock behind the vendor's peak figure"),
    key("clock.sustained_idle_mhz", "MHz", "clock that a long kernel sustains while its tensor cores idle"),
    key(
        "clock.sustained_full_mhz",
        "MHz",
        "clock that a long kernel sustains at the full tensor rate; linear in between",
    ),
    key("core.count", "cores", "cores: SM, CU, GPU core"),
    key("core.schedulers", "schedulers", "warp schedulers of a core; each issues one instruction per cycle"),
    key("core.warp_size", "threads", "threads of a warp, simdgroup or wave"),
    key("limit.warps_per_core", "warps", "resident warps of a core"),
    key("limit.ctas_per_core", "CTAs", "resident CTAs of a core"),
    key("limit.threads_per_cta", "threads", "threads of a CTA"),
    key("limit.regs_per_core", "registers", "32-bit registers of a core, all lanes"),
    key("limit.regs_per_thread", "registers", "largest number of 32-bit registers of a thread"),
    key("limit.reg_granule", "registers", "granule of register allocation, per thread of a warp"),
    key("limit.shared_per_core", "bytes", "shared memory of a core, for all resident CTAs"),
    key("limit.shared_per_cta", "bytes", "largest shared memory of one CTA"),
    key("limit.shared_reserved", "bytes", "shared memory that the system reserves for each CTA"),
    key("limit.cluster", "CTAs", "largest cluster"),
    key("limit.named_barriers", "barriers", "numbered barriers of a CTA"),
    key("limit.tmem_columns", "columns", "columns of tensor memory of a core"),
    key("limit.tmem_lanes", "lanes", "lanes (rows) of tensor memory"),
    key("limit.vmcnt", "instructions", "largest vmcnt"),
    key("limit.lgkmcnt", "instructions", "largest lgkmcnt"),
    key("limit.dma_bytes_per_lane", "bytes", "widest direct load to LDS of a lane"),
    key("issue.global_load", "cycles", "issue of one warp-wide global load of `memory.bytes_per_lane` for each lane"),
    key("issue.global_store", "cycles", "issue of one warp-wide global store"),
    key("issue.shared_load", "cycles", "issue of one warp-wide shared load"),
    key("issue.shared_store", "cycles", "issue of one warp-wide shared store"),
    key("issue.cp_async", "cycles", "issue of one warp-wide cp.async of 16 bytes for each thread"),
    key("issue.tma", "cycles", "issue of one TMA operation by one thread"),
    key("issue.mma", "cycles", "issue of one matrix instruction"),
    key("issue.umma", "cycles", "issue of one tcgen05.mma"),
    key("issue.sync", "cycles", "issue of one synchronization instruction: arrive, wait, commit, fence"),
    key("issue.loop", "cycles", "index arithmetic and branch of one loop iteration"),
    key("memory.bytes_per_lane", "bytes", "widest load or store of a lane"),
    key("memory.shared_latency", "cycles", "shared load to use"),
    key("memory.shared_bytes_per_clk", "bytes/cycle", "shared memory bandwidth of a core"),
    key("memory.shared_conflict_ways", "ways", "slowdown by bank conflicts of an unswizzled tile access"),
    key(
        "memory.load_lines_per_clk",
        "lines/cycle",
        "rate of shared memory's port for lines of register loads, where the first-level cache is the same memory",
    ),
    key(
        "memory.l2_atomics_per_clk",
        "sectors/cycle",
        "sectors of atomic accesses that all slices of the second-level cache serve",
    ),
    key("memory.l1_bytes", "bytes", "size of a core's first-level cache and shared memory together"),
    key("memory.l1_latency", "cycles", "global load to use, first-level hit"),
    key("memory.l2_latency", "cycles", "global load to use, second-level hit"),
    key("memory.cp_async_extra", "cycles", "latency of a cp.async beyond that of a global load"),
    key("memory.l2_far_latency", "cycles", "global load to use, second-level hit in the far half"),
    key("memory.l2_bytes", "bytes", "size of the whole second-level cache"),
    key("memory.l2_kept", "fraction", "share of the second-level cache that holds data that was read"),
    key(
        "memory.l2_round",
        "fraction",
        "share of the second-level cache that can be read round after round so that half of it is found again",
    ),
    key(
        "memory.l2_uneven",
        "fraction",
        "how much less than `l2_round` the fullest third of the sets keeps, and how much more the emptiest third",
    ),
    key("memory.l2_dirty", "fraction", "largest share of the second-level cache that may be dirty"),
    key(
        "memory.l2_domains",
        "domains",
        "separate L2 caches (XCDs, GCDs); each has its share of `l2_bytes` and of the cores",
    ),
    key(
        "memory.l2_half_cores",
        "cores",
        "number of cores at one half of the second-level cache that receive CTAs before cores at the other half",
    ),
    key(
        "memory.l2_group_spread",
        "cycles",
        "spread of the requests of a group's cores for a line of a compiled kernel that has one CTA a core",
    ),
    key(
        "memory.l2_half_later",
        "cores",
        "number of CTAs behind the first wave that run in a row on cores at one half of the second-level cache",
    ),
    key("memory.l2_bytes_per_clk", "bytes/cycle", "second-level bandwidth of one core's port"),
    key(
        "memory.copy_bytes_per_clk",
        "bytes/cycle",
        "rate of a core's requests for lines, in bytes: the limit of copies to shared memory; stores share this port",
    ),
    key(
        "memory.l2_slices_bytes_per_clk",
        "bytes/cycle",
        "second-level bandwidth of all slices together, per cycle of their clock",
    ),
    key(
        "memory.l2_stored_bytes_per_clk",
        "bytes/cycle",
        "bandwidth of all slices together for stored bytes, per cycle of their clock, independent of lookups",
    ),
    key(
        "memory.l2_filled_bytes_per_clk",
        "bytes/cycle",
        "bandwidth of all slices together for bytes from DRAM, per cycle of their clock, if nothing is stored meanwhile",
    ),
    key("memory.l2_queue", "cycles", "wait of a block in the queue at the slices of L2 of which half is used"),
    key("memory.l2_merged", "fraction", "share of equal requests by two neighboring cores that reach a slice as one"),
    key(
        "memory.l2_merged_later",
        "fraction",
        "`memory.l2_merged` after the first wave of a launch, for lines in the cache, when CTAs are no longer in step",
    ),
    key(
        "memory.l2_stepped",
        "fraction",
        "share of `memory.l2_slices_bytes_per_clk` that CTAs reach which wait for each of their tiles",
    ),
    key(
        "memory.l2_group_cores",
        "cores",
        "cores of a group (GPC) whose equal requests can merge on their way to a slice",
    ),
    key(
        "memory.l2_group_window",
        "cycles",
        "largest delay at which an equal request of a group merges with an earlier one",
    ),
    key(
        "memory.l2_group_apart",
        "cycles",
        "spread of the requests of a first wave's CTAs for a shared line, beyond the spread of their prologues",
    ),
    key(
        "memory.l2_group_next",
        "fraction",
        "share of the requests of a CTA of a later wave that merges with those of the one before it in launch order",
    ),
    key(
        "memory.l2_group_met",
        "fraction",
        "share of equal requests at one place of a later wave that come at one time, of CTAs that are no such neighbors",
    ),
    key("memory.l2_group_most", "requests", "largest number of a group's equal requests that merge into one"),
    key(
        "memory.store_bytes_per_clk",
        "bytes/cycle",
        "store bandwidth of a core; requests for copied lines share this port",
    ),
    key(
        "memory.llc_latency",
        "cycles",
        "global load to use, hit in the last-level cache behind L2 (SLC, Infinity Cache)",
    ),
    key("memory.llc_bytes", "bytes", "size of the last-level cache"),
    key("memory.dram_latency", "cycles", "global load to use from DRAM"),
    key("memory.dram_far_latency", "cycles", "global load to use from DRAM: the last line of a tile"),
    key(
        "memory.dram_far_lines",
        "lines",
        "lines of a block whose last one takes `memory.dram_far_latency`; that of fewer takes less, by the logarithm",
    ),
    key("memory.dram_gbps", "GB/s", "DRAM bandwidth, peak"),
    key("memory.dram_efficiency", "fraction", "share of the peak that streaming reads reach"),
    key("memory.dram_busy", "cycles", "wait of a line at DRAM in full use, beside its place in the queue"),
    key("memory.dram_queue", "cycles", "wait of a line in the queue at DRAM of which half is used"),
    key("memory.dram_stored", "cycles", "wait of a line at DRAM in full use by stores, beyond `memory.dram_busy`"),
    key("memory.dram_turnaround", "fraction", "extra time of DRAM for a written byte, beside reads"),
    key("memory.line_bytes", "bytes", "cache line; contiguous accesses take whole lines at a core's port to L2"),
    key("memory.sector_bytes", "bytes", "granule of traffic between L2 and core"),
    key("memory.outstanding_per_core", "bytes", "bytes of global loads that one core can have in flight"),
    key("tma.latency", "cycles", "TMA load from L2, issue to mbarrier, without the time of its bytes"),
    key("tma.rows_per_clk", "rows/cycle", "shared-memory rows of at most 128 bytes that the engine writes per cycle"),
    key(
        "tma.request",
        "cycles",
        "least time of the engine for one box; a row longer than the swizzle is several boxes",
    ),
    key("tma.store_latency", "cycles", "TMA store, issue to completion, without the time of its bytes"),
    key("mma.f16_flop_per_clk", "FLOP/cycle", "dense f16/bf16 matrix rate of a core"),
    key("mma.fp8_flop_per_clk", "FLOP/cycle", "dense fp8/int8 matrix rate of a core"),
    key("mma.tf32_flop_per_clk", "FLOP/cycle", "dense tf32 matrix rate of a core"),
    key("mma.f32_flop_per_clk", "FLOP/cycle", "dense f32 matrix rate of a core"),
    key("mma.warp_m", "elements", "rows of one warp-level matrix instruction"),
    key("mma.warp_n", "elements", "columns of one warp-level matrix instruction"),
    key("mma.warp_k_bytes", "bytes", "depth of one warp-level matrix instruction, in bytes of its operands"),
    key("mma.warp_interval", "cycles", "interval of one warp-level matrix instruction on one scheduler"),
    key("mma.warp_latency", "cycles", "latency of one warp-level matrix instruction"),
    key("mma.warp_beside", "cycles", "time of the matrix unit that another instruction of its scheduler takes"),
    key("wgmma.latency", "cycles", "wgmma.commit to the wait's return, beyond the last interval"),
    key("wgmma.arithmetic", "fraction", "rate of arithmetic of other warps while wgmma works, of that without"),
    key("wgmma.fma", "fraction", "the same for floating-point sums and products, which slow the product in turn"),
    key("wgmma.special", "fraction", "rate of special functions of other warps while wgmma works, of that without"),
    key("umma.latency", "cycles", "tcgen05: commit to the mbarrier, beyond the last interval, one CTA"),
    key("umma.pair_latency", "cycles", "tcgen05: commit to the mbarrier, beyond the last interval, a pair of CTAs"),
    key("tmem.ld_bytes_per_clk", "bytes/cycle", "tcgen05.ld bandwidth of a core"),
    key("tmem.ld_latency", "cycles", "tcgen05.ld to wait::ld"),
    key("tmem.alloc", "cycles", "tcgen05.alloc or dealloc"),
    key("sync.barrier", "cycles", "CTA barrier, without its warps"),
    key("sync.barrier_per_warp", "cycles", "CTA barrier, for each warp"),
    key("sync.warp", "cycles", "barrier of one warp or simdgroup"),
    key("sync.named", "cycles", "numbered barrier, without its warps"),
    key("sync.cluster", "cycles", "cluster barrier, arrive to release"),
    key("sync.mbarrier_arrive", "cycles", "mbarrier arrive, issue to effect"),
    key("sync.mbarrier_wake", "cycles", "phase completion to the waiter's next instruction"),
    key("sync.mbarrier_wait", "cycles", "wait on an mbarrier phase that is already complete"),
    key("sync.mbarrier_remote", "cycles", "extra latency of an arrive on another CTA of the cluster"),
    key("sync.mbarrier_init", "cycles", "mbarrier init"),
    key("sync.fence_async", "cycles", "proxy fence"),
    key("sync.fence_gpu", "cycles", "fence of device scope with no access before it"),
    key("sync.fence_atomic", "cycles", "extra time of such a fence behind an atomic access"),
    key("sync.setmaxnreg", "cycles", "setmaxnreg"),
    key("alu.fma_per_clk", "lane-ops/cycle", "fused multiply-adds of a core"),
    key("alu.exp_per_clk", "lane-ops/cycle", "exponentials of a core"),
    key("alu.int_per_clk", "lane-ops/cycle", "integer and conversion operations of a core"),
    key("alu.latency", "cycles", "time from an arithmetic instruction to one that uses its result"),
    key("alu.dequant_ops", "lane-ops", "vector operations to unpack and scale one element"),
    key("launch.kernel_us", "us", "launch of a kernel, enqueue to start"),
    key("launch.device_us", "us", "an empty kernel on the device, first cycle to last"),
    key("launch.cta", "cycles", "CTA launch, slot free to first instruction"),
    key("launch.ctas_per_clk", "CTAs/cycle", "CTAs that the device launches per cycle, on all cores together"),
];

/// The parameter with this name.
pub fn key_named(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|k| k.key == name)
}

impl Machine {
    /// The value of a parameter that `needed_by` requires.
    pub fn need(&self, key: &str, needed_by: &str) -> Result<f64, MissingParam> {
        debug_assert!(key_named(key).is_some(), "{key} is not registered");
        self.params.get(key).map(|p| p.value).ok_or_else(|| MissingParam {
            machine: self.name.clone(),
            key: key.to_string(),
            doc: key_named(key).map_or(String::new(), |k| k.doc.to_string()),
            needed_by: needed_by.to_string(),
        })
    }

    /// The value of a parameter that some machines lack; `None` means that the machine lacks it, not that the value is
    /// unknown.
    pub fn get(&self, key: &str) -> Option<f64> {
        debug_assert!(key_named(key).is_some(), "{key} is not registered");
        self.params.get(key).map(|p| p.value)
    }
}
