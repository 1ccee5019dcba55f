//! The words for schedules and ways of copies, and what a machine does where none is said.

/// How stage and order are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Schedule {
    /// TileLang's `num_stages = S`.
    NumStages,
    /// Triton's: S - 1 steps in flight, one group an operand.
    Triton,
    /// CUTLASS's multistage loop: copies first, one barrier a step.
    Multistage,
    /// Half tiles, three of four of them two steps ahead (HipKittens, seed 001).
    TwoStepAhead,
    /// `stage e order e` of each statement, as the text has it.
    Table,
}

/// What carries the copies.
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
    /// TMA by the first of the warps that multiply, with full mbarriers and barriers.
    TmaJoint,
}

/// How products read their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Products {
    /// From shared memory (simdgroup matrix).
    Shared,
    /// From registers, which are loaded first.
    Registers,
    /// `wgmma`.
    Wgmma,
}

/// What this pass does not make of a loop on machines of an architecture, in one line; `None` where it uses their best.
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
    /// All of them.
    pub fn all() -> impl Iterator<Item = Schedule> {
        SCHEDULES.into_iter().map(|s| s.1)
    }

    /// Its word in a kernel.
    pub fn name(self) -> &'static str {
        SCHEDULES.iter().find(|s| s.1 == self).map_or("", |s| s.0)
    }
}

impl Via {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Via> {
        VIAS.into_iter().map(|v| v.1)
    }

    /// Its word in a kernel.
    pub fn name(self) -> &'static str {
        VIAS.iter().find(|v| v.1 == self).map_or("", |v| v.0)
    }

    /// What a machine of an architecture (`sm_90a`) does where nothing is said.
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

    /// The oldest architecture of its line that has it, for a machine of `arch`.
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
