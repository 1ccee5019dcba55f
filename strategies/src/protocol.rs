//! One generated protocol, as kernel text and as a program.

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, Text, compile};
use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;

use crate::Family::{self, *};
use crate::bodies::*;

/// One generated protocol: a kernel that is correct at every trip count.
///
/// Producers fill the slots of a ring and consumers read them; the family says how they signal to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// How data moves, and what the two sides wait for.
    pub family: Family,
    /// Name of a built-in machine that supports the family.
    pub machine: &'static str,
    /// CTAs of a cluster; 1 for families without clusters.
    pub ctas: i64,
    /// Warps that fill slots.
    pub producers: i64,
    /// Warps, or warpgroups, that read them.
    pub consumers: i64,
    /// Slots.
    pub stages: i64,
    /// Tiles: the trip count of the main loop.
    pub tiles: i64,
    /// `Tma`: each producer moves its part of every tile, instead of every n-th tile. `CpMbar`: `cp.arrive` adds
    /// itself to the count, instead of being counted (`noinc`). `CpGroups`, `Registers`: consumers are also the
    /// producers.
    pub other: bool,
}

impl Protocol {
    /// The smallest protocol of a family with these numbers, for tables of cases; `None` if the family has none.
    pub fn small(family: Family, consumers: i64, stages: i64, tiles: i64) -> Option<Protocol> {
        let machine = family.machines()[0];
        let fits = consumers == 1 || !matches!(family, TmaUmma | TmaWgmma);
        let ctas = if family.in_clusters() { 2 } else { 1 };
        fits.then_some(Protocol { family, machine, ctas, producers: 1, consumers, stages, tiles, other: true })
    }

    /// Whether the same warps load and multiply.
    pub fn fused(&self) -> bool {
        matches!(self.family, Bulk | Neighbors) || self.other && matches!(self.family, CpGroups | Registers)
    }

    /// Warps of the CTA.
    pub fn warps(&self) -> i64 {
        match self.family {
            TmaWgmma => 4 + 4 * self.consumers,
            TmaUmma => 8,
            _ if self.fused() => self.consumers,
            _ => self.producers + self.consumers,
        }
    }

    /// Warps of a CTA that state the tile they read.
    pub fn readers(&self) -> i64 {
        if self.family == TmaWgmma { 4 * self.consumers } else { self.consumers }
    }

    /// The program, or every error of its text, which is a bug of the generator.
    ///
    /// # Errors
    /// As [`compile`].
    pub fn compiled(&self) -> Result<Program, Vec<Diagnostic>> {
        compile("protocol.pipe", &self.text(), &Inputs { set: &BTreeMap::new(), cores: None })
    }

    /// The program.
    ///
    /// # Panics
    /// If the text is refused, which is a bug of the generator.
    pub fn program(&self) -> Program {
        self.compiled().unwrap_or_else(|e| panic!("{self:?}: {e:#?}\n{}", self.text()))
    }

    /// The program with its number of tiles as a symbol, as `verify` needs it.
    ///
    /// # Panics
    /// If the text is refused, which is a bug of the generator.
    pub fn symbolic(&self) -> Program {
        let text = Text::read("protocol.pipe", &self.text());
        let program = text.compile_symbolic(&Inputs { set: &BTreeMap::new(), cores: None });
        program.unwrap_or_else(|e| panic!("{self:?}: {e:#?}\n{}", self.text()))
    }

    /// The program of the same protocol with another number of tiles; `None` if a matrix cannot have that many.
    pub fn at(&self, tiles: i64) -> Option<Program> {
        (tiles >= 0).then(|| Protocol { tiles, ..self.clone() }.compiled().ok()).flatten()
    }

    /// The rules of its machine.
    ///
    /// # Panics
    /// If the machine is not a built-in one.
    pub fn rules(&self) -> Rules {
        let machine = warpline_models::embedded(self.machine);
        warpline_sim::engine::rules(&machine.unwrap_or_else(|| panic!("no machine {}", self.machine)))
    }

    fn extents(&self) -> (i64, i64, i64) {
        let (p, c) = (if self.fused() { self.consumers } else { self.producers }, self.consumers);
        match self.family {
            TmaWgmma => (64 * c * if p == 3 { 3 } else { 1 }, 16 * p, 16),
            TmaUmma => (128, 16 * p, 16),
            Loads => (8 * p * c, 8 * p, 16),
            Dma => (8 * p * c, 8 * p, 64),
            Multicast => (16 * c * self.ctas, 16, 16),
            _ => (16 * p * c, 16 * p, 16),
        }
    }

    /// The kernel text.
    pub fn text(&self) -> String {
        let (p, c, w) = (self.producers, self.consumers, self.warps());
        let (tm, tn, tk) = self.extents();
        let load = if self.fused() { "math" } else { "load" };
        let mut s = format!("kernel protocol(m = {tm}, n = {tn}, stages = {}, tiles = {})\n", self.stages, self.tiles);
        s += &format!("  grid 1   let k = {tk} * max(tiles, 1)\n  warps {w}\n");
        if self.family.in_clusters() {
            s += &format!("  cluster {}\n", self.ctas);
        }
        s += &match self.family {
            Bulk => format!("  global A: f16[{tm} * max(tiles, 1), {tk}]  global C: f16[{tm} * max(tiles, 1), {tk}]\n"),
            Neighbors => format!("  global A: f16[m * {}, k]\n", self.ctas),
            Multicast => {
                format!("  global A: f16[m, k]  global B: f16[n * {0}, k]  global C: f16[m * {0}, n]\n", self.ctas)
            }
            _ => "  global A: f16[m, k]  global B: f16[n, k]  global C: f16[m, n]\n".to_string(),
        };
        if self.family == Dma {
            s += &format!("  waits manual\n  let q = {}\n", (tm + tn) * tk * 2 / (p * 64 * 16));
        }
        s += &format!("  shared a[stages]: f16[{tm}, {tk}]\n");
        if self.multiplies() {
            s += &format!("  shared b[stages]: f16[{tn}, {tk}]\n");
        }
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
        s += &self.set_up();
        if self.multiplies() && self.family != TmaUmma {
            s += &format!("    math: zero acc: f32[{}, {tn}]\n", tm / c);
        }
        s += &self.body(load);
        s += match self.family {
            TmaUmma => UMMA_END,
            Multicast => "    math: store acc -> C[cta, 0].rows(self)\n    cluster.sync\n",
            Bulk => "",
            Neighbors => "    cluster.sync\n",
            _ => "    math: store acc -> C[cta.m, cta.n].rows(self)\n",
        };
        s
    }

    /// Whether the protocol multiplies two operands.
    fn multiplies(&self) -> bool {
        !matches!(self.family, Bulk | Neighbors)
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
            Multicast => format!("  mbar full[stages] (1)\n  mbar empty[stages] ({})\n", c * self.ctas),
            Named => format!("  named full[stages]\n  named empty[stages]\n  let all_of = {}\n", 32 * (p + c)),
            Registers => {
                let (tm, tn, tk) = self.extents();
                format!("  reg ra: f16[{tm}, {tk}], rb: f16[{tn}, {tk}]\n")
            }
            _ => String::new(),
        }
    }

    /// Statements before the loops: barriers, tensor memory, and a barrier for all warps.
    fn set_up(&self) -> String {
        let mut s = String::new();
        if matches!(self.family, Tma | TmaWgmma | TmaUmma | CpMbar | Multicast) {
            let done = if self.family == TmaUmma { ", done" } else { "" };
            // Before sm_90 this fence does not exist, and within a CTA none is needed.
            let fence = match self.family {
                CpMbar => "",
                Multicast => ";  fence mbarrier_init.cluster",
                _ => ";  fence mbarrier_init",
            };
            s += &format!("    warp 0: elect: init full, empty{done}{fence}\n");
        }
        if self.family == TmaUmma {
            s += "    warp 1: tmem.alloc acc\n";
        }
        s + if self.family.in_clusters() { "    cluster.sync\n" } else { "    barrier\n" }
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
            Bulk => BULK.to_string(),
            Multicast => MULTICAST.to_string(),
            Neighbors => NEIGHBOURS.to_string(),
        };
        let everybody = ((1 << self.ctas) - 1).to_string();
        text.replace("LOAD", load).replace("EVERYBODY", &everybody).replace("CTAS", &self.ctas.to_string())
    }
}
