//! Counters in global memory: `red`, `atom`, `st`, `ld` and waits that poll for a value.
//!
//! A counter keeps its steps in order, each with what its agent knew. In another schedule the steps come in another
//! order, so a wait may rely only on steps that the wait sees in every schedule:
//!
//! * A counter may only grow. A wait for `>= v` of it sees a step if the other steps, without those that come after
//!   that step, do not reach v. The same holds of the steps behind a reset (`st`) that comes after all earlier steps,
//!   before all later ones, and before the wait.
//! * Any other wait on a counter that is also set sees the steps up to the first value that lets the wait pass. Then every step
//!   must know of the step before.
//!
//! Two things make one run undecided ([`World::unordered`]): a later step that could come before a wait in another
//! schedule, and a value (`atom`, `ld`) that depends on the order.
//!
//! Released accesses become known to the agent that acquires them. A relaxed step releases what its agent had done at
//! its last `fence gpu`. What a relaxed wait saw is acquired at the agent's next `fence gpu` (PTX, release and acquire
//! patterns). Scopes must include both agents.

use crate::code::Code;
use crate::ir::{Binary, CounterAct, CounterRef, Instr, MemOrder, Op, Program, Scope, apply};

use super::order::{Epoch, RowId};
use super::vocabulary::{AgentId, Decision, Fault, WaitTarget};
use super::world::World;

/// Index of a counter of a world: one for every word of every declaration.
pub(super) type CounterIx = u32;

/// The memory semantics of an operation on a counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Semantics {
    pub(super) order: MemOrder,
    pub(super) scope: Scope,
}

/// One word of global memory that is used as a counter.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    pub(super) value: i64,
    /// The value before the steps that are kept.
    pub(super) base: i64,
    /// Steps that some user of the counter may not know of yet, oldest first.
    pub(super) steps: Vec<Step>,
    /// Waits that passed, and that a later step could have come before.
    pub(super) waits: Vec<PassedWait>,
}

/// A change of a counter.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) delta: i64,
    /// Whether the step replaced the value (`st`).
    pub(super) sets: bool,
    /// Whether the step's outcome depends on earlier steps (`st`, `atom`).
    pub(super) ordered: bool,
    pub(super) epoch: Epoch,
    pub(super) agent: AgentId,
    /// The number of the agent's `atom`, from 1; 0 for other steps.
    pub(super) number: u32,
    pub(super) pc: u32,
    /// What the step's agent knew, the step included.
    pub(super) knows: RowId,
    /// The row that the step releases.
    pub(super) releases: RowId,
    pub(super) scope: Scope,
}

/// A wait or a load that passed.
#[derive(Clone, Debug)]
pub(super) struct PassedWait {
    pub(super) epoch: Epoch,
    pub(super) pc: u32,
    /// Whether any later step must come after the wait.
    pub(super) exact: bool,
    /// The steps that the wait saw.
    pub(super) must: Vec<Epoch>,
}

/// For each declaration, whether every statement on the counter leaves its value or adds to the value.
pub(super) fn only_grow(prog: &Program) -> Vec<bool> {
    let mut list = vec![true; prog.counters.len()];
    for i in &prog.code {
        if let Instr::Op { op: Op::Counter { act, at, value, .. }, .. } = i {
            list[at.counter as usize] &= match act {
                CounterAct::Add | CounterAct::Fetch(_) => prog.launch_value(value).is_some_and(|v| v >= 0),
                CounterAct::Set => false,
                CounterAct::Load(_) | CounterAct::Wait(_) => true,
            };
        }
    }
    list
}

impl World<'_> {
    /// The word that an operation names. In a cell, the indices of one declaration may depend on the place of the CTA if
    /// all of them do so in the same way. The words of one CTA are then those of another, moved by one distance. No rule
    /// compares the numbers of words, and each word is 0 at the start (docs/proof.md, lemma 2).
    pub(super) fn counter_ix(&mut self, a: AgentId, at: &CounterRef) -> Result<CounterIx, Fault> {
        let number = self.placed(a, &at.index)?;
        let (index, len) = (number.v, self.prog.counters[at.counter as usize].len);
        self.judge(Decision::Fixed(index));
        if let Some(place) = &self.spec.place {
            let (lo, hi) = place.bounds(index, number.form);
            let form = *self.global.index_forms[at.counter as usize].get_or_insert(number.form);
            if form != number.form || lo < 0 || hi >= len as i64 {
                let apart = if number.form == 0 { form } else { number.form };
                place.fixed(self.agents[a].pc, index, apart);
            }
        }
        if index < 0 || index >= len as i64 {
            return Err(Fault::Word { counter: at.counter, index });
        }
        let before: u32 = self.prog.counters[..at.counter as usize].iter().map(|c| c.len).sum();
        Ok(before + index as u32)
    }

    /// `flags[2]`.
    pub(super) fn counter_name(&self, ix: CounterIx) -> String {
        let mut index = ix;
        for c in &self.prog.counters {
            if index < c.len {
                return if c.len > 1 { format!("{}[{index}]", c.name) } else { c.name.clone() };
            }
            index -= c.len;
        }
        String::new()
    }

    /// The declaration a counter belongs to.
    pub(super) fn counter_decl(&self, ix: CounterIx) -> u16 {
        let mut end = 0;
        let of = |c: &crate::ir::CounterDecl| {
            end += c.len;
            ix < end
        };
        self.prog.counters.iter().position(of).unwrap_or(0) as u16
    }

    /// The value of a counter.
    pub(super) fn counter_value(&self, ix: CounterIx) -> i64 {
        self.global.counters[ix as usize].value
    }

    /// The steps of a counter that are kept, by index.
    pub(super) fn counter_steps(&self, ix: CounterIx) -> std::ops::Range<usize> {
        0..self.global.counters[ix as usize].steps.len()
    }

    /// Whether a counter's value lets a wait pass.
    pub(super) fn satisfies(&self, value: i64, cmp: Binary, v: i64) -> bool {
        self.judge(Decision::Op(cmp, value, v));
        apply(cmp, value, v) == Some(1)
    }

    /// Whether an agent knows of a step.
    fn knows_of(&self, row: RowId, e: Epoch) -> bool {
        self.order.reached(row, e.comp) >= e.clock
    }

    /// The outcome of an agent's operation depends on which steps came before, so the agent must know of all steps. Of
    /// the first `atom` of agents, each order is decided (`atomic_order`).
    fn in_order(&mut self, a: AgentId, pc: u32, ix: CounterIx) {
        let row = self.spec.agent_row(a);
        let steps = self.global.counters[ix as usize].steps.iter().filter(|s| !self.knows_of(row, s.epoch));
        let before: Vec<(AgentId, u32)> = steps.map(|s| (s.agent, s.number)).collect();
        if !before.is_empty() && !self.global.atomics.meet(a, ix, &before, &self.prog.atomic_order) {
            self.results.note_unordered(a, pc, WaitTarget::Counter(ix));
        }
    }

    /// The same for an operation whose orders are not decided.
    pub(super) fn in_order_here(&mut self, a: AgentId, pc: u32, ix: CounterIx) {
        let row = self.spec.agent_row(a);
        if self.global.counters[ix as usize].steps.iter().any(|s| !self.knows_of(row, s.epoch)) {
            self.results.note_unordered(a, pc, WaitTarget::Counter(ix));
        }
    }

    /// Changes a counter.
    pub(super) fn change(&mut self, a: AgentId, pc: u32, ix: CounterIx, (new, act): (i64, CounterAct), how: Semantics) {
        let row = self.spec.agent_row(a);
        let (sets, ordered) = (act == CounterAct::Set, act != CounterAct::Add);
        let fetches = matches!(act, CounterAct::Fetch(_));
        if fetches {
            self.in_order(a, pc, ix);
        } else if ordered {
            self.in_order_here(a, pc, ix);
        }
        let c = &self.global.counters[ix as usize];
        let delta = new - c.value;
        let behind_ordered = fetches || c.steps.iter().all(|s| !s.ordered || self.knows_of(row, s.epoch));
        let behind_waits = c.waits.iter().all(|w| {
            // A step that comes after what the wait relies on cannot replace that.
            let behind = || w.must.iter().all(|e| self.knows_of(row, *e));
            self.knows_of(row, w.epoch) || !w.exact && !sets && delta >= 0 && behind()
        });
        if !behind_ordered || !behind_waits {
            self.results.note_unordered(a, pc, WaitTarget::Counter(ix));
        }
        // `red` returns nothing, so a fence behind a relaxed one acquires nothing.
        if how.order.acquires() || fetches {
            let all = (0..self.global.counters[ix as usize].steps.len()).collect();
            self.join_steps(a, ix, all, how);
        }
        let number = if fetches { self.global.atomics.fetched(a, ix, &self.prog.atomic_order) } else { 0 };
        if fetches {
            self.atomics_changed();
        }
        let epoch = self.own_access(a, pc).epoch;
        let knows = self.order.snapshot(row);
        let from = if how.order.releases() { row } else { self.spec.released_row(a) };
        let releases = self.order.snapshot(from);
        self.order.tick(row, a);
        let c = &mut self.global.counters[ix as usize];
        c.value = new;
        c.steps.push(Step { delta, sets, ordered, epoch, agent: a, number, pc, knows, releases, scope: how.scope });
        self.journal.changed(WaitTarget::Counter(ix));
    }

    /// The steps that a wait for a value sees in every schedule, and whether a later step must come after the wait.
    pub(super) fn must_see(&mut self, a: AgentId, pc: u32, ix: CounterIx, cmp: Binary, v: i64) -> (Vec<usize>, bool) {
        let c = &self.global.counters[ix as usize];
        let after = |d: &Step, s: &Step| self.knows_of(d.knows, s.epoch);
        let (start, base) = self.since_reset(a, c);
        let grows = c.steps[start..].iter().all(|s| !s.sets && s.delta >= 0);
        if grows && matches!(cmp, Binary::Ge | Binary::Eq) {
            let must = (start..c.steps.len()).filter(|i| {
                let s = &c.steps[*i];
                let others = (start..).zip(&c.steps[start..]).filter(|(j, d)| j != i && !after(d, s));
                let sum: i64 = base + others.map(|(_, d)| d.delta).sum::<i64>();
                self.satisfies(v, Binary::Gt, sum)
            });
            return (must.collect(), cmp == Binary::Eq);
        }
        // Every step knows of the step before, so the values follow each other in every schedule.
        let chain = c.steps.windows(2).all(|w| after(&w[1], &w[0]));
        let row = self.spec.agent_row(a);
        let known = c.steps.iter().take_while(|s| self.knows_of(row, s.epoch)).count();
        let value = |i: usize| c.base + c.steps[..i].iter().map(|s| s.delta).sum::<i64>();
        let passes = |i: &usize| self.satisfies(value(*i), cmp, v);
        // Where the order is open, the steps of this very order.
        let first = (known..=c.steps.len()).find(|i| chain && passes(i)).unwrap_or(c.steps.len());
        // A value that was set shows what its own step released.
        let start = c.steps[..first].iter().rposition(|s| s.sets).unwrap_or(0);
        let must = (start..first).collect();
        if !chain {
            self.results.note_unordered(a, pc, WaitTarget::Counter(ix));
        }
        (must, true)
    }

    /// The steps behind the last reset of a counter, and the value that the reset left. A reset is a `st` that comes after
    /// all earlier steps and before all later ones in every schedule. An agent that knows of the reset sees only the later
    /// ones.
    fn since_reset(&self, a: AgentId, c: &Counter) -> (usize, i64) {
        let row = self.spec.agent_row(a);
        let Some(reset) = c.steps.iter().rposition(|s| s.sets) else { return (0, c.base) };
        let set = &c.steps[reset];
        let behind = c.steps[..reset].iter().all(|s| self.knows_of(set.knows, s.epoch));
        let before = c.steps[reset + 1..].iter().all(|s| self.knows_of(s.knows, set.epoch));
        if behind && before && self.knows_of(row, set.epoch) {
            (reset + 1, c.base + c.steps[..=reset].iter().map(|s| s.delta).sum::<i64>())
        } else {
            (0, c.base)
        }
    }

    /// Completes a wait or load: the agent acquires what the operation saw.
    pub(super) fn see(
        &mut self,
        a: AgentId,
        pc: u32,
        ix: CounterIx,
        (must, exact): (Vec<usize>, bool),
        how: Semantics,
    ) {
        let epochs = must.iter().map(|i| self.global.counters[ix as usize].steps[*i].epoch).collect();
        self.join_steps(a, ix, must, how);
        let epoch = self.own_access(a, pc).epoch;
        self.global.counters[ix as usize].waits.push(PassedWait { epoch, pc, exact, must: epochs });
    }

    /// Joins what these steps release: now, or at the agent's next `fence gpu`.
    fn join_steps(&mut self, a: AgentId, ix: CounterIx, steps: Vec<usize>, how: Semantics) {
        let row = self.spec.agent_row(a);
        let into = if how.order.acquires() { row } else { self.spec.pending_row(a) };
        for i in steps {
            let s = &self.global.counters[ix as usize].steps[i];
            let (knows, releases) = (s.knows, s.releases);
            let sees = self.includes(s.scope, s.agent, a) && self.includes(how.scope, s.agent, a);
            self.order.follow(row, knows);
            if sees {
                self.order.join(into, releases);
            }
        }
    }

    /// Whether a scope includes two agents.
    fn includes(&self, scope: Scope, a: AgentId, b: AgentId) -> bool {
        match scope {
            Scope::Cta => self.spec.info[a as usize].cta == self.spec.info[b as usize].cta,
            Scope::Cluster => {
                !self.prog.cooperative || self.spec.info[a as usize].cta == self.spec.info[b as usize].cta
            }
            Scope::Gpu => true,
        }
    }

    /// `fence gpu`: the agent's next step releases what the agent did, and the agent acquires what it saw.
    pub(super) fn fence_gpu(&mut self, a: AgentId) {
        if self.global.counters.is_empty() {
            return;
        }
        let (row, released, pending) = (self.spec.agent_row(a), self.spec.released_row(a), self.spec.pending_row(a));
        self.order.join(row, pending);
        self.order.join(released, row);
        self.order.tick(row, a);
    }

    /// Drops steps and waits that every running user of the counter knows of.
    pub(super) fn forget_known(&mut self, ix: CounterIx) {
        if self.order.is_off() {
            return;
        }
        let live: Vec<RowId> = self.counter_users(ix).into_iter().map(|a| self.spec.agent_row(a)).collect();
        let mut c = std::mem::take(&mut self.global.counters[ix as usize]);
        let known = |e: Epoch| live.iter().all(|r| self.order.has(*r, e));
        let grows = self.spec.grows[self.counter_decl(ix) as usize];
        let old = c.steps.iter().take_while(|s| known(s.epoch)).count();
        c.waits.retain(|w| {
            // An agent that sets the counter must still come after the wait.
            let saw = grows && !w.exact && w.must.iter().all(|e| known(*e));
            !(saw || live.iter().all(|r| self.knows_of(*r, w.epoch)))
        });
        for s in c.steps.drain(..old) {
            c.base += s.delta;
            self.order.release(s.knows);
            self.order.release(s.releases);
        }
        self.global.counters[ix as usize] = c;
    }

    /// An access to global memory that is ordered in time only, with the missing step on the way.
    pub(super) fn flag_missing(&self) -> (Code, &'static str) {
        (
            Code::Scope,
            "a relaxed flag whose own thread executes no `fence gpu` (before a write, behind a read), one whose scope does not include both, or an arrival of CTA scope",
        )
    }
}
