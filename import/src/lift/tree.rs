//! The operations of one warp, with conditions and loops, and their positions in the text.

use warpline_sim::ir::{Instructions, StateId};

use crate::symbolic::Term;

use super::launch::ParamField;

/// A value of each lane of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Val {
    /// The same for all.
    Uni(Term),
    /// One for each.
    Lanes(std::rc::Rc<[Term; 32]>),
}

impl Val {
    /// The value of a lane.
    pub(crate) fn at(&self, lane: usize) -> Term {
        match self {
            Val::Uni(t) => *t,
            Val::Lanes(l) => l[lane],
        }
    }

    /// From one value a lane.
    pub(crate) fn of(list: [Term; 32]) -> Val {
        if list.iter().all(|t| *t == list[0]) { Val::Uni(list[0]) } else { Val::Lanes(list.into()) }
    }

    /// The value, if the lanes of a mask have one.
    pub(crate) fn uniform(&self, mask: u32) -> Option<Term> {
        match self {
            Val::Uni(t) => Some(*t),
            Val::Lanes(l) => {
                let mut all = (0..32).filter(|i| mask >> i & 1 == 1).map(|i| l[i]);
                let first = all.next()?;
                all.all(|t| t == first).then_some(first)
            }
        }
    }
}

/// The kinds of access to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Touch {
    /// Loads: `ld`, `ldmatrix`.
    Read,
    /// Stores: `st`, `stmatrix`.
    Write,
    /// Stores at places that are not known: warps may store different values there.
    Scatter,
    /// `cp.async`.
    Copy,
    /// `atom`, `red`.
    Atomic,
}

/// A run of bytes of shared memory that one lane touches: address and length.
pub(crate) type Run = (Term, u32);

/// The access of a warp to an array in global memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Global {
    /// The instruction that accesses it.
    pub(crate) how: GlobalAccess,
    /// The value among the parameters that points to the array or is its tensor map; `None` where it is not known.
    pub(crate) source: Option<ParamField>,
    /// Bytes from the start of the array to the first lane's data; for a box the coordinates of its first element,
    /// innermost first. Empty where the address depends on data.
    pub(crate) at: Vec<Term>,
    /// The data of each lane: bytes from the first lane's data, and length. Empty for a box.
    pub(crate) lanes: Vec<(i64, u32)>,
    /// Machine instructions.
    pub(crate) instructions: u32,
    /// Sectors of 32 bytes that the instructions touch, each counted for itself.
    pub(crate) sectors: u32,
}

/// The kinds of access to global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum GlobalAccess {
    /// `ld.global`, with a number for the registers that it writes.
    Load(u32),
    /// `st.global`.
    Store,
    /// `red.global` and `atom.global`.
    Atomic,
    /// The source of a `cp.async`, which follows.
    Copy,
    /// The source of a bulk copy by tensor map, which follows.
    BoxLoad,
    /// The destination of a bulk copy by tensor map, which follows.
    BoxStore,
}

/// Streams of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Stream {
    /// `cp.async` groups.
    Copy,
    /// `wgmma` groups.
    Wgmma,
    /// Bulk groups.
    Bulk,
    /// Bulk groups, for the reads of their sources.
    BulkRead,
}

/// Fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Fence {
    /// `fence.proxy.async`, of shared memory.
    Async,
    /// `fence.proxy.async.global`.
    AsyncGlobal,
    /// `fence.mbarrier_init`.
    Init,
    /// `wgmma.fence`.
    Wgmma,
    /// `tcgen05.fence::before_thread_sync`.
    TensorBefore,
    /// `tcgen05.fence::after_thread_sync`.
    TensorAfter,
    /// A fence of the CTA, which orders nothing here.
    Cta,
    /// A fence of the device, in a program that is timed.
    Gpu,
}

/// A register object of the program: the first register of an accumulator and its columns, or the first one of a left
/// operand and 0.
pub(crate) type Key = (crate::ptx::Reg, u32);

/// Objects that an instruction accesses while a product may, or with no fence before the next product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accesses {
    /// Objects that it reads.
    pub(crate) reads: std::collections::BTreeSet<Key>,
    /// Objects that it writes.
    pub(crate) writes: std::collections::BTreeSet<Key>,
}

/// An operation of a warp or of some of its lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Threads touch shared memory: runs of bytes of all lanes together.
    Touch(Touch, Vec<Run>),
    /// Threads access shared memory of a CTA that their addresses name, or complete bytes on an mbarrier there.
    Far {
        /// The kind of access.
        what: Touch,
        /// Runs of bytes of all lanes together, as addresses in that CTA.
        runs: Vec<Run>,
        /// The CTA, if it is another one.
        cta: Option<Term>,
        /// The address of the barrier that gets the bytes (`st.async`, `red.async`).
        bar: Option<Term>,
    },
    /// Closes the open group.
    Commit(Stream),
    /// Waits until at most so many groups are open.
    WaitGroup(Stream, i64),
    /// A bulk copy to shared memory.
    BulkLoad {
        /// Destination address.
        to: Term,
        /// The barrier's address.
        bar: Term,
        /// Bytes, if the instruction states them.
        bytes: Option<Term>,
        /// CTAs that receive it, as bits.
        multicast: Option<Term>,
        /// The CTA whose barrier it signals, if the address names one.
        cta: Option<Term>,
    },
    /// A bulk copy out of shared memory.
    BulkStore {
        /// Source address.
        from: Term,
        /// Bytes, if the instruction states them.
        bytes: Option<Term>,
    },
    /// `mbarrier.init`: address and count.
    Init(Term, Term),
    /// `mbarrier.inval`.
    Inval(Term),
    /// `mbarrier.arrive`.
    Arrive {
        /// Address.
        bar: Term,
        /// Arrivals of each lane.
        count: Term,
        /// Bytes expected.
        expect: Option<Term>,
        /// The CTA of the barrier, if it is another one.
        cta: Option<Term>,
        /// Without release semantics.
        relaxed: bool,
        /// With cluster scope.
        cluster: bool,
        /// By one lane that is not the first, in a converged warp: since the warp converged, no lane performed an
        /// operation by itself.
        in_step: bool,
        /// `mbarrier.arrive_drop`.
        drop: bool,
        /// The state that it returns, where a wait takes it.
        state: Option<StateId>,
    },
    /// `mbarrier.expect_tx`.
    Expect {
        /// Address.
        bar: Term,
        /// Bytes.
        bytes: Term,
        /// The CTA of the barrier, if it is another one.
        cta: Option<Term>,
    },
    /// `cp.async.mbarrier.arrive`: address, `.noinc`.
    CopyArrive(Term, bool),
    /// A wait for a parity: address and parity.
    Wait(Term, Term),
    /// A wait for the phase of the arrival that returned a state: address and state.
    WaitState(Term, StateId),
    /// `bar.sync` and `bar.arrive`: number, threads, whether it waits.
    Bar(i64, i64, bool),
    /// `__syncwarp`.
    WarpSync,
    /// `elect.sync`: lanes wait for each other.
    Elect,
    /// `barrier.cluster.arrive`: relaxed.
    ClusterArrive(bool),
    /// `barrier.cluster.wait`.
    ClusterWait,
    /// A fence.
    Fence(Fence),
    /// `setmaxnreg`: registers, `inc`.
    Regs(u32, bool),
    /// `wgmma.mma_async`: bytes that its operands in shared memory cover, as pairs of address and length; the accumulator's
    /// first register, and its rows and columns.
    Wgmma {
        /// Left operand; none where it is in registers.
        a: Option<Vec<Run>>,
        /// Right operand.
        b: Vec<Run>,
        /// First register of the accumulator.
        acc: u32,
        /// Columns of the product.
        n: u32,
        /// Depth in bytes of a row.
        k: u32,
    },
    /// An access by threads to registers of products, where no wait or no fence orders it on some way through the text.
    Registers(Accesses),
    /// `griddepcontrol.wait`.
    GridWait,
    /// An access to global memory; only in programs that are timed.
    Global(Global),
    /// Passes through the banks of shared memory that the next access takes; only in programs that are timed.
    Passes(u32),
    /// Instructions since the last operation; only in programs that are timed.
    Work(Instructions),
    /// The two parts of the [`Effect::Work`] before this node: up to the special functions, and from these on.
    Parts(Instructions, Instructions),
    /// Behind this node are loads that the assembler issues here at the earliest; only in programs that are timed.
    LoadsFrom,
    /// The first use of registers that the load of this number wrote; only in programs that are timed.
    Use(u32),
    /// `mma.sync`: rows, columns, depth, bits of an element, and the number of products; only in programs that are timed.
    Product([u32; 4], u32),
    /// `tcgen05.alloc` and `tcgen05.dealloc`.
    Tensor {
        /// Whether it allocates.
        alloc: bool,
        /// First column.
        base: i64,
        /// Columns.
        columns: i64,
        /// `.cta_group::2`.
        pair: bool,
    },
    /// `tcgen05.ld`.
    TensorLoad(Vec<Run>),
    /// `tcgen05.st`.
    TensorStore(Vec<Run>),
    /// `tcgen05.wait`: for loads, or for stores.
    TensorWait(bool),
    /// `tcgen05.commit`.
    TensorCommit {
        /// The barrier's address.
        bar: Term,
        /// CTAs whose barriers receive the arrival, as bits.
        multicast: Option<Term>,
        /// The CTA whose barrier it signals, if the address names one.
        cta: Option<Term>,
    },
    /// `tcgen05.mma` and `tcgen05.cp`.
    TensorProduct {
        /// Left operand in shared memory.
        a: Vec<Run>,
        /// Bytes of tensor memory that are read.
        at: Vec<Run>,
        /// Right operand.
        b: Vec<Run>,
        /// Bytes that are written.
        d: Vec<Run>,
        /// In both CTAs of a pair (`.cta_group::2`).
        pair: bool,
        /// What one CTA multiplies.
        shape: TensorShape,
    },
}

/// The shape of a product of tensor memory in one CTA. A copy into tensor memory multiplies nothing: it has no columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TensorShape {
    /// Rows of the left operand.
    pub(super) rows: u32,
    /// Columns of the right operand.
    pub(super) columns: u32,
    /// Elements of a row of an operand.
    pub(super) depth: u32,
    /// Bits of an element.
    pub(super) bits: u32,
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// The instruction.
    pub(crate) at: usize,
    /// Distinguishes several nodes of one instruction.
    pub(crate) part: u8,
    /// What it is.
    pub(crate) kind: Kind,
}

impl Node {
    /// Whether it is no operation of the protocol: only a program that is timed has it.
    pub(crate) fn is_work(&self) -> bool {
        matches!(&self.kind, Kind::Op(_, e) if e.is_work())
    }
}

impl Effect {
    /// Whether it is no operation of the protocol: only a program that is timed has it.
    pub(crate) fn is_work(&self) -> bool {
        matches!(
            self,
            Effect::Work(_)
                | Effect::Parts(..)
                | Effect::LoadsFrom
                | Effect::Use(_)
                | Effect::Global(_)
                | Effect::Product(..)
                | Effect::Passes(_)
        )
    }
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An operation by the lanes of a mask.
    Op(u32, Effect),
    /// Two branches.
    If(Term, Vec<Node>, Vec<Node>),
    /// A loop: its header, its trip count, its body.
    For(u32, Term, Vec<Node>),
    /// A variable is set.
    Set(u32, Term),
    /// The warp ends.
    End,
}
