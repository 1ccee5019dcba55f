//! Operations of a kernel's text.

use warpline_sim::ir;

use super::{Bar, Expr, Ident, Place, Stages, Type};

/// An operation: [`ir::Op`] with unresolved names.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
#[allow(clippy::large_enum_variant, reason = "always boxed")]
pub(crate) enum Operation {
    Move(Box<Move>),
    Mma { kind: ir::MmaKind, a: Place, b: Place, acc: Place },
    Alu { unit: Ident, count: Expr, times: Option<Expr>, uses: Vec<Place>, dst: Option<Place> },
    Zero(Place, Option<Type>),
    Commit(ir::Queue),
    CommitUmma(Vec<Bar>),
    Wait(ir::Queue, Expr),
    MbarWait { bar: Bar, phase: AwaitedPhase },
    CpArrive { bar: Bar, noinc: bool },
    Init(Vec<Stages>),
    Inval(Vec<Stages>),
    Arrive(Box<Arrive>),
    Expect(Bar, Expr),
    Barrier(ir::Order),
    Named { sync: bool, name: Ident, index: Option<Expr>, threads: Expr },
    WarpSync,
    ClusterSync,
    ClusterArrive { relaxed: bool },
    ClusterWait,
    Fence(ir::Fence),
    TmemAlloc { name: Ident, pair: bool },
    TmemDealloc { name: Ident, pair: bool },
    Regs { inc: bool, count: Expr },
    Put { value: Expr, dst: Place, version: Option<Expr> },
    Get { src: Place, version: Option<Expr>, var: Ident },
    Clc { dst: Place, signals: Bar },
    Counter(Box<Counter>),
    GridWait,
    Exit,
}

/// The access to a counter in global memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CounterVerb {
    /// `red.add x, v`.
    Add(Expr),
    /// `atom.add x, v -> old`.
    Fetch(Expr, Ident),
    /// `st x, v`.
    Set(Expr),
    /// `ld x -> v`.
    Load(Ident),
    /// `wait x >= v`.
    Wait(ir::Binary, Expr),
}

/// An operation on a counter in global memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counter {
    /// The access.
    pub verb: CounterVerb,
    /// The array.
    pub name: Ident,
    /// Index in the array.
    pub index: Option<Expr>,
    /// The memory order; relaxed if absent.
    pub order: ir::MemOrder,
    /// The scope; the device if absent.
    pub scope: ir::Scope,
}

/// A move of data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Move {
    /// The instruction.
    pub how: ir::MoveKind,
    /// The source.
    pub src: Place,
    /// The destination.
    pub dst: Place,
    /// Number of loads in flight.
    pub batch: Option<Expr>,
    /// `via dequant`.
    pub dequant: bool,
    /// `masked`.
    pub masked: bool,
    /// `signals bar`.
    pub signals: Option<Bar>,
    /// `multicast mask`.
    pub multicast: Option<Expr>,
}

/// The phase that a wait on an mbarrier names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AwaitedPhase {
    /// `for p`.
    Number(Expr),
    /// `parity e`.
    Parity(Expr),
    /// `state n`.
    State(ir::StateId),
}

/// An arrival.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arrive {
    /// The mbarrier.
    pub bar: Bar,
    /// The threads that arrive; every executing thread if absent.
    pub per: Option<ir::ArrivalsPer>,
    /// Number of arrivals; 1 if absent.
    pub count: Option<Expr>,
    /// Expected bytes.
    pub expect: Option<Expr>,
    /// Whether the arrival orders nothing.
    pub relaxed: bool,
    /// Whether the arrival has cluster scope.
    pub cluster: bool,
    /// Whether later phases need the arrival no longer.
    pub drop: bool,
    /// The state that the arrival returns.
    pub state: Option<ir::StateId>,
}
