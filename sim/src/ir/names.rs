//! Names of operations in kernels.

use super::{Fence, MmaKind};

impl MmaKind {
    /// The name in kernels.
    pub const fn name(self) -> &'static str {
        match self {
            MmaKind::Warp => "mma",
            MmaKind::Wgmma => "wgmma",
            MmaKind::Umma => "umma",
            MmaKind::UmmaPair => "umma.pair",
        }
    }
}

impl Fence {
    /// The statement in kernels.
    pub const fn name(self) -> &'static str {
        match self {
            Fence::Async => "fence async",
            Fence::AsyncGlobal => "fence async.global",
            Fence::MbarrierInit => "fence mbarrier_init",
            Fence::Wgmma => "wgmma.fence",
            Fence::TmemBefore => "tmem.fence before",
            Fence::TmemAfter => "tmem.fence after",
            Fence::Cta => "fence cta",
            Fence::Gpu => "fence gpu",
        }
    }
}
