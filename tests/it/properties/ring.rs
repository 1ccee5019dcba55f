//! A generator of ring pipelines, as kernel text.
//!
//! Producers fill the slots of `a` and `b`, consumers multiply what is in them. The families differ in what moves the
//! data and in what tells the other side about it.

use proptest::prelude::*;

/// What moves the data, and what the two sides wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// TMA into full/empty mbarriers, read by warps.
    Tma,
    /// The same, read by warpgroups that release a slot one tile late.
    TmaWgmma,
    /// The same, read by the fifth-generation tensor core, whose commits release the slots.
    TmaUmma,
    /// `cp.async` that arrives on a full mbarrier.
    CpMbar,
    /// `cp.async` groups and one CTA barrier a step.
    CpGroups,
    /// A ring of numbered barriers.
    Named,
    /// Loads into registers a step ahead, stored between barriers.
    Registers,
    /// Synchronous loads (Metal), look-ahead below the stages.
    Loads,
    /// Loads past the registers with `vmcnt` and `s_barrier`.
    Dma,
}

use Family::*;

/// All families.
pub(super) const FAMILIES: [Family; 9] = [Tma, TmaWgmma, TmaUmma, CpMbar, CpGroups, Named, Registers, Loads, Dma];

/// One generated pipeline.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    pub(super) family: Family,
    pub(super) machine: &'static str,
    pub(super) producers: i64,
    pub(super) consumers: i64,
    pub(super) stages: i64,
    pub(super) tiles: i64,
    /// `Tma`: each producer moves its part of every tile, rather than every n-th tile. `CpMbar`: `cp.arrive` counts
    /// itself, rather than being counted (`noinc`). `CpGroups`, `Registers`: the consumers are the producers too.
    pub(super) other: bool,
}

impl Ring {
    /// Whether the same warps load and multiply.
    pub(super) fn fused(&self) -> bool {
        self.other && matches!(self.family, CpGroups | Registers)
    }

    /// Warps of the CTA.
    pub(super) fn warps(&self) -> i64 {
        match self.family {
            TmaWgmma => 4 + 4 * self.consumers,
            TmaUmma => 8,
            _ if self.fused() => self.consumers,
            _ => self.producers + self.consumers,
        }
    }

    /// Warps that name a tile they read.
    pub(super) fn readers(&self) -> i64 {
        if self.family == TmaWgmma { 4 * self.consumers } else { self.consumers }
    }

    fn extents(&self) -> (i64, i64, i64) {
        let (p, c) = (if self.fused() { self.consumers } else { self.producers }, self.consumers);
        match self.family {
            TmaWgmma => (64 * c * if p == 3 { 3 } else { 1 }, 16 * p, 16),
            TmaUmma => (128, 16 * p, 16),
            Loads => (8 * p * c, 8 * p, 16),
            Dma => (8 * p * c, 8 * p, 64),
            _ => (16 * p * c, 16 * p, 16),
        }
    }

    /// The kernel.
    pub(super) fn text(&self) -> String {
        let (p, c, w) = (self.producers, self.consumers, self.warps());
        let (tm, tn, tk) = self.extents();
        let load = if self.fused() { "math" } else { "load" };
        let mut s = format!(
            "kernel ring(m = {tm}, n = {tn}, k = {}, stages = {}, tiles = {})\n",
            tk * self.tiles.max(1),
            self.stages,
            self.tiles
        );
        s += &format!("  grid 1\n  warps {w}\n");
        if self.family == Dma {
            s += &format!("  waits manual\n  let q = {}\n", (tm + tn) * tk * 2 / (p * 64 * 16));
        }
        s += "  global A: f16[m, k]  global B: f16[n, k]  global C: f16[m, n]\n";
        s += &format!("  shared a[stages]: f16[{tm}, {tk}]\n  shared b[stages]: f16[{tn}, {tk}]\n");
        s += &self.barriers();
        if !self.fused() {
            s += &format!("  role load[{p}] = warps 0..{p}\n");
        }
        let first = w - c;
        s += &match self.family {
            TmaWgmma => format!("  role math[{c}] = warpgroups 1..{}\n", 1 + c),
            TmaUmma => "  role math[4] = warps 4..8\n".to_string(),
            _ => format!("  role math[{c}] = warps {first}..{w}\n"),
        };
        s += "  all:\n";
        if matches!(self.family, Tma | TmaWgmma | TmaUmma | CpMbar) {
            let done = if self.family == TmaUmma { ", done" } else { "" };
            // Before sm_90 there is no such fence, and within a CTA no need of it.
            let fence = if self.family == CpMbar { "" } else { ";  fence mbarrier_init" };
            s += &format!("    warp 0: elect: init full, empty{done}{fence}\n");
        }
        if self.family == TmaUmma {
            s += "    warp 1: tmem.alloc acc\n";
        }
        s += "    barrier\n";
        if self.family != TmaUmma {
            s += &format!("    math: zero acc: f32[{}, {tn}]\n", tm / c);
        }
        s += &self.body(load);
        if self.family == TmaUmma {
            s += UMMA_END;
        } else {
            s += "    math: store acc -> C[cta.m, cta.n].rows(self)\n";
        }
        s
    }

    fn barriers(&self) -> String {
        let (p, c) = (self.producers, self.consumers);
        match self.family {
            Tma => format!("  mbar full[stages] ({})\n  mbar empty[stages] ({c})\n", if self.other { p } else { 1 }),
            TmaWgmma => format!("  mbar full[stages] ({p})\n  mbar empty[stages] ({})\n", 4 * c),
            TmaUmma => format!(
                "  tmem acc: f32[128, {}]\n  mbar full[stages] ({p})\n  mbar empty[stages] (1)\n  mbar done (1)\n",
                16 * p
            ),
            CpMbar => format!("  mbar full[stages] ({})\n  mbar empty[stages] ({c})\n", 32 * p),
            Named => format!("  named full[stages]\n  named empty[stages]\n  let all_of = {}\n", 32 * (p + c)),
            Registers => {
                let (tm, tn, tk) = self.extents();
                format!("  reg ra: f16[{tm}, {tk}], rb: f16[{tn}, {tk}]\n")
            }
            _ => String::new(),
        }
    }

    fn body(&self, load: &str) -> String {
        let one = self.stages == 1;
        let p = self.producers;
        let text = match self.family {
            Tma if !self.other => TMA_WHOLE.replace("PRODUCERS", &p.to_string()) + CONSUME,
            Tma => tma_parts(p) + CONSUME,
            TmaWgmma => tma_parts(p) + if one { WGMMA_ONE } else { WGMMA },
            TmaUmma => tma_parts(p) + UMMA,
            CpMbar => {
                CP_MBAR.replace("NOINC", if self.other { "" } else { "noinc" }).replace(
                    "      COUNTED\n",
                    if self.other { "      arrive full[i % stages] per thread\n" } else { "" },
                ) + CONSUME
            }
            Named => NAMED.to_string(),
            CpGroups => (if one { STEP_ONE } else { CP_GROUPS })
                .replace("MOVE", "cp")
                .replace("LANDED", "commit cp;  wait cp <= 0")
                .replace("READ", READ),
            Registers => (if one { REGISTERS_ONE } else { REGISTERS }).replace("READ", READ),
            Loads => (if one { STEP_ONE } else { LOADS })
                .replace("MOVE", "load")
                .replace(";  LANDED", "")
                .replace("READ", "mma a[i % stages].rows(self) : A[cta.m, i], b[i % stages] : B[cta.n, i] -> acc"),
            Dma => (if one { STEP_ONE } else { DMA })
                .replace("MOVE", "dma")
                .replace("LANDED", "wait vm <= 0")
                .replace("READ", READ_MANUAL),
        };
        text.replace("LOAD", load)
    }
}

const READ: &str =
    "lds a[i % stages].rows(self) : A[cta.m, i] -> fa;  lds b[i % stages] : B[cta.n, i] -> fb;  mma fa, fb -> acc";
const READ_MANUAL: &str = "lds a[i % stages].rows(self) : A[cta.m, i] -> fa;  lds b[i % stages] : B[cta.n, i] -> fb;  wait lgkm <= 0;  mfma fa, fb -> acc";

const TMA_WHOLE: &str = "    load: elect:
      for i in self..tiles step PRODUCERS:
        wait empty[i % stages] for i / stages - 1
        arrive full[i % stages] expect bytes(a) + bytes(b)
        tma A[cta.m, i] -> a[i % stages] signals full[i % stages]
        tma B[cta.n, i] -> b[i % stages] signals full[i % stages]
";

fn tma_parts(producers: i64) -> String {
    format!(
        "    load: elect:
      for i in 0..tiles:
        wait empty[i % stages] for i / stages - 1
        arrive full[i % stages] expect (bytes(a) + bytes(b)) / {producers}
        tma A[cta.m, i].rows(self) -> a[i % stages].rows(self) signals full[i % stages]
        tma B[cta.n, i].rows(self) -> b[i % stages].rows(self) signals full[i % stages]
"
    )
}

const CONSUME: &str = "    math:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        lds a[i % stages].rows(self) : A[cta.m, i] -> fa;  lds b[i % stages] : B[cta.n, i] -> fb
        mma fa, fb -> acc
        arrive empty[i % stages] per warp
";

const WGMMA_ONE: &str = "    math:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        wgmma.fence
        wgmma a[i % stages].rows(self) : A[cta.m, i], b[i % stages] : B[cta.n, i] -> acc
        commit wgmma;  wait wgmma <= 0
        arrive empty[i % stages] per warp
";

const WGMMA: &str = "    math:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        wgmma.fence
        wgmma a[i % stages].rows(self) : A[cta.m, i], b[i % stages] : B[cta.n, i] -> acc
        commit wgmma;  wait wgmma <= 1
        if i > 0: arrive empty[(i - 1) % stages] per warp
      wait wgmma <= 0
";

const UMMA: &str = "    warp 4: elect:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        umma a[i % stages] : A[cta.m, i], b[i % stages] : B[cta.n, i] -> acc
        commit umma -> empty[i % stages]
      commit umma -> done
";

const UMMA_END: &str = "    math:
      wait done for 0
      tmem.fence after
      if tiles > 0: tmem.ld acc.rows(self) -> r;  wait tmem.ld <= 0;  store r -> C[cta.m, cta.n].rows(self)
    barrier
    warp 1: tmem.dealloc acc
";

const CP_MBAR: &str = "    load:
     for i in 0..tiles:
      wait empty[i % stages] for i / stages - 1
      cp A[cta.m, i] -> a[i % stages];  cp B[cta.n, i] -> b[i % stages]
      cp.arrive full[i % stages] NOINC
      COUNTED
     commit cp;  wait cp <= 0
";

const NAMED: &str = "    load:
      for i in 0..tiles:
        if i >= stages: bar sync empty[i % stages] (all_of)
        cp A[cta.m, i] -> a[i % stages];  cp B[cta.n, i] -> b[i % stages];  commit cp
        wait cp <= 0
        bar arrive full[i % stages] (all_of)
    math:
      for i in 0..tiles:
        bar sync full[i % stages] (all_of)
        lds a[i % stages].rows(self) : A[cta.m, i] -> fa;  lds b[i % stages] : B[cta.n, i] -> fb
        mma fa, fb -> acc
        if i + stages < tiles: bar arrive empty[i % stages] (all_of)
";

const STEP_ONE: &str = "    for i in 0..tiles:
      LOAD: MOVE A[cta.m, i] -> a[0];  MOVE B[cta.n, i] -> b[0];  LANDED
      barrier
      math: READ
      barrier
";

const CP_GROUPS: &str = "    LOAD:
      for j in 0..stages - 1:
        if j < tiles: MOVE A[cta.m, j] -> a[j];  MOVE B[cta.n, j] -> b[j]
        commit cp
    for i in 0..tiles:
      LOAD: wait cp <= stages - 2
      barrier
      LOAD:
        let next = i + stages - 1
        if next < tiles: MOVE A[cta.m, next] -> a[next % stages];  MOVE B[cta.n, next] -> b[next % stages]
        commit cp
      math: READ
    LOAD: wait cp <= 0
";

const LOADS: &str = "    for j in 0..stages - 1:
      if j < tiles: LOAD: MOVE A[cta.m, j] -> a[j];  MOVE B[cta.n, j] -> b[j]
    barrier
    for i in 0..tiles:
      LOAD:
        let next = i + stages - 1
        if next < tiles: MOVE A[cta.m, next] -> a[next % stages];  MOVE B[cta.n, next] -> b[next % stages]
      math: READ
      barrier
";

const REGISTERS_ONE: &str =
    "    LOAD: if tiles > 0: ldg A[cta.m, 0] -> ra;  ldg B[cta.n, 0] -> rb;  sts ra -> a[0];  sts rb -> b[0]
    barrier
    for i in 0..tiles:
      LOAD: if i + 1 < tiles: ldg A[cta.m, i + 1] -> ra;  ldg B[cta.n, i + 1] -> rb
      math: READ
      barrier
      LOAD: if i + 1 < tiles: sts ra -> a[0];  sts rb -> b[0]
      barrier
";

const REGISTERS: &str =
    "    LOAD: if tiles > 0: ldg A[cta.m, 0] -> ra;  ldg B[cta.n, 0] -> rb;  sts ra -> a[0];  sts rb -> b[0]
    barrier
    for i in 0..tiles:
      LOAD: if i + 1 < tiles: ldg A[cta.m, i + 1] -> ra;  ldg B[cta.n, i + 1] -> rb
      math: READ
      LOAD: if i + 1 < tiles: sts ra -> a[(i + 1) % stages];  sts rb -> b[(i + 1) % stages]
      barrier
";

const DMA: &str = "    LOAD:
      for j in 0..min(stages - 1, tiles): MOVE A[cta.m, j] -> a[j];  MOVE B[cta.n, j] -> b[j]
    for i in 0..tiles:
      LOAD: wait vm <= (min(i + stages - 1, tiles) - i - 1) * q
      barrier
      LOAD:
        let next = i + stages - 1
        if next < tiles: MOVE A[cta.m, next] -> a[next % stages];  MOVE B[cta.n, next] -> b[next % stages]
      math: READ
";

/// Machines that have what a family needs.
fn machines(family: Family) -> &'static [&'static str] {
    match family {
        Tma => &["h200", "b200"],
        TmaWgmma => &["h200"],
        TmaUmma => &["b200"],
        CpMbar | CpGroups | Named => &["a100", "h200", "b200"],
        Registers => &["v100", "a100", "h200"],
        Loads => &["m4-max", "m4-max-32"],
        Dma => &["mi355x"],
    }
}

/// Rings of any family.
pub(super) fn rings(
    stages: impl Strategy<Value = i64>,
    tiles: impl Strategy<Value = i64>,
) -> impl Strategy<Value = Ring> {
    let family = proptest::sample::select(&FAMILIES[..]);
    (family, any::<proptest::sample::Index>(), 1..=4i64, 1..=4i64, stages, tiles, any::<bool>()).prop_map(
        |(family, machine, producers, consumers, stages, tiles, other)| Ring {
            family,
            machine: machine.get::<&str>(machines(family)),
            // The tensor core has one consumer: the lane that issues to it.
            consumers: if family == TmaUmma { 1 } else { consumers },
            // Its 128 rows do not divide by three.
            producers: if family == TmaUmma && producers == 3 { 4 } else { producers },
            stages,
            tiles,
            // A producer that skips a whole round of the ring cannot tell two phases apart.
            other: other || (family == Tma && producers > stages),
        },
    )
}
