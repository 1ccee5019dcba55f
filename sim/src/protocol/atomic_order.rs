//! The order of `atom`: which agent comes first decides the values that the agents get.
//!
//! One run decides one order. Nothing else may order the first `atom` of some agents on a word. A proof then gives the
//! program each order of these agents ([`Program::atomic_order`](crate::ir::Program)). Orders are those of each word by
//! itself, or of all words together. Such a run holds an agent back at its first `atom` until the agents before it had theirs. Every
//! schedule has one of these orders: that of its own steps. An `atom` that is not the first of its agent must be ordered
//! by something else.

use std::collections::BTreeMap;

use crate::ir::OrderOfAtomics;

use super::counters::CounterIx;
use super::vocabulary::{AgentId, WaitTarget};
use super::world::World;

/// How far agents came in the order of their first `atom`.
#[derive(Clone, Debug, Default)]
pub(super) struct AtomicOrder {
    /// Number of `atom` that each agent made, by word; in one order for all words, all count for word 0.
    made: BTreeMap<(CounterIx, AgentId), u32>,
    /// Agents whose first `atom` on a word nothing ordered with that of another agent.
    open: Vec<(CounterIx, AgentId)>,
    /// Whether no agent is held any more: those before it do not come.
    released: bool,
}

/// The word that orders tell apart.
fn word(ix: CounterIx, orders: &[OrderOfAtomics]) -> CounterIx {
    if orders.iter().any(|order| order.word.is_none()) { 0 } else { ix }
}

/// The agents whose order on a word is decided, first to last.
fn decided(ix: CounterIx, orders: &[OrderOfAtomics]) -> &[AgentId] {
    let of = |order: &&OrderOfAtomics| order.word.is_none_or(|word| word == ix);
    orders.iter().find(of).map_or(&[], |order| &order.agents)
}

impl AtomicOrder {
    /// Counts an `atom` of an agent. Returns its number, from 1.
    pub(super) fn fetched(&mut self, a: AgentId, ix: CounterIx, orders: &[OrderOfAtomics]) -> u32 {
        let made = self.made.entry((word(ix, orders), a)).or_default();
        *made += 1;
        *made
    }

    fn made(&self, a: AgentId, ix: CounterIx, orders: &[OrderOfAtomics]) -> u32 {
        self.made.get(&(word(ix, orders), a)).copied().unwrap_or(0)
    }

    /// An agent comes to an `atom` behind steps that nothing orders before it: their agents, and the numbers of their
    /// `atom`. Returns whether each order of these is decided.
    pub(super) fn meet(
        &mut self,
        a: AgentId,
        ix: CounterIx,
        before: &[(AgentId, u32)],
        orders: &[OrderOfAtomics],
    ) -> bool {
        let first = self.made(a, ix, orders) == 0 && before.iter().all(|(_, number)| *number == 1);
        if first {
            for b in before.iter().map(|(b, _)| *b).chain([a]) {
                if !self.open.contains(&(ix, b)) {
                    self.open.push((ix, b));
                }
            }
        }
        let decided = decided(ix, orders);
        first && before.iter().map(|(b, _)| *b).chain([a]).all(|b| decided.contains(&b))
    }

    /// The state, for comparisons: whether each agent of an order had its first `atom`.
    pub(super) fn entries(&self, orders: &[OrderOfAtomics], mut f: impl FnMut(u64)) {
        for order in orders {
            let ix = order.word.unwrap_or(0);
            order.agents.iter().for_each(|a| f(u64::from(self.made(*a, ix, orders) > 0)));
        }
        f(u64::from(self.released));
    }
}

impl World<'_> {
    /// Whether an agent waits at its first `atom` on a word for agents that come before.
    pub(super) fn holds_atomic(&self, a: AgentId, ix: CounterIx) -> bool {
        let (of, orders) = (&self.global.atomics, &self.prog.atomic_order);
        let order = decided(ix, orders);
        let Some(place) = order.iter().position(|b| *b == a) else { return false };
        let comes = |b: &AgentId| of.made(*b, ix, orders) == 0 && !self.agents[*b].ended;
        !of.released && of.made(a, ix, orders) == 0 && order[..place].iter().any(comes)
    }

    /// Holds no agent at its `atom` any more, because no other agent can proceed. Returns whether any was held.
    pub fn release_atomics(&mut self) -> bool {
        let mut agents = self.prog.atomic_order.iter().flat_map(|order| &order.agents);
        let held = !self.global.atomics.released && agents.any(|a| !self.agents[*a].ended);
        self.global.atomics.released |= held;
        held
    }

    /// Agents whose first `atom` on a word nothing orders with that of another agent: by word, in ascending order.
    pub fn open_atomics(&self) -> BTreeMap<CounterIx, Vec<AgentId>> {
        let mut list: BTreeMap<CounterIx, Vec<AgentId>> = BTreeMap::new();
        for (ix, a) in &self.global.atomics.open {
            list.entry(*ix).or_default().push(*a);
        }
        list.values_mut().for_each(|agents| agents.sort_unstable());
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
