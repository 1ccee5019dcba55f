//! The numbers of a machine that a kernel's operations need, in ticks.

use std::collections::BTreeSet;

use crate::ir::{Class, Fence, Instr, MmaKind, MoveKind, Op, Program, Writes};
use crate::machine::{Kind, Machine, MissingParam};
use crate::timeline::TICKS;

/// Costs in ticks, and rates in ticks per byte (or element). A field is zero if no operation of the kernel uses it.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Costs {
    pub warp_size: u32,
    pub schedulers: usize,
    pub bytes_per_lane: u32,
    pub dma_bytes_per_lane: u32,
    pub issue_load: f64,
    pub issue_store: f64,
    pub issue_lds: f64,
    pub issue_sts: f64,
    pub issue_cp: f64,
    pub issue_tma: f64,
    pub issue_mma: f64,
    pub issue_umma: f64,
    pub issue_sync: f64,
    pub loop_: f64,
    pub shared_latency: f64,
    pub shared_byte: f64,
    pub conflict: f64,
    /// Ticks of a load that hits in the core's own cache; `None` where the machine does not say.
    pub l1_latency: Option<f64>,
    pub l2_latency: f64,
    pub dram_latency: f64,
    pub l2_byte: f64,
    /// Ticks per byte on the core's request port, for copies to shared memory; `None` where the machine does not say.
    pub request_byte: Option<f64>,
    pub dram_byte: f64,
    /// Ticks of a hit in the far half of L2, beyond a hit in the near half.
    pub far_extra: f64,
    /// Ticks of a hit in the cache behind L2, beyond a hit in the near half of L2.
    pub last_extra: f64,
    /// Ticks of DRAM for the last line of a tile, beyond a hit in the near half of L2.
    pub dram_extra: f64,
    /// The logarithm of the number of lines from which the last one takes that long; 0 where any number does.
    pub far_lines: f64,
    /// Ticks that a line waits for busy DRAM, at full use.
    pub dram_busy: f64,
    /// Ticks that a line queues at DRAM where half of its rate is used.
    pub dram_queue: f64,
    /// Ticks that a line waits at DRAM in full use where all other traffic is stores, beyond the two above.
    pub dram_stored: f64,
    /// Ticks that a block queues at the L2 slices where half of their rate is used.
    pub slice_queue: f64,
    /// Ticks per byte of a core's share of the L2 slices, where all cores run.
    pub slice_byte: f64,
    /// Ticks per stored byte on the core's request port.
    pub store_byte: f64,
    /// Ticks per stored byte of a core's share of the L2 slices; 0 where the machine does not say.
    pub write_byte: f64,
    /// Ticks per byte that comes from DRAM of a core's share of the L2 slices, which store it; 0 where the machine does
    /// not say.
    pub fill_byte: f64,
    /// Ticks of a core's share of the L2 slices for an atomic access to one sector; 0 where the machine does not say.
    pub atomic: f64,
    /// Bytes of a cache line; 0 where the machine does not say.
    pub line: f64,
    /// Ticks of shared memory's port for each line of a load to registers; 0 where such loads do not use that port.
    pub load_line: f64,
    /// Number of cores that share DRAM and the L2 slices.
    pub sharers: i64,
    pub tma_latency: f64,
    pub tma_row: f64,
    pub tma_request: f64,
    pub tma_store_latency: f64,
    pub warp_m: i64,
    pub warp_n: i64,
    pub warp_k_bytes: i64,
    pub warp_interval: f64,
    pub warp_latency: f64,
    /// Ticks of the warps' matrix unit that another instruction of its scheduler takes; 0 where the machine does not
    /// say.
    pub beside: f64,
    /// Ticks per floating-point operation of the tensor pipe at 16 bits.
    pub tensor_flop: f64,
    pub wgmma_latency: f64,
    /// Rates of integer arithmetic, of floating-point sums and products and of special functions while `wgmma` works, of
    /// those without; 1 where the machine does not say.
    pub wgmma_arithmetic: f64,
    pub wgmma_fma: f64,
    pub wgmma_special: f64,
    pub umma_latency: f64,
    pub umma_pair_latency: f64,
    pub tmem_latency: f64,
    pub tmem_byte: f64,
    pub tmem_alloc: f64,
    pub barrier: f64,
    pub barrier_warp: f64,
    pub warp_sync: f64,
    pub named: f64,
    pub cluster: f64,
    pub mbar_wake: f64,
    pub mbar_wait: f64,
    pub cp_extra: f64,
    pub mbar_remote: f64,
    pub mbar_init: f64,
    pub fence: f64,
    /// Ticks of a round trip to L2, for counters in global memory.
    pub counter: f64,
    /// Ticks of `fence gpu`. Where the kernel has atomic accesses, a fence waits for one.
    pub fence_gpu: f64,
    /// Ticks between two launches of CTAs on a core, where all cores launch.
    pub launch_interval: f64,
    /// Time of DRAM for a written byte beside reads, as a multiple of that for a byte read.
    pub written: f64,
    pub setmaxnreg: f64,
    pub fma: f64,
    pub exp: f64,
    pub int: f64,
    /// Ticks from an arithmetic instruction to one that uses its result.
    pub latency: f64,
    pub dequant_ops: f64,
    pub cta_launch: f64,
    /// Number of parameters read, by kind of source.
    pub used: [u32; 3],
}

/// The operations of a kernel, for questions about which it has.
struct Uses<'a> {
    ops: Vec<(&'a Op, bool)>,
}

impl Uses<'_> {
    /// Whether an operation of this kind has no cost stated in the kernel.
    fn any(&self, f: impl Fn(&Op) -> bool) -> bool {
        self.ops.iter().any(|(op, priced)| !priced && f(op))
    }

    fn moves(&self, hows: &[MoveKind]) -> bool {
        self.any(|op| matches!(op, Op::Move { how, .. } if hows.contains(how)))
    }
}

/// A reader of machine parameters that records each parameter that it reads.
struct Reader<'a> {
    m: &'a Machine,
    used: BTreeSet<&'static str>,
}

impl Reader<'_> {
    fn cycles(&mut self, yes: bool, key: &'static str, who: &str) -> Result<f64, MissingParam> {
        Ok(self.number(yes, key, who)? * TICKS as f64)
    }

    fn number(&mut self, yes: bool, key: &'static str, who: &str) -> Result<f64, MissingParam> {
        if !yes {
            return Ok(0.0);
        }
        self.used.insert(key);
        self.m.need(key, who)
    }

    /// Ticks for one unit of a quantity whose rate is per cycle.
    fn per(&mut self, yes: bool, key: &'static str, who: &str) -> Result<f64, MissingParam> {
        let rate = self.number(yes, key, who)?;
        Ok(if rate > 0.0 { TICKS as f64 / rate } else { 0.0 })
    }

    fn optional(&mut self, key: &'static str) -> Option<f64> {
        let v = self.m.get(key);
        if v.is_some() {
            self.used.insert(key);
        }
        v
    }
}

impl Costs {
    /// Operations per cycle of a core's warp-level matrix instructions; 0 where the kernel has none.
    pub(super) fn warp_flop_per_clk(&self, bits: u32) -> f64 {
        if self.warp_interval <= 0.0 {
            return 0.0;
        }
        let each = self.warp_m * self.warp_n * (self.warp_k_bytes * 8 / i64::from(bits.max(1)));
        2.0 * each as f64 * self.schedulers as f64 * TICKS as f64 / self.warp_interval
    }

    /// The costs that the kernel's operations need. `cores` is the number of cores that share DRAM.
    ///
    /// # Errors
    /// A needed parameter is missing.
    pub fn new(prog: &Program, m: &Machine, cores: i64) -> Result<Costs, MissingParam> {
        let priced = |c: &crate::ir::Cost| c.takes.is_some() || c.lands.is_some();
        let ops = prog
            .code
            .iter()
            .filter_map(|i| if let Instr::Op { op, cost } = i { Some((op, priced(cost))) } else { None })
            .collect();
        let u = Uses { ops };
        let mut r = Reader { m, used: BTreeSet::new() };
        let global = u.moves(&[
            MoveKind::Load,
            MoveKind::Ldg,
            MoveKind::CpAsync,
            MoveKind::LdsDma,
            MoveKind::TmaLoad,
            MoveKind::TmaStore,
            MoveKind::Store,
        ]);
        let loads = u.moves(&[MoveKind::Load, MoveKind::Ldg, MoveKind::CpAsync, MoveKind::LdsDma]);
        let warp_loads = u.moves(&[MoveKind::Load, MoveKind::Ldg, MoveKind::LdsDma]);
        let tma = u.moves(&[MoveKind::TmaLoad]);
        let lds = u.moves(&[MoveKind::Lds]);
        let sts = u.moves(&[MoveKind::Sts, MoveKind::Load]);
        let mma = |k: MmaKind| u.any(|op| matches!(op, Op::Mma { kind, .. } if *kind == k));
        let (warp_mma, wgmma, umma, pair) =
            (mma(MmaKind::Warp), mma(MmaKind::Wgmma), mma(MmaKind::Umma), mma(MmaKind::UmmaPair));
        let shared_operand = |op: &Op| {
            let on = |p: &crate::ir::Place| prog.objects[p.obj as usize].class == Class::Shared;
            matches!(op, Op::Mma { a, b, .. } if on(a) || on(b))
        };
        let shared = lds || sts || u.any(shared_operand);
        let tmem = u.moves(&[MoveKind::TmemLd, MoveKind::TmemSt]);
        let mixed = u.any(|op| matches!(op, Op::Alu { mix: Some(_), .. }));
        let alu = |unit: &str| u.any(|op| matches!(op, Op::Alu { unit: x, .. } if x == unit));
        let dequant = u.any(|op| matches!(op, Op::Move { dequant: true, .. }));
        let other_alu = u.any(|op| matches!(op, Op::Alu { unit, .. } if unit != "exp" && unit != "int"));
        let mbar = u.any(|op| matches!(op, Op::MbarWait { .. }));
        let barrier = u.any(|op| matches!(op, Op::Barrier(_)));
        let sync =
            u.any(|op| !matches!(op, Op::Move { .. } | Op::Mma { .. } | Op::Alu { .. } | Op::Zero(_) | Op::Barrier(_)));
        let loops = prog.loops.iter().any(|l| {
            (l.head..l.end).any(|pc| !matches!(&prog.code[pc as usize], Instr::Op { cost, .. } if priced(cost)))
        });
        let mut c = Costs {
            warp_size: r.number(true, "core.warp_size", "every kernel")? as u32,
            schedulers: r.number(true, "core.schedulers", "every kernel")? as usize,
            bytes_per_lane: r.number(global || shared, "memory.bytes_per_lane", "a load or store")? as u32,
            dma_bytes_per_lane: r.number(u.moves(&[MoveKind::LdsDma]), "limit.dma_bytes_per_lane", "`dma`")? as u32,
            issue_load: r.cycles(warp_loads || (loads && prog.opaque_globals), "issue.global_load", "a global load")?,
            issue_store: r.cycles(u.moves(&[MoveKind::Store]), "issue.global_store", "`store`")?,
            issue_lds: r.cycles(lds, "issue.shared_load", "`lds`")?,
            issue_sts: r.cycles(sts, "issue.shared_store", "a store to shared memory")?,
            issue_cp: r.cycles(u.moves(&[MoveKind::CpAsync]), "issue.cp_async", "`cp`")?,
            issue_tma: r.cycles(u.moves(&[MoveKind::TmaLoad, MoveKind::TmaStore]), "issue.tma", "`tma`")?,
            issue_mma: r.cycles(warp_mma || wgmma, "issue.mma", "a matrix instruction")?,
            issue_umma: r.cycles(umma || pair, "issue.umma", "`umma`")?,
            issue_sync: r.cycles(sync, "issue.sync", "a synchronization instruction")?,
            loop_: r.cycles(loops, "issue.loop", "a loop")?,
            shared_latency: r.cycles(lds || warp_mma, "memory.shared_latency", "a shared load")?,
            shared_byte: r.per(shared, "memory.shared_bytes_per_clk", "shared memory traffic")?,
            conflict: r.optional("memory.shared_conflict_ways").unwrap_or(1.0).max(1.0),
            l2_latency: r.cycles(loads || tma, "memory.l2_latency", "a global load")?,
            dram_latency: r.cycles(loads || tma, "memory.dram_latency", "a global load")?,
            l2_byte: r.per(global, "memory.l2_bytes_per_clk", "global memory traffic")?,
            tma_latency: r.cycles(tma, "tma.latency", "`tma`")?,
            tma_row: r.per(u.moves(&[MoveKind::TmaLoad, MoveKind::TmaStore]), "tma.rows_per_clk", "`tma`")?,
            tma_store_latency: r.cycles(u.moves(&[MoveKind::TmaStore]), "tma.store_latency", "`tma.store`")?,
            warp_m: r.number(warp_mma, "mma.warp_m", "`mma`")? as i64,
            warp_n: r.number(warp_mma, "mma.warp_n", "`mma`")? as i64,
            warp_k_bytes: r.number(warp_mma, "mma.warp_k_bytes", "`mma`")? as i64,
            warp_interval: r.cycles(warp_mma, "mma.warp_interval", "`mma`")?,
            warp_latency: r.cycles(warp_mma, "mma.warp_latency", "`mma`")?,
            tensor_flop: r.per(wgmma || umma || pair, "mma.f16_flop_per_clk", "the tensor pipe")?,
            wgmma_latency: r.cycles(wgmma, "wgmma.latency", "`wgmma`")?,
            umma_latency: r.cycles(umma, "umma.latency", "`umma`")?,
            umma_pair_latency: r.cycles(pair, "umma.pair_latency", "`umma.pair`")?,
            tmem_latency: r.cycles(tmem, "tmem.ld_latency", "`tmem.ld`")?,
            tmem_byte: r.per(tmem, "tmem.ld_bytes_per_clk", "`tmem.ld`")?,
            tmem_alloc: r.cycles(
                u.any(|op| matches!(op, Op::TmemAlloc { .. } | Op::TmemDealloc { .. })),
                "tmem.alloc",
                "`tmem.alloc`",
            )?,
            barrier: r.cycles(barrier, "sync.barrier", "`barrier`")?,
            barrier_warp: r.cycles(
                barrier || u.any(|op| matches!(op, Op::Named { .. })),
                "sync.barrier_per_warp",
                "a barrier",
            )?,
            warp_sync: r.cycles(
                u.any(|op| matches!(op, Op::WarpSync | Op::Elect)),
                "sync.warp",
                "a barrier of one warp",
            )?,
            named: r.cycles(u.any(|op| matches!(op, Op::Named { .. })), "sync.named", "`bar`")?,
            cluster: r.cycles(
                u.any(|op| matches!(op, Op::ClusterWait | Op::ClusterArrive { .. })),
                "sync.cluster",
                "`cluster.sync`",
            )?,
            mbar_wake: r.cycles(mbar, "sync.mbarrier_wake", "a wait on an mbarrier")?,
            mbar_wait: r.cycles(mbar, "sync.mbarrier_wait", "a wait on an mbarrier")?,
            cp_extra: r.cycles(u.moves(&[MoveKind::CpAsync]), "memory.cp_async_extra", "`cp`")?,
            mbar_remote: r.cycles(mbar && prog.cluster > 1, "sync.mbarrier_remote", "an arrive in another CTA")?,
            mbar_init: r.cycles(u.any(|op| matches!(op, Op::Init(_))), "sync.mbarrier_init", "`init`")?,
            fence: r.cycles(
                u.any(|op| matches!(op, Op::Fence(kind) if *kind != Fence::Gpu)),
                "sync.fence_async",
                "a fence",
            )?,
            counter: r.cycles(
                u.any(|op| matches!(op, Op::Counter { .. } | Op::Fence(Fence::Gpu))),
                "memory.l2_latency",
                "a counter in global memory",
            )?,
            setmaxnreg: r.cycles(u.any(|op| matches!(op, Op::Regs { .. })), "sync.setmaxnreg", "`regs`")?,
            fma: r.per(other_alu || mixed, "alu.fma_per_clk", "`alu`")?,
            exp: r.per(alu("exp") || mixed, "alu.exp_per_clk", "`alu exp`")?,
            latency: r.cycles(mixed, "alu.latency", "a chain of dependent instructions")?,
            int: r.per(alu("int") || dequant || mixed, "alu.int_per_clk", "integer arithmetic")?,
            dequant_ops: r.number(dequant, "alu.dequant_ops", "`via dequant`")?,
            cta_launch: r.cycles(true, "launch.cta", "every kernel")?,
            ..Costs::default()
        };
        if global {
            let gbps = r.number(true, "memory.dram_gbps", "global memory traffic")?;
            let efficiency = r.number(true, "memory.dram_efficiency", "global memory traffic")?;
            let mhz = r.number(true, "clock.mhz", "global memory traffic")?;
            let bytes_per_clk = gbps * 1e3 * efficiency / mhz / cores.max(1) as f64;
            c.dram_byte = TICKS as f64 / bytes_per_clk;
        }
        c.sharers = cores.max(1);
        c.launch_interval =
            r.optional("launch.ctas_per_clk").map_or(0.0, |rate| TICKS as f64 * c.sharers as f64 / rate);
        let waited = if u.any(is_atomic) { r.optional("sync.fence_atomic").unwrap_or(0.0) } else { 0.0 };
        let fence = r.optional("sync.fence_gpu").map(|v| (v + waited) * TICKS as f64);
        c.fence_gpu = fence.unwrap_or(c.counter);
        c.written = 1.0 + r.optional("memory.dram_turnaround").unwrap_or(0.0);
        if warp_mma {
            c.beside = r.optional("mma.warp_beside").unwrap_or(0.0) * TICKS as f64;
        }
        let mut share = |key, absent: f64| {
            if wgmma && mixed { r.optional(key).unwrap_or(absent).clamp(0.01, 1.0) } else { 1.0 }
        };
        c.wgmma_arithmetic = share("wgmma.arithmetic", 1.0);
        c.wgmma_fma = share("wgmma.fma", c.wgmma_arithmetic);
        c.wgmma_special = share("wgmma.special", 1.0);
        if tma {
            c.tma_request = r.optional("tma.request").unwrap_or(0.0) * TICKS as f64;
        }
        if global {
            let mhz = r.number(true, "clock.mhz", "global memory traffic")?;
            let l2_clock = r.optional("clock.l2_mhz").map_or(1.0, |at| at / mhz);
            // Memory behind L2 has its own clock. So its latency in core cycles scales with the clock of the cores.
            let scale = r.optional("clock.latency_mhz").map_or(1.0, |at| mhz / at);
            let extra = |v: Option<f64>| v.map(|v| (v * TICKS as f64 - c.l2_latency).max(0.0) * scale);
            let near = extra(r.optional("memory.dram_latency")).unwrap_or(0.0);
            c.dram_extra = extra(r.optional("memory.dram_far_latency")).unwrap_or(near);
            c.far_lines = r.optional("memory.dram_far_lines").map_or(0.0, |n| n.max(1.0).log2());
            c.far_extra = extra(r.optional("memory.l2_far_latency")).unwrap_or(0.0);
            c.last_extra = extra(r.optional("memory.llc_latency")).unwrap_or(near);
            c.dram_latency = c.l2_latency + near;
            c.line = r.optional("memory.line_bytes").unwrap_or(0.0);
            if let Some(rate) = u.any(is_atomic).then(|| r.optional("memory.l2_atomics_per_clk")).flatten() {
                c.atomic = TICKS as f64 * c.sharers as f64 / rate;
            }
            if prog.opaque_globals {
                let scaled = |v: Option<f64>| v.unwrap_or(0.0) * TICKS as f64 * scale;
                c.dram_busy = scaled(r.optional("memory.dram_busy"));
                c.dram_queue = scaled(r.optional("memory.dram_queue"));
                c.dram_stored = scaled(r.optional("memory.dram_stored"));
                c.slice_queue = scaled(r.optional("memory.l2_queue"));
            }
            if prog.opaque_globals && warp_loads {
                c.l1_latency = r.optional("memory.l1_latency").map(|v| v * TICKS as f64);
            }
            let lines = loads.then(|| r.optional("memory.load_lines_per_clk")).flatten();
            c.load_line = lines.map_or(0.0, |rate| TICKS as f64 / rate);
            if let Some(rate) = r.optional("memory.l2_slices_bytes_per_clk") {
                // CTAs of a compiled kernel wait for the last line of a tile before they ask for more.
                let stepped = prog.opaque_globals.then(|| r.optional("memory.l2_stepped")).flatten().unwrap_or(1.0);
                c.slice_byte = TICKS as f64 * c.sharers as f64 / (rate * stepped * l2_clock);
            }
            let mut taken =
                |key| r.optional(key).map_or(0.0, |rate| TICKS as f64 * c.sharers as f64 / (rate * l2_clock));
            c.write_byte = taken("memory.l2_stored_bytes_per_clk");
            c.fill_byte = taken("memory.l2_filled_bytes_per_clk");
            c.request_byte = r.optional("memory.copy_bytes_per_clk").map(|rate| TICKS as f64 / rate);
            c.store_byte = r.optional("memory.store_bytes_per_clk").map_or(c.l2_byte, |rate| TICKS as f64 / rate);
        }
        for key in &r.used {
            if let Some(p) = m.params.get(*key) {
                c.used[match p.kind {
                    Kind::Documented => 0,
                    Kind::Measured => 1,
                    Kind::Estimated => 2,
                }] += 1;
            }
        }
        Ok(c)
    }
}

fn is_atomic(op: &Op) -> bool {
    matches!(op, Op::Move { dst, .. } if dst.sel.writes == Writes::Atomic)
}
