//! The operations an agent can perform, with operands still to be evaluated.

use super::{Binary, Class, CounterId, Expr, IssueCount, MbarId, NamedId, ObjId, Queue, StateId, TileRef, VarId};

/// One of several equal parts of a place along one axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Index of the part, from 0.
    pub index: Expr,
    /// Number of equal parts.
    pub of: u32,
}

/// The named part of a slot or tile: successive cuts of its rows and of its columns. Empty means all of the slot or
/// tile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selection {
    /// Cuts along the rows, outermost first.
    pub rows: Vec<Part>,
    /// Cuts along the columns, outermost first.
    pub cols: Vec<Part>,
    /// An exact set of pieces for each warp, in place of cuts; one entry is for all warps. Empty where cuts describe
    /// the selection.
    pub exact: Vec<Exact>,
    /// Which writes of the place do not race with each other.
    pub writes: Writes,
    /// The shape of an operand of a product, where `exact` gives its bytes without rows and columns.
    pub operand: Option<Operand>,
}

/// Writes that do not race with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Writes {
    /// None: two writes without an order are a race.
    #[default]
    Exclusive,
    /// Writes of one instruction that store the same values in all warps.
    SameValues,
    /// Atomic writes (`atom`, `red`).
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

/// The part of a slot that one warp touches. Imported kernels address bytes, not rows and columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Exact {
    /// The pieces of the slot, as bits.
    pub pieces: u64,
    /// Elements touched in these pieces.
    pub elements: u32,
}

/// A place that data is read from or written to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The object.
    pub obj: ObjId,
    /// Global: block coordinates (element coordinates if `elements`).
    /// On chip: the slot, one expression, or none where there is a single slot.
    pub at: Vec<Expr>,
    /// `at` counts elements, not blocks (`C.at(row, col)`).
    pub elements: bool,
    /// The part of the object.
    pub sel: Selection,
    /// The CTA of the cluster whose memory is meant; `None` for the own CTA.
    pub cta: Option<Expr>,
    /// On a read: the tile that the program expects there.
    pub tile: Option<TileRef>,
    /// The coordinates to compare with the extents of the matrix, where a proof uses other numbers in `at`.
    pub inside: Option<Vec<Expr>>,
    /// The dimensions along which a proof assumes that the block begins inside its matrix.
    pub begins_inside: [bool; 2],
}

/// The CTA whose copy of an mbarrier is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BarrierCta {
    /// The own CTA's.
    Own,
    /// One CTA of the cluster, by rank (`@cta e`).
    Cta(Expr),
    /// Every CTA whose bit is set (`@ctas e`).
    Ctas(Expr),
}

/// One mbarrier of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BarRef {
    /// The declaration.
    pub bar: MbarId,
    /// Index in the array.
    pub stage: Expr,
    /// The CTA that has the mbarrier.
    pub at: BarrierCta,
}

/// One mbarrier of an array, or all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stages {
    /// The declaration.
    pub bar: MbarId,
    /// Index in the array; all of it where there is none.
    pub stage: Option<Expr>,
}

/// The kind of machine instruction that moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MoveKind {
    /// Global to registers, then to shared memory, by the same threads: synchronous for the warp (`load`).
    Load,
    /// Global to registers, asynchronous until a use of the registers (`ldg`).
    Ldg,
    /// Registers to shared (`sts`).
    Sts,
    /// Shared to registers (`lds`, `ldmatrix`, `ds_read`).
    Lds,
    /// Registers to global (`store`).
    Store,
    /// `cp.async`: global to shared memory past the registers, by thread, in commit groups (`cp`).
    CpAsync,
    /// `buffer_load ... lds`: global to LDS, counted by `vmcnt` (`dma`).
    LdsDma,
    /// `cp.async.bulk.tensor` from global to shared memory; completes bytes on an mbarrier (`tma`).
    TmaLoad,
    /// `cp.async.bulk.tensor` from shared to global memory, in bulk groups (`tma.store`).
    TmaStore,
    /// `tcgen05.ld`: tensor memory to registers (`tmem.ld`).
    TmemLd,
    /// `tcgen05.st`: registers to tensor memory (`tmem.st`).
    TmemSt,
}

/// The kind of matrix instruction.
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

/// The number of arrivals of a warp's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrivalsPer {
    /// Every executing thread: 32 (or 64) for a warp, 1 inside `elect:`.
    Thread,
    /// One thread of each warp.
    Warp,
    /// One thread of the role member (or of the whole set where it has no members).
    Once,
}

/// The kind of a fence.
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

/// The phase that a wait on an mbarrier is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The absolute phase, from 0; a negative phase is complete from the start. Parity is derived.
    Absolute(Expr),
    /// The raw parity bit, as hardware takes it.
    Parity(Expr),
    /// The phase of the arrival of the agent that returned this state.
    State(StateId),
}

/// The memory that a CTA barrier orders (Metal's flags; `Shared` on other machines).
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
    /// Index in the array.
    pub index: Expr,
}

/// The access to a counter in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterAct {
    /// `red.add`: adds and returns nothing.
    Add,
    /// `atom.add`: adds; the variable receives the value before.
    Fetch(VarId),
    /// `st`: replaces the value.
    Set,
    /// `ld`: the variable receives the value.
    Load(VarId),
    /// A loop of `ld` until the comparison with the value holds (`Ge`, `Eq`).
    Wait(Binary),
}

/// The memory order of an operation on a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemOrder {
    /// Orders nothing.
    #[default]
    Relaxed,
    /// What follows happens after the release whose value this operation reads.
    Acquire,
    /// What precedes happens before every acquire that reads this value.
    Release,
    /// Acquire and release.
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

/// The threads among which an operation on a counter orders memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Threads of the CTA.
    Cta,
    /// Threads of the cluster.
    Cluster,
    /// Threads of the device.
    #[default]
    Gpu,
}

/// Instructions of a warp that only compute, by the unit that executes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instructions {
    /// Integer, logic, comparison and conversion instructions, and branches (`alu.int_per_clk`).
    pub int: u32,
    /// Floating-point additions and multiplications (`alu.fma_per_clk`).
    pub fma: u32,
    /// Special functions: exponential, logarithm, reciprocal, square root (`alu.exp_per_clk`).
    pub special: u32,
    /// Latencies (`alu.latency`) on the longest chain of dependent instructions.
    pub chain: u32,
}

impl Instructions {
    /// Both, one after the other.
    pub fn and(self, other: Instructions) -> Instructions {
        Instructions {
            int: self.int + other.int,
            fma: self.fma + other.fma,
            special: self.special + other.special,
            chain: self.chain + other.chain,
        }
    }
}

/// Lanes (rows) of tensor memory (PTX ISA, tcgen05, "Tensor Memory Addressing").
pub const TENSOR_LANES: i64 = 128;

/// Whether these warps reach all lanes of tensor memory together. Each reaches the quarter of its number modulo 4 (PTX
/// ISA, tcgen05, access restrictions).
pub fn reach_all_lanes(warps: u64) -> bool {
    let quarters = (0..64).filter(|w| warps >> w & 1 == 1).fold(0, |all, w| all | 1 << (w % 4));
    quarters == 0b1111
}

/// Which part of a place a warp moves that shares the work with the other warps of `crew`, counted from 0: parts go by
/// warp number. In tensor memory, a warp moves the quarter that it reaches ([`reach_all_lanes`]).
pub fn share(class: Class, crew: u64, warp: u32) -> i64 {
    match class {
        Class::Tmem => warp as i64 % 4,
        _ => (crew & ((1u64 << warp) - 1)).count_ones() as i64,
    }
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Moves data from one place to another.
    Move {
        /// The instruction.
        how: MoveKind,
        /// The source.
        src: Place,
        /// The destination.
        dst: Place,
        /// The warps that share the work, as bits; each moves an equal part ([`share`]). 0: each executing warp moves
        /// everything.
        crew: u64,
        /// The number of machine instructions, loads in flight or passes, where the bytes do not say it.
        issue: IssueCount,
        /// Whether the vector unit unpacks and scales the data on the way (`via dequant`).
        dequant: bool,
        /// Whether elements outside the matrix are masked off; the instruction still counts.
        masked: bool,
        /// The mbarrier on which the bytes complete (`tma`).
        signals: Option<BarRef>,
        /// CTAs that receive the data and the signal, as bits (`multicast`).
        multicast: Option<Expr>,
    },
    /// Multiplies and accumulates.
    Mma {
        /// The instruction.
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
        /// Operations of the whole warp.
        count: Expr,
        /// Registers read; the scoreboard makes the operation wait for these.
        reads: Vec<Place>,
        /// Registers written.
        writes: Vec<Place>,
        /// Instructions of several units, which run side by side, in place of `unit` and `count` (compiled kernels).
        mix: Option<Instructions>,
    },
    /// Clears an accumulator; its sums start again from zero.
    Zero(Place),
    /// Closes the open group of a queue.
    Commit(Queue),
    /// `tcgen05.commit`: arrives on mbarriers when all earlier `umma` of this thread are done.
    CommitUmma(Vec<BarRef>),
    /// Waits until at most `n` groups or instructions are outstanding.
    Wait(Queue, Expr),
    /// `cp.async.mbarrier.arrive`: arrives when this thread's earlier `cp` are done.
    CpArrive {
        /// The mbarrier.
        bar: BarRef,
        /// `.noinc`: consumes an expected arrival; without it the pending count is raised first.
        noinc: bool,
    },
    /// `mbarrier.init`, for each stage named.
    Init(Vec<Stages>),
    /// `mbarrier.inval`.
    Inval(Vec<Stages>),
    /// `mbarrier.arrive`, with `expect_tx` where bytes are given.
    Arrive {
        /// The mbarrier.
        bar: BarRef,
        /// The threads that arrive.
        per: ArrivalsPer,
        /// Arrivals of each of these threads.
        count: Expr,
        /// Bytes expected, posted before the arrival.
        expect: Option<Expr>,
        /// `.relaxed`: orders nothing.
        relaxed: bool,
        /// `.cluster` scope; else CTA scope.
        cluster: bool,
        /// `mbarrier.arrive_drop`: the phases behind the open one need these arrivals no longer.
        drop: bool,
        /// The state that the arrival returns, for a wait ([`Phase::State`]).
        state: Option<StateId>,
    },
    /// `mbarrier.expect_tx` without an arrival.
    Expect {
        /// The mbarrier.
        bar: BarRef,
        /// Bytes.
        bytes: Expr,
    },
    /// `mbarrier.try_wait` in a loop.
    MbarWait {
        /// The mbarrier, of the own CTA.
        bar: BarRef,
        /// The phase.
        phase: Phase,
    },
    /// Every thread of the CTA: `__syncthreads`, `threadgroup_barrier`, `s_barrier`.
    Barrier(Order),
    /// `bar.sync` / `bar.arrive`: a numbered barrier with a thread count.
    Named {
        /// The declaration.
        bar: NamedId,
        /// Index in the array.
        index: Expr,
        /// Number of threads.
        threads: Expr,
        /// Whether the agent also waits (`bar.sync`).
        sync: bool,
    },
    /// `__syncwarp`, `simdgroup_barrier`: the lanes of one warp.
    WarpSync,
    /// `elect.sync`: the lanes of one warp wait for each other. This orders no memory.
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
    /// `setmaxnreg`: changes the number of registers that a thread of this warpgroup holds.
    Regs {
        /// Registers a thread.
        count: u32,
        /// `inc`, which may wait, or `dec`.
        inc: bool,
    },
    /// Writes a value that other roles read (`put`).
    Put {
        /// The mailbox slot.
        dst: Place,
        /// The value.
        value: Expr,
    },
    /// Reads a value into a variable (`get`).
    Get {
        /// The mailbox slot, with the version that it should hold.
        src: Place,
        /// The variable.
        var: super::VarId,
    },
    /// `clusterlaunchcontrol.try_cancel`: the next tile of the grid, or −1, into a mailbox; 16 bytes on an mbarrier.
    NextTile {
        /// The mailbox slot.
        dst: Place,
        /// The mbarrier on which the bytes complete, in every CTA of the cluster.
        signals: BarRef,
    },
    /// `red`, `atom`, `st`, `ld` of a counter in global memory, or a wait that polls it.
    Counter {
        /// The access.
        act: CounterAct,
        /// The counter.
        at: CounterRef,
        /// The number that is added, stored or compared; 0 for a load.
        value: Expr,
        /// The memory order.
        order: MemOrder,
        /// The scope of the memory order.
        scope: Scope,
    },
    /// `griddepcontrol.wait`. Nothing behind the wait is modeled, and verdicts say so.
    GridWait,
}
