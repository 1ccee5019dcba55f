//! How data moves in a protocol, and what the two sides wait for.

/// How data moves in a protocol, and what the two sides wait for. Simple families come first: a failing case shrinks
/// toward them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Synchronous loads and one CTA barrier a step (Metal): `threadgroup_barrier`.
    Loads,
    /// Loads into registers a step ahead, stored between barriers: the register scoreboard.
    Registers,
    /// `cp.async` groups and one CTA barrier a step.
    CpGroups,
    /// `cp.async` that arrives on a full mbarrier.
    CpMbar,
    /// A ring of numbered barriers: `bar.sync`, `bar.arrive`.
    Named,
    /// TMA into full and empty mbarriers with their bytes, read by warps.
    Tma,
    /// The same, read by warpgroups that release a slot one tile late: `wgmma` groups.
    TmaWgmma,
    /// The same, read by the fifth-generation tensor core, whose commits release the slots.
    TmaUmma,
    /// Loads past the registers, `vmcnt`, `lgkmcnt` and `s_barrier` (AMD).
    Dma,
    /// Tiles stored by bulk groups through a ring of slots.
    Bulk,
    /// TMA that multicasts to every CTA of a cluster; a slot is free when the consumers of every CTA have released
    /// it.
    Multicast,
    /// Stores into the next CTA's memory, between cluster barriers.
    Neighbors,
}

use Family::*;

impl Family {
    /// All of them.
    pub const ALL: [Family; 12] =
        [Loads, Registers, CpGroups, CpMbar, Named, Tma, TmaWgmma, TmaUmma, Dma, Bulk, Multicast, Neighbors];

    /// Built-in machines that support the family.
    pub fn machines(self) -> &'static [&'static str] {
        match self {
            Tma | Bulk | Multicast | Neighbors => &["h200", "b200"],
            TmaWgmma => &["h200"],
            TmaUmma => &["b200"],
            CpMbar | CpGroups | Named => &["a100", "h200", "b200"],
            Registers => &["v100", "a100", "h200"],
            Loads => &["m4-max", "m4-max-32"],
            Dma => &["mi355x"],
        }
    }

    /// Whether the CTAs form a cluster.
    pub fn in_clusters(self) -> bool {
        matches!(self, Multicast | Neighbors)
    }

    /// Whether every slot holds tile i of both operands, filled and read in turn.
    pub fn is_ring(self) -> bool {
        !matches!(self, Bulk | Multicast | Neighbors)
    }
}
