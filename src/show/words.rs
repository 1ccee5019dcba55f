//! What classes of work and causes of stalls are called.

use warpline_sim::timeline::{Stall, Work};

/// The key of a class of work in JSON, and its word in tables.
pub(crate) fn work_key(work: Work) -> &'static str {
    match work {
        Work::Load => "load",
        Work::Shared => "shared",
        Work::Mma => "mma",
        Work::Alu => "alu",
        Work::Store => "store",
        Work::Sync => "sync",
        Work::Control => "control",
    }
}

/// The words for a class of work.
pub(crate) fn work_words(work: Work) -> &'static str {
    match work {
        Work::Load => "global loads",
        Work::Shared => "shared memory",
        Work::Mma => "matrix",
        Work::Alu => "vector",
        Work::Store => "global stores",
        Work::Sync => "synchronisation",
        Work::Control => "loop and index",
    }
}

/// The key of a cause in JSON.
pub(crate) fn stall_key(stall: Stall) -> &'static str {
    match stall {
        Stall::Launch => "launch",
        Stall::Issue => "issue",
        Stall::Global => "global",
        Stall::Shared => "shared",
        Stall::Tensor => "tensor",
        Stall::Alu => "alu",
        Stall::Barrier => "barrier",
        Stall::Named => "named",
        Stall::Join => "join",
        Stall::Cluster => "cluster",
        Stall::Mbarrier => "mbarrier",
        Stall::Group => "group",
        Stall::Counter => "counter",
        Stall::Pool => "pool",
        Stall::Ended => "ended",
    }
}

/// The words for a cause, as they follow "waits for".
pub(crate) fn stall_words(stall: Stall) -> &'static str {
    match stall {
        Stall::Launch => "launch",
        Stall::Issue => "issue slot",
        Stall::Global => "global memory",
        Stall::Shared => "shared memory",
        Stall::Tensor => "matrix unit",
        Stall::Alu => "vector unit",
        Stall::Barrier => "CTA barrier",
        Stall::Named => "named barrier",
        Stall::Join => "warps of its group",
        Stall::Cluster => "cluster barrier",
        Stall::Mbarrier => "mbarrier",
        Stall::Group => "commit group",
        Stall::Counter => "counter",
        Stall::Pool => "register or tmem pool",
        Stall::Ended => "other warps to end",
    }
}
