//! The state of a walk at a loop, to walk the loop in another way.

use crate::lift::launch::cases;
use crate::lift::tree::{Node, Val};
use crate::symbolic::{Facts, Term};

use super::optional::{Loading, OpenTensor};
use super::{Frame, Walk};

/// The state of a walk.
pub(crate) struct State {
    group: (u32, u32),
    regs: Vec<Option<Val>>,
    facts: Facts,
    nodes: Vec<Node>,
    frames: Vec<Frame>,
    path: Vec<Term>,
    forks: Vec<usize>,
    outer: Vec<Vec<Node>>,
    unsure: u32,
    lane_conditions: Vec<(Val, bool)>,
    peeked_terms: Vec<Term>,
    dry: u32,
    apart: (bool, bool),
    history: super::words::History,
    loading: Loading,
    open: (OpenTensor, OpenTensor),
    assumed: std::collections::BTreeMap<String, u32>,
    wanted: Option<cases::Wanted>,
}

impl Walk<'_, '_> {
    /// The state of the walk, without what concerns barriers of all threads.
    pub(crate) fn state(&self) -> State {
        State {
            group: (self.lanes, self.group),
            regs: self.regs.clone(),
            facts: self.facts.clone(),
            nodes: self.nodes.clone(),
            frames: self.frames.clone(),
            path: self.path.clone(),
            forks: self.forks.clone(),
            outer: self.outer.clone(),
            unsure: self.unsure,
            lane_conditions: self.lane_conditions.clone(),
            peeked_terms: self.peeked_terms.clone(),
            dry: self.dry,
            apart: (self.apart, self.wrote),
            history: self.history,
            loading: self.loading.clone(),
            open: (self.open, self.open_before),
            assumed: self.s.assumed.clone(),
            wanted: self.s.cases.wanted,
        }
    }

    /// Goes back to a state.
    pub(crate) fn restore(&mut self, s: State) {
        (self.lanes, self.group) = s.group;
        (self.regs, self.facts, self.nodes, self.frames) = (s.regs, s.facts, s.nodes, s.frames);
        (self.path, self.forks, self.outer, self.unsure) = (s.path, s.forks, s.outer, s.unsure);
        (self.lane_conditions, self.peeked_terms, self.dry) = (s.lane_conditions, s.peeked_terms, s.dry);
        (self.apart, self.wrote) = s.apart;
        (self.history, self.loading) = (s.history, s.loading);
        (self.open, self.open_before) = s.open;
        (self.s.assumed, self.s.cases.wanted) = (s.assumed, s.wanted);
    }
}
