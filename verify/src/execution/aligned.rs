//! Aligned iterations: agents start each one together.
//!
//! Any order of agents is valid (`canonical`), but some orders drift: the relative progress of agents at the start of
//! an outer iteration then has a period of its own, independent of slots and barriers. Alignment prevents this, so that
//! states recur soon. No agent starts another iteration of an outermost loop while some agent can proceed in the
//! previous one. Then everything that an outer iteration started has ended before the next one starts, as far as the
//! kernel allows.
//!
//! The loops directly inside can be aligned too (`Landing::Steps`). Then no agent runs ahead by more than an iteration.
//! So a ring is in a steady state as soon as each slot was used, and short runs show the period.

use std::sync::Arc;

use warpline_sim::ir::{Instr, Loop, Program, VarId};
use warpline_sim::protocol::{AgentId, World};

/// A loop by its first instruction, with its index.
type Indexed = (u32, VarId);

/// An iteration: a loop by its first instruction, and the value of its index.
type Iteration = (u32, i64);

/// What an agent waits for before it continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// Nothing.
    No,
    /// Agents that can proceed in their iterations of an inner loop.
    Step,
    /// Agents that can proceed in their outer iterations.
    Turn,
}

/// The aligned agents of a run.
#[derive(Clone)]
pub(crate) struct AlignedTurns {
    /// For each instruction, the outermost loop around it, and the next loop inside that one where it is aligned.
    of: Arc<[[Option<Indexed>; 2]]>,
    /// First instructions of loops that start with an operation instead of their test: loops over jobs, with the place
    /// between jobs (`induction::jobs::kernels`).
    over_jobs: Arc<[u32]>,
    /// The iterations of each agent.
    now: Vec<[Option<Iteration>; 2]>,
    waits: Vec<Waits>,
}

impl AlignedTurns {
    /// The alignment of outer iterations, with `steps` also of the iterations of the loops directly inside.
    pub(crate) fn of(prog: &Program, agents: usize, steps: bool) -> AlignedTurns {
        let indexed = |l: &Loop| Some((l.head, l.index()?));
        let of = |pc: u32| {
            let mut around = prog.loops.iter().filter(|l| (l.head..l.end).contains(&pc));
            [around.next().and_then(indexed), around.next().filter(|_| steps).and_then(indexed)]
        };
        let of = (0..prog.code.len()).map(|pc| of(pc as u32)).collect();
        let marked = |head: &u32| matches!(prog.code.get(*head as usize), Some(Instr::Op { .. }));
        let over_jobs = prog.loops.iter().filter(|l| l.var.is_some()).map(|l| l.head).filter(marked).collect();
        AlignedTurns { of, over_jobs, now: vec![[None; 2]; agents], waits: vec![Waits::No; agents] }
    }

    /// Whether an agent at this instruction has started another iteration; it then waits.
    pub(crate) fn begins(&mut self, world: &World<'_>, agent: AgentId, pc: u32) -> bool {
        let now = self.of[pc as usize].map(|of| of.map(|(head, index)| (head, world.var(agent, index))));
        let [turn, step] = std::mem::replace(&mut self.now[agent as usize], now);
        self.waits[agent as usize] = match now {
            [Some(_), _] if now[0] != turn => Waits::Turn,
            [_, Some(_)] if now[1] != step => Waits::Step,
            _ => Waits::No,
        };
        self.rests(agent as usize)
    }

    /// Whether an agent waits.
    pub(crate) fn rests(&self, agent: usize) -> bool {
        self.waits[agent] != Waits::No
    }

    /// For each agent, whether it waits, and for what.
    pub(crate) fn waits(&self) -> impl Iterator<Item = u64> {
        self.waits.iter().map(|waits| *waits as u64)
    }

    /// Whether all agents in outer loops start one job. They do not where an agent waits in an inner loop, is still in an
    /// earlier job, or is in another outer loop.
    pub(crate) fn start_a_job(&self) -> bool {
        let inside = self.now.iter().zip(&self.waits).filter_map(|(now, waits)| Some((now[0]?, *waits)));
        let starts = |head: u32, waits: Waits| waits == Waits::Turn && self.over_jobs.contains(&head);
        let mut starting = inside.map(|((head, index), waits)| starts(head, waits).then_some(index));
        let Some(first @ Some(_)) = starting.next() else { return false };
        starting.all(|index| index == first)
    }

    /// Releases the agents that wait in inner loops, or all others where there are none. Returns whether there were
    /// any.
    pub(crate) fn go_on(&mut self) -> bool {
        let first = [Waits::Step, Waits::Turn].into_iter().find(|waits| self.waits.contains(waits));
        let released = self.waits.iter_mut().filter(|waits| Some(**waits) == first);
        released.for_each(|waits| *waits = Waits::No);
        first.is_some()
    }
}
