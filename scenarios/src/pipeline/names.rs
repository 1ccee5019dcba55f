//! The names of schedules and copy instructions, and the defaults of a machine.

/// The rule that assigns stage and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Schedule {
    /// TileLang's `num_stages = S`.
    NumStages,
    /// Triton's: S - 1 steps in flight, one group for each operand.
    Triton,
    /// CUTLASS's multistage loop: copies first, one barrier in each step.
    Multistage,
    /// Half tiles, with three of four loaded two steps ahead (HipKittens, seed 001).
    TwoStepAhead,
    /// `stage e order e` of each statement, as written.
    Table,
}

/// The instruction for copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Via {
    /// Synchronous loads.
    Sync,
    /// `ldg` to registers, `sts` at the end of the step.
    Registers,
    /// `cp.async` groups.
    Cp,
    /// `buffer_load ... lds`, counted by `vmcnt`.
    Dma,
    /// TMA by a producer warp, with full and empty mbarriers.
    Tma,
    /// TMA by the first of the multiplying warps, with full mbarriers and CTA barriers.
    TmaJoint,
}

/// The memory that products read their operands from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Products {
    /// From shared memory (simdgroup matrix).
    Shared,
    /// Registers that are loaded first.
    Registers,
    /// `wgmma`.
    Wgmma,
}

/// The limits of this pass for machines of an architecture, in one line; `None` where the pass uses the architecture's
/// best instructions.
pub fn limits(arch: &str) -> Option<&'static str> {
    let tensor_memory = arch.starts_with("sm_10") || arch.starts_with("sm_11");
    tensor_memory.then_some(
        "a `pipelined` loop is not lowered to tcgen05: products stay `mma` of registers; \
         for `umma` and tensor memory write the roles by hand, as blackwell/level2_2sm does",
    )
}

pub(super) const SCHEDULES: [(&str, Schedule); 5] = [
    ("num_stages", Schedule::NumStages),
    ("triton", Schedule::Triton),
    ("multistage", Schedule::Multistage),
    ("two_step_ahead", Schedule::TwoStepAhead),
    ("table", Schedule::Table),
];

pub(super) const VIAS: [(&str, Via); 6] = [
    ("sync", Via::Sync),
    ("registers", Via::Registers),
    ("cp", Via::Cp),
    ("dma", Via::Dma),
    ("tma", Via::Tma),
    ("tma_joint", Via::TmaJoint),
];

impl Schedule {
    /// All schedules.
    pub fn all() -> impl Iterator<Item = Schedule> {
        SCHEDULES.into_iter().map(|s| s.1)
    }

    /// The word in a kernel.
    pub fn name(self) -> &'static str {
        SCHEDULES.iter().find(|s| s.1 == self).map_or("", |s| s.0)
    }
}

impl Via {
    /// All ways.
    pub fn all() -> impl Iterator<Item = Via> {
        VIAS.into_iter().map(|v| v.1)
    }

    /// The word in a kernel.
    pub fn name(self) -> &'static str {
        VIAS.iter().find(|v| v.1 == self).map_or("", |v| v.0)
    }

    /// The default for a machine of an architecture (`sm_90a`).
    pub fn of(arch: &str) -> Via {
        match arch {
            "sm_90a" => Via::Tma,
            "gfx950" => Via::Dma,
            a if a.starts_with("gfx") => Via::Registers,
            a if a.starts_with("apple") => Via::Sync,
            a => match a.strip_prefix("sm_").map(|n| n.trim_end_matches(['a', 'f']).parse::<u32>()) {
                Some(Ok(n)) if n >= 80 => Via::Cp,
                Some(Ok(_)) => Via::Registers,
                _ => Via::Sync,
            },
        }
    }

    /// The oldest architecture in the line of `arch` that has the instruction.
    pub(super) fn needs(self, arch: &str) -> &str {
        match self {
            Via::Tma | Via::TmaJoint if arch.starts_with("sm_9") => "sm_90a",
            Via::Cp if arch.starts_with("sm_8") => "sm_80",
            Via::Sync | Via::Registers if arch.starts_with("sm_") && !arch.ends_with('a') => "sm_70",
            Via::Sync | Via::Registers if arch.starts_with("gfx") => "gfx90a",
            Via::Dma if arch != "gfx950" => "gfx90a",
            _ if arch.starts_with("apple") => "apple7",
            _ => arch,
        }
    }
}
