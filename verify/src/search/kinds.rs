//! Moves of a search: their kinds, their outcomes, and the moves of other agents past which they can be shifted.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use warpline_sim::protocol::{AgentId, PartState, StatePart, StreamKind};
use warpline_sim::report::FindingKind;

use super::cells::Id;

/// A step of an agent, or the landing of one of its flights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ActionKind {
    Step,
    Land(u16),
}

/// The bit of a cell number that marks an index among the agent's own cells.
pub(super) const OWN: u16 = 1 << 15;

/// The marker for an unchanged set of possible trip counts.
pub(super) const KEPT: Id = Id::MAX;

/// The owner of accesses: an agent with the stream of the accesses, or nobody for copies without a stream.
pub(super) type Maker = u16;
pub(super) const NOBODY: Maker = Maker::MAX;

pub(super) fn maker(a: AgentId, kind: Option<StreamKind>) -> Maker {
    (a as Maker) << 4 | kind.map_or(0, |k| k as Maker + 1)
}

/// The directions in which a move can be shifted past moves of other agents without a difference, unless the two
/// conflict in a piece of memory. In that case, an earlier state shows the race (Lipton, "Reduction", 1975).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mover {
    /// In both directions: no other agent can observe the move.
    Both,
    /// To the right: an access that is complete at once, or the end of an access, can wait until its agent's next step.
    Right,
    /// To the left: an access that stays in flight after the move can begin at once.
    Left,
    /// In no direction: a synchronization.
    Non,
}

/// The outcome of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) writes: SmallVec<[(u16, Id); 6]>,
    /// The number of the list of pieces that the move accesses.
    pub(super) touches: u16,
    pub(super) maker: Maker,
    pub(super) pc: u32,
    pub(super) fault: Option<FindingKind>,
    /// Whether the move changes anything.
    pub(super) goes: bool,
    pub(super) mover: Mover,
    /// Whether the agent ends: no other agent can then observe whom it meets.
    pub(super) ends: bool,
}

/// The outcomes of a move, by the set of trip counts that remain possible.
pub(super) type Group = SmallVec<[(Id, Outcome); 1]>;

/// The parts that a move depends on.
pub(super) struct Node {
    pub(super) parts: Vec<StatePart>,
    /// The cells of these parts, without the agent's own cell.
    pub(super) deps: SmallVec<[u16; 8]>,
    pub(super) asks: bool,
    pub(super) one: Vec<u32>,
    pub(super) few: FxHashMap<u128, u32>,
    pub(super) many: FxHashMap<Box<[Id]>, u32>,
}

/// A move of an agent in a state of its own.
pub(super) struct Action {
    pub(super) what: ActionKind,
    /// Nodes by agent; one node for all agents of a class where no rendezvous distinguishes them.
    pub(super) nodes: SmallVec<[(AgentId, Node); 1]>,
}

/// The agents that change an mbarrier after its initialization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// No agent so far.
    None,
    /// One agent and its flights so far.
    One(AgentId),
    /// Several agents.
    Many,
}

/// A list of pieces as bits, for a quick test that two lists are disjoint. Pieces 128 apart share one bit.
#[derive(Clone, Copy, Default)]
pub(super) struct Bits {
    pub(super) reads: u128,
    pub(super) writes: u128,
}

impl Bits {
    pub(super) fn of(list: &[(u32, bool)]) -> Bits {
        let bit = |w: bool| list.iter().filter(|x| x.1 == w).fold(0, |all, x| all | 1 << (x.0 % 128));
        Bits { reads: bit(false), writes: bit(true) }
    }

    pub(super) fn may_conflict(self, other: Bits) -> bool {
        self.writes & (other.reads | other.writes) != 0 || self.reads & other.writes != 0
    }

    pub(super) fn and(self, other: Bits) -> Bits {
        Bits { reads: self.reads | other.reads, writes: self.writes | other.writes }
    }
}

/// An arrival at a numbered barrier: the rendezvous, the threads that arrive, and the threads that it is for.
pub(super) type Arrives = (u32, u32, u32);

/// Facts about an agent's cell.
pub(super) struct CellFacts {
    pub(super) actions: Vec<Action>,
    /// Operations in flight: owner, list of pieces, instruction.
    pub(super) flights: SmallVec<[(Maker, u16, u32); 4]>,
    /// Whether the agent may still come to a barrier of its CTA or cluster.
    pub(super) meets: bool,
    /// The numbered barrier that the agent is about to arrive at.
    pub(super) arrives: Option<Arrives>,
    /// Number of periods that the agent is past its start, where that is defined.
    pub(super) progress: Option<i64>,
}

/// A transition: one step, made in a world.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Transition {
    pub(super) held: Vec<PartState>,
    pub(super) touches: Vec<(u32, bool)>,
    /// Whether the accesses stay in flight until a landing.
    pub(super) flies: bool,
    pub(super) maker: Maker,
    pub(super) pc: u32,
    pub(super) fault: Option<FindingKind>,
    pub(super) goes: bool,
}
