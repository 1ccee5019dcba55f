//! The order of `atom`: which agent comes first decides the values that the agents get.
//!
//! One run decides one order. Where nothing else orders the first `atom` of some agents, a proof gives the program each
//! order of these agents ([`Program::atomic_order`](crate::ir::Program)). Such a run holds an agent back at its first
//! `atom` until the agents before it had theirs. Every schedule has one of these orders: that of its own steps. An
//! `atom` that is not the first of its agent must be ordered by something else.

use super::vocabulary::{AgentId, WaitTarget};
use super::world::World;

/// How far agents came in the order of their first `atom`.
#[derive(Clone, Debug, Default)]
pub(super) struct AtomicOrder {
    /// Number of `atom` that each agent made; shorter where the last agents made none.
    made: Vec<u32>,
    /// Agents whose first `atom` nothing ordered with that of another agent.
    open: Vec<AgentId>,
    /// Whether no agent is held any more: those before it do not come.
    released: bool,
}

impl AtomicOrder {
    /// Counts an `atom` of an agent. Returns its number, from 1.
    pub(super) fn fetched(&mut self, a: AgentId) -> u32 {
        let a = a as usize;
        if self.made.len() <= a {
            self.made.resize(a + 1, 0);
        }
        self.made[a] += 1;
        self.made[a]
    }

    fn made(&self, a: AgentId) -> u32 {
        self.made.get(a as usize).copied().unwrap_or(0)
    }

    /// An agent comes to an `atom` behind steps that nothing orders before it: their agents, and the numbers of their
    /// `atom`. Returns whether each order of these is decided.
    pub(super) fn meet(&mut self, a: AgentId, before: &[(AgentId, u32)], decided: &[AgentId]) -> bool {
        let first = self.made(a) == 0 && before.iter().all(|(_, number)| *number == 1);
        if first {
            let new = before.iter().map(|(b, _)| *b).chain([a]).filter(|b| !self.open.contains(b));
            let new: Vec<AgentId> = new.collect();
            self.open.extend(new);
        }
        first && before.iter().map(|(b, _)| *b).chain([a]).all(|b| decided.contains(&b))
    }

    /// The state, for comparisons.
    pub(super) fn entries(&self, f: impl FnMut(u64)) {
        let made = self.made.iter().map(|n| u64::from(*n > 0));
        made.chain([u64::from(self.released)]).filter(|_| !self.made.is_empty() || self.released).for_each(f);
    }
}

impl World<'_> {
    /// Whether an agent waits at its first `atom` for agents that come before.
    pub(super) fn holds_atomic(&self, a: AgentId) -> bool {
        let (of, order) = (&self.global.atomics, &self.prog.atomic_order);
        let Some(place) = order.iter().position(|b| *b == a) else { return false };
        let comes = |b: &AgentId| of.made(*b) == 0 && !self.agents[*b].ended;
        !of.released && of.made(a) == 0 && order[..place].iter().any(comes)
    }

    /// Holds no agent at its `atom` any more, because no other agent can proceed. Returns whether any was held.
    pub fn release_atomics(&mut self) -> bool {
        let order = &self.prog.atomic_order;
        let held = !self.global.atomics.released && order.iter().any(|a| !self.agents[*a].ended);
        self.global.atomics.released |= held;
        held
    }

    /// Agents whose first `atom` nothing orders with that of another agent, in ascending order.
    pub fn open_atomics(&self) -> Vec<AgentId> {
        let mut list = self.global.atomics.open.clone();
        list.sort_unstable();
        list
    }

    /// Objects that agents held at an `atom` wait for.
    pub(super) fn atomics_changed(&mut self) {
        if !self.prog.atomic_order.is_empty() {
            let all = 0..self.global.counters.len() as u32;
            all.for_each(|ix| self.journal.changed(WaitTarget::Counter(ix)));
        }
    }
}
