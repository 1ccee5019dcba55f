//! Queues of asynchronous operations, and the numbers that moves state of their execution.

/// A queue of asynchronous operations, which a wait reduces to at most n outstanding ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Queue {
    /// `cp.async` groups, per thread.
    Cp,
    /// `wgmma` groups, per warpgroup.
    Wgmma,
    /// Bulk store groups, per thread, complete once written and visible.
    Bulk,
    /// Bulk store groups, per thread, complete once their sources are read (`.read`).
    BulkRead,
    /// `vmcnt`: vector-memory instructions, per wave.
    Vm,
    /// `lgkmcnt`: LDS instructions, per wave.
    Lgkm,
    /// `tcgen05.wait::ld`, per thread.
    TmemLd,
    /// `tcgen05.wait::st`, per thread.
    TmemSt,
}

impl Queue {
    /// All queues, in order.
    pub const ALL: [Queue; 8] =
        [Queue::Cp, Queue::Wgmma, Queue::Bulk, Queue::BulkRead, Queue::Vm, Queue::Lgkm, Queue::TmemLd, Queue::TmemSt];

    /// The name in kernels: `wait NAME <= n`.
    pub const fn name(self) -> &'static str {
        match self {
            Queue::Cp => "cp",
            Queue::Wgmma => "wgmma",
            Queue::Bulk => "bulk",
            Queue::BulkRead => "bulk.read",
            Queue::Vm => "vm",
            Queue::Lgkm => "lgkm",
            Queue::TmemLd => "tmem.ld",
            Queue::TmemSt => "tmem.st",
        }
    }
}

/// A number that a move states of its execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IssueCount {
    /// None: the bytes of the move and the widths of the machine decide.
    #[default]
    FromBytes,
    /// `load`: device loads in flight before the first store to shared memory; at least 1.
    InFlight(u32),
    /// Accesses of threads to global memory: machine instructions of a warp.
    Instructions(u32),
    /// Accesses to shared memory: passes through its banks.
    Passes(u32),
}

impl IssueCount {
    /// Device loads in flight before the first store to shared memory, if stated.
    pub const fn in_flight(self) -> Option<u32> {
        if let IssueCount::InFlight(n) = self { Some(n) } else { None }
    }

    /// Machine instructions of a warp, if stated.
    pub const fn instructions(self) -> Option<u32> {
        if let IssueCount::Instructions(n) = self { Some(n) } else { None }
    }

    /// Passes through the banks of shared memory, if stated.
    pub const fn passes(self) -> Option<u32> {
        if let IssueCount::Passes(n) = self { Some(n) } else { None }
    }
}
