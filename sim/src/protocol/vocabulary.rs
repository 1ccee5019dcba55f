//! The vocabulary of the state: identities of its members, numbers, targets of waits, and reasons why an operation does
//! not happen. This file depends on no other file of the protocol.

use crate::ir::{Binary, MbarId, NamedId, ObjId, StateId};
use crate::timeline::Lanes;

/// Index of an agent in its world.
pub type AgentId = u32;

/// The position of an agent: its CTA, its warp and its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AgentInfo {
    /// Rank of its CTA in the cluster.
    pub cta: u32,
    /// Warp in the CTA.
    pub warp: u32,
    /// The lane class, where the warp is split.
    pub lanes: Option<Lanes>,
}

impl AgentInfo {
    /// Whether `elect:` blocks are executed.
    pub fn elected(&self) -> bool {
        self.lanes != Some(Lanes::Rest)
    }
}

/// Index of an mbarrier of a world: every stage of every declaration, for every CTA.
pub(super) type MbarIx = u32;

/// Index of a rendezvous of a world.
pub(super) type RendezvousIx = u32;

/// Index of a flight of a world; reused after the flight has landed.
pub type FlightId = u32;

/// Index of a form of a cell; 0 is the form of a number that is the same for all CTAs of the cell.
pub type FormId = u32;

/// The coordinates of a cluster in the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Coords {
    pub(super) id: i64,
    pub(super) m: i64,
    pub(super) n: i64,
    pub(super) z: i64,
}

/// A number, with its dependence on the place of the CTA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) v: i64,
    pub(super) form: FormId,
}

/// A place in an evaluation where a number decides something. A verifier compares the decisions of two runs, to see
/// whether longer runs decide alike. Sums and differences decide nothing and are not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// An operator other than a sum or a difference, with its operands. A product has one operand that is
    /// [`crate::ir::Expr::is_fixed`].
    Op(Binary, i64, i64),
    /// A number that selects a place, a branch or a count, such as a slot, a stage or a count of arrivals. A phase counts
    /// less the barrier's own phase. A product of two numbers that may change has its factors here.
    Fixed(i64),
    /// Whether an access begins before the end of a matrix. Another kernel of the same text may have another end.
    End {
        /// The matrix.
        obj: ObjId,
        /// Rows, or columns.
        axis: u8,
        /// The first row or column of the access.
        first: i64,
        /// Number of rows or columns of the matrix.
        end: i64,
    },
    /// A loop begins again.
    Again,
}

/// The target of a wait: an object whose change can unblock an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitTarget {
    /// An mbarrier.
    Mbar(u32),
    /// A rendezvous.
    Rendezvous(u32),
    /// The agent's own operations in flight.
    Own(AgentId),
    /// The register pool of a CTA, which `setmaxnreg` changes.
    Pool(u32),
    /// A counter in global memory.
    Counter(u32),
}

/// An operation that has no meaning in the current state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Arithmetic,
    Slot { obj: ObjId, slot: i64 },
    Part { index: i64, of: u32 },
    Stage { bar: MbarId, stage: i64 },
    State { bar: MbarId, state: StateId },
    Named { bar: NamedId, index: i64 },
    Word { counter: crate::ir::CounterId, index: i64 },
    Threads(i64),
    Cta(i64),
    Mask(i64),
    Pair(u32, u32),
    Elsewhere(u32, u32),
    Negative(&'static str, i64),
    Endless,
}

/// Why an operation was not performed.
#[derive(Clone, Debug)]
pub(super) enum Blocked {
    On(WaitTarget),
    Fault(Fault),
}

impl From<Fault> for Blocked {
    fn from(f: Fault) -> Self {
        Blocked::Fault(f)
    }
}
