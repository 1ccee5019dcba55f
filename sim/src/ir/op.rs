//! The operations an agent can perform, with operands still to be evaluated.

use super::{Binary, CounterId, Expr, MbarId, NamedId, ObjId, TileRef, VarId};

/// One of several equal parts of a place along one axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Which part, from 0.
    pub index: Expr,
    /// How many equal parts there are.
    pub of: u32,
}

/// The part of a slot or tile that is named: successive cuts of its rows and of its columns.
/// Empty means all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selection {
    /// Cuts along the rows, outermost first.
    pub rows: Vec<Part>,
    /// Cuts along the columns, outermost first.
    pub cols: Vec<Part>,
    /// An exact set of pieces for each warp, in place of cuts; one entry is for all warps. Empty: the cuts say it.
    pub exact: Vec<Exact>,
    /// Which writes of the place do not race with each other.
    pub writes: Writes,
    /// The shape of an operand of a product, where `exact` says which bytes it is and no rows and columns.
    pub operand: Option<Operand>,
}

/// Writes that do not race with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Writes {
    /// None: two writes that nothing orders are a race.
    #[default]
    Exclusive,
    /// Those of one instruction, by which all warps store the same values.
    SameValues,
    /// Atomic ones (`atom`, `red`).
    Atomic,
}

/// The shape of an operand of a product: rows of the result, and the depth of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Rows of the left operand, columns of the right one.
    pub rows: u16,
    /// Elements of a row.
    pub depth: u16,
    /// Bits of an element.
    pub bits: u8,
}

/// What one warp touches of a slot: imported kernels address bytes, not rows and columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Exact {
    /// The pieces of the slot, as bits.
    pub pieces: u64,
    /// Elements touched in them.
    pub elements: u32,
}

/// A place data is read from or written to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The object.
    pub obj: ObjId,
    /// Global: block coordinates (element coordinates if `elements`).
    /// On chip: the slot, one expression, or none where there is a single slot.
    pub at: Vec<Expr>,
    /// `at` counts elements, not blocks (`C.at(row, col)`).
    pub elements: bool,
    /// The part of it.
    pub sel: Selection,
    /// The CTA of the cluster whose memory is meant; the own one where left out.
    pub cta: Option<Expr>,
    /// On a read: the tile the program means to find there.
    pub tile: Option<TileRef>,
    /// The coordinates to hold to the matrix's extents, where a proof has other numbers in their place.
    pub inside: Option<Vec<Expr>>,
}

/// Which CTA's copy of an mbarrier is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BarrierCta {
    /// The own CTA's.
    Own,
    /// One CTA of the cluster, by rank (`@cta e`).
    Cta(Expr),
    /// Every CTA whose bit is set (`@ctas e`).
    Ctas(Expr),
}

/// An mbarrier of an array of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BarRef {
    /// The declaration.
    pub bar: MbarId,
    /// Which of its stages.
    pub stage: Expr,
    /// In which CTA.
    pub at: BarrierCta,
}

/// How data moves. Each variant is one kind of machine instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MoveKind {
    /// Global to registers, then to shared, by the same threads: synchronous for the warp (`load`).
    Load,
    /// Global to registers, asynchronous until the register is used (`ldg`).
    Ldg,
    /// Registers to shared (`sts`).
    Sts,
    /// Shared to registers (`lds`, `ldmatrix`, `ds_read`).
    Lds,
    /// Registers to global (`store`).
    Store,
    /// `cp.async`: global to shared past the registers, by thread, in commit groups (`cp`).
    CpAsync,
    /// `buffer_load ... lds`: global to LDS, counted by `vmcnt` (`dma`).
    LdsDma,
    /// `cp.async.bulk.tensor` global to shared, completes bytes on an mbarrier (`tma`).
    TmaLoad,
    /// `cp.async.bulk.tensor` shared to global, in bulk groups (`tma.store`).
    TmaStore,
    /// `tcgen05.ld`: tensor memory to registers (`tmem.ld`).
    TmemLd,
    /// `tcgen05.st`: registers to tensor memory (`tmem.st`).
    TmemSt,
}

/// The matrix instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MmaKind {
    /// `mma.sync`, `simdgroup_multiply_accumulate`, `v_mfma`: one warp, in order (`mma`, `mfma`).
    Warp,
    /// `wgmma.mma_async`: four warps together, asynchronous (`wgmma`).
    Wgmma,
    /// `tcgen05.mma.cta_group::1`: one thread issues (`umma`).
    Umma,
    /// `tcgen05.mma.cta_group::2`: one thread issues for a pair of CTAs (`umma.pair`).
    UmmaPair,
}

/// Where operations wait in order until somebody asks for "at most n outstanding".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Queue {
    /// `cp.async` groups, per thread.
    Cp,
    /// `wgmma` groups, per warpgroup.
    Wgmma,
    /// Bulk store groups, per thread: written and visible.
    Bulk,
    /// The same groups: sources read (`.read`).
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

/// How many times a warp's threads arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrivalsPer {
    /// Every executing thread: 32 (or 64) for a warp, 1 inside `elect:`.
    Thread,
    /// One thread of each warp.
    Warp,
    /// One thread of the role member (or of the whole set where it has no members).
    Once,
}

/// Fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fence {
    /// `fence.proxy.async` between generic and asynchronous accesses to shared memory.
    Async,
    /// `fence.proxy.async.global`.
    AsyncGlobal,
    /// `fence.mbarrier_init.release.cluster`, or its CTA-scope use.
    MbarrierInit,
    /// `wgmma.fence.sync.aligned`.
    Wgmma,
    /// `tcgen05.fence::before_thread_sync`.
    TmemBefore,
    /// `tcgen05.fence::after_thread_sync`.
    TmemAfter,
    /// A memory fence of the CTA or threadgroup without execution barrier (`__threadfence_block`).
    Cta,
    /// `fence.acq_rel.gpu` (`__threadfence`).
    Gpu,
}

/// What a wait on an mbarrier asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The absolute phase, from 0; a negative phase is complete from the start. Parity is derived.
    Absolute(Expr),
    /// The raw parity bit, as the hardware has it.
    Parity(Expr),
}

/// Which memory a CTA barrier orders (Metal's flags; elsewhere `Shared`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Execution only (`mem_none`, a bare `s_barrier`).
    None,
    /// Threadgroup (shared) memory.
    Shared,
    /// Device memory.
    Device,
}

/// A word of an array of counters in global memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CounterRef {
    /// The declaration.
    pub counter: CounterId,
    /// Which of its words.
    pub index: Expr,
}

/// What is done to a counter in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterAct {
    /// `red.add`: adds and returns nothing.
    Add,
    /// `atom.add`: adds; the variable gets the value before.
    Fetch(VarId),
    /// `st`: replaces the value.
    Set,
    /// `ld`: the variable gets the value.
    Load(VarId),
    /// A loop of `ld` until the value compares so (`Ge`, `Eq`).
    Wait(Binary),
}

/// What an operation on a counter orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemOrder {
    /// Nothing.
    #[default]
    Relaxed,
    /// What follows comes after what it sees.
    Acquire,
    /// What is before it is seen by whoever acquires it.
    Release,
    /// Both.
    AcqRel,
}

impl MemOrder {
    /// Whether it acquires.
    pub fn acquires(self) -> bool {
        matches!(self, MemOrder::Acquire | MemOrder::AcqRel)
    }

    /// Whether it releases.
    pub fn releases(self) -> bool {
        matches!(self, MemOrder::Release | MemOrder::AcqRel)
    }
}

/// The threads among which an operation on a counter orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Those of the CTA.
    Cta,
    /// Those of the cluster.
    Cluster,
    /// Those of the device.
    #[default]
    Gpu,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Moves data from one place to another.
    Move {
        /// By which instruction.
        how: MoveKind,
        /// From.
        src: Place,
        /// To.
        dst: Place,
        /// The warps that share the work, as bits; each moves an equal part. 0: each executing warp moves all of it.
        crew: u64,
        /// Device loads in flight before the first store to shared (`load` only).
        batch: Option<u32>,
        /// Unpacked and scaled on the way, in the vector unit (`via dequant`).
        dequant: bool,
        /// Elements outside the matrix are masked off; the instruction still counts.
        masked: bool,
        /// The mbarrier that gets the bytes (`tma`).
        signals: Option<BarRef>,
        /// CTAs that get the data and the signal, as bits (`multicast`).
        multicast: Option<Expr>,
    },
    /// Multiplies and accumulates.
    Mma {
        /// By which instruction.
        kind: MmaKind,
        /// Left operand, `[M, K]`.
        a: Place,
        /// Right operand, `[K, N]` or `[N, K]`.
        b: Place,
        /// Accumulator.
        acc: Place,
    },
    /// `count` scalar operations of a unit, per warp, in lanes (`alu exp 64 x 128`).
    Alu {
        /// `fma`, `exp`, `int`, ...; the machine has a rate for each.
        unit: String,
        /// Operations by the whole warp.
        count: Expr,
        /// Registers read, so that the scoreboard makes it wait.
        reads: Vec<Place>,
        /// Registers written.
        writes: Vec<Place>,
    },
    /// Clears an accumulator: its products start afresh.
    Zero(Place),
    /// Closes the open group of a queue.
    Commit(Queue),
    /// `tcgen05.commit`: arrives on mbarriers when all earlier `umma` of this thread are done.
    CommitUmma(Vec<BarRef>),
    /// Waits until at most `n` groups or instructions are outstanding.
    Wait(Queue, Expr),
    /// `cp.async.mbarrier.arrive`: arrives when this thread's earlier `cp` are done.
    CpArrive {
        /// On which barrier.
        bar: BarRef,
        /// `.noinc`: consumes an expected arrival; without it the pending count is raised first.
        noinc: bool,
    },
    /// `mbarrier.init`, for every stage of every barrier named.
    Init(Vec<MbarId>),
    /// `mbarrier.inval`.
    Inval(Vec<MbarId>),
    /// `mbarrier.arrive`, with `expect_tx` where bytes are given.
    Arrive {
        /// On which barrier.
        bar: BarRef,
        /// By whom.
        per: ArrivalsPer,
        /// Arrivals of each.
        count: Expr,
        /// Bytes expected, posted before the arrival.
        expect: Option<Expr>,
        /// `.relaxed`: orders nothing.
        relaxed: bool,
        /// `.cluster` scope; else CTA scope.
        cluster: bool,
    },
    /// `mbarrier.expect_tx` without an arrival.
    Expect {
        /// On which barrier.
        bar: BarRef,
        /// Bytes.
        bytes: Expr,
    },
    /// `mbarrier.try_wait` in a loop.
    MbarWait {
        /// On which barrier; own CTA's only.
        bar: BarRef,
        /// For what.
        phase: Phase,
    },
    /// Every thread of the CTA: `__syncthreads`, `threadgroup_barrier`, `s_barrier`.
    Barrier(Order),
    /// `bar.sync` / `bar.arrive`: a numbered barrier with a thread count.
    Named {
        /// The declaration.
        bar: NamedId,
        /// Which of its array.
        index: Expr,
        /// Threads.
        threads: Expr,
        /// Whether it also waits.
        sync: bool,
    },
    /// `__syncwarp`, `simdgroup_barrier`: the lanes of one warp.
    WarpSync,
    /// `elect.sync`: the lanes of one warp wait for each other. No memory is ordered by it.
    Elect,
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        /// `.relaxed`: orders nothing.
        relaxed: bool,
    },
    /// `barrier.cluster.wait`.
    ClusterWait,
    /// A fence.
    Fence(Fence),
    /// `tcgen05.alloc`.
    TmemAlloc {
        /// The tensor-memory object.
        obj: ObjId,
        /// `.cta_group::2`.
        pair: bool,
    },
    /// `tcgen05.dealloc`.
    TmemDealloc {
        /// The tensor-memory object.
        obj: ObjId,
        /// `.cta_group::2`.
        pair: bool,
    },
    /// `setmaxnreg`: the registers a thread of this warpgroup holds from here on.
    Regs {
        /// Registers a thread.
        count: u32,
        /// `inc`, which may wait, or `dec`.
        inc: bool,
    },
    /// Writes a value other roles read (`put`).
    Put {
        /// The mailbox slot.
        dst: Place,
        /// The value.
        value: Expr,
    },
    /// Reads it into a variable (`get`).
    Get {
        /// The mailbox slot, with the version it should hold.
        src: Place,
        /// The variable.
        var: super::VarId,
    },
    /// `clusterlaunchcontrol.try_cancel`: the next tile of the grid, or −1, into a mailbox; 16 bytes on an mbarrier.
    NextTile {
        /// The mailbox slot.
        dst: Place,
        /// The barrier that gets the bytes, in every CTA of the cluster.
        signals: BarRef,
    },
    /// `red`, `atom`, `st`, `ld` of a counter in global memory, or a wait that polls it.
    Counter {
        /// Which of these.
        act: CounterAct,
        /// The counter.
        at: CounterRef,
        /// What is added, stored or waited for; 0 for a load.
        value: Expr,
        /// What it orders.
        order: MemOrder,
        /// Among whom.
        scope: Scope,
    },
    /// `griddepcontrol.wait`; nothing is modelled behind it, and verdicts say so.
    GridWait,
}
