//! A generator of ring pipelines, as kernel text.
//!
//! Producers fill the slots of `a` and `b`, consumers multiply what is in them. The families differ in what moves the
//! data and in what tells the other side about it.

use proptest::prelude::*;

use super::bodies::*;

/// What moves the data, and what the two sides wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
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
pub(crate) struct Ring {
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
    /// A ring small enough to search: one producer; `None` where the family has no such ring.
    pub(super) fn small(family: Family, consumers: i64, stages: i64, tiles: i64) -> Option<Ring> {
        let machine = machines(family)[0];
        let fits = consumers == 1 || !matches!(family, TmaUmma | TmaWgmma);
        fits.then_some(Ring { family, machine, producers: 1, consumers, stages, tiles, other: true })
    }

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
