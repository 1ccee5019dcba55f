//! What a search knows of moves: what they are, what comes of them, and past whose they can be shifted.

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

/// A cell, or with this bit the place of one among its agent's own.
pub(super) const OWN: u16 = 1 << 15;

/// Stands for: as many trip counts as before are possible.
pub(super) const KEPT: Id = Id::MAX;

/// Who makes accesses: the agent with the stream they are in; nobody in particular for copies without one.
pub(super) type Maker = u16;
pub(super) const NOBODY: Maker = Maker::MAX;

pub(super) fn maker(a: AgentId, kind: Option<StreamKind>) -> Maker {
    (a as Maker) << 4 | kind.map_or(0, |k| k as Maker + 1)
}

/// Past which moves of other agents a move can be shifted without a difference, unless the two conflict in a piece of
/// memory: then a state before shows the race (Lipton, "Reduction", 1975).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mover {
    /// To either side: nobody else can notice it.
    Both,
    /// To the right: an access that is over at once, or the end of one, can wait until its agent's next step.
    Right,
    /// To the left: an access that stays under way behind it can begin at once.
    Left,
    /// Not at all: a synchronisation.
    Non,
}

/// What a move does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) writes: SmallVec<[(u16, Id); 6]>,
    /// A list of pieces it touches, by number, and by whom.
    pub(super) touches: u16,
    pub(super) maker: Maker,
    pub(super) pc: u32,
    pub(super) fault: Option<FindingKind>,
    /// Whether anything changes.
    pub(super) goes: bool,
    pub(super) mover: Mover,
    /// The agent ends: nobody else can notice that who meets nobody any more.
    pub(super) ends: bool,
}

/// A move's outcomes, by what is left of the possible trip counts.
pub(super) type Group = SmallVec<[(Id, Outcome); 1]>;

/// What a move depends on.
pub(super) struct Node {
    pub(super) parts: Vec<StatePart>,
    /// Cells among them behind the own one.
    pub(super) deps: SmallVec<[u16; 8]>,
    pub(super) asks: bool,
    pub(super) one: Vec<u32>,
    pub(super) few: FxHashMap<u128, u32>,
    pub(super) many: FxHashMap<Box<[Id]>, u32>,
}

/// A move of an agent in a state of its own.
pub(super) struct Action {
    pub(super) what: ActionKind,
    /// By the agents it was looked at for; one for all of a class where no rendezvous tells them apart.
    pub(super) nodes: SmallVec<[(AgentId, Node); 1]>,
}

/// Who changes an mbarrier once it is initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// Nobody, so far.
    None,
    /// One agent and its flights, so far.
    One(AgentId),
    /// More.
    Many,
}

/// A list of pieces as bits, to see quickly that two have nothing in common: pieces 128 apart share one.
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

/// An arrival at a numbered barrier: the rendezvous, threads that come, threads that it is for.
pub(super) type Arrives = (u32, u32, u32);

/// What is known of an agent's cell.
pub(super) struct CellFacts {
    pub(super) actions: Vec<Action>,
    /// What is under way: who made it, pieces, instruction.
    pub(super) flights: SmallVec<[(Maker, u16, u32); 4]>,
    /// Whether it may still come to a barrier of its CTA or cluster.
    pub(super) meets: bool,
    /// The numbered barrier it is about to arrive at.
    pub(super) arrives: Option<Arrives>,
    /// How many periods it is past its start, if that says anything.
    pub(super) progress: Option<i64>,
}

/// A step made in a world.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Transition {
    pub(super) held: Vec<PartState>,
    pub(super) touches: Vec<(u32, bool)>,
    /// Until it lands what was touched stays under way.
    pub(super) flies: bool,
    pub(super) maker: Maker,
    pub(super) pc: u32,
    pub(super) fault: Option<FindingKind>,
    pub(super) goes: bool,
}
