//! Aligned outer iterations: agents start each one together.
//!
//! Any order of agents is valid (`canonical`), but some orders drift: the relative progress of agents at the start of
//! an outer iteration then has a period of its own, independent of slots and barriers. Alignment prevents this, so that
//! states recur soon. No agent starts another iteration of an outermost loop while some agent can proceed in the
//! previous one. Then everything that an outer iteration started has ended before the next one starts, as far as the
//! kernel allows.

use std::sync::Arc;

use warpline_sim::ir::{Program, VarId};
use warpline_sim::protocol::{AgentId, World};

/// The aligned agents of a run.
#[derive(Clone)]
pub(crate) struct AlignedTurns {
    /// For each instruction, the outermost loop around it, with the loop's index.
    of: Arc<[Option<(u32, VarId)>]>,
    /// The outer iteration of each agent.
    now: Vec<Option<(u32, i64)>>,
    /// Whether each agent waits for the others at the start of its outer iteration.
    waits: Vec<bool>,
}

impl AlignedTurns {
    pub(crate) fn of(prog: &Program, agents: usize) -> AlignedTurns {
        let outermost = |pc: u32| prog.loops.iter().find(|l| (l.head..l.end).contains(&pc));
        let of = (0..prog.code.len()).map(|pc| outermost(pc as u32).and_then(|l| Some((l.head, l.index()?))));
        AlignedTurns { of: of.collect(), now: vec![None; agents], waits: vec![false; agents] }
    }

    /// Whether an agent at this instruction has started another outer iteration; it then waits.
    pub(crate) fn begins(&mut self, world: &World<'_>, agent: AgentId, pc: u32) -> bool {
        let now = self.of[pc as usize].map(|(head, index)| (head, world.var(agent, index)));
        let before = std::mem::replace(&mut self.now[agent as usize], now);
        let begins = now.is_some() && now != before;
        self.waits[agent as usize] = begins;
        begins
    }

    pub(crate) fn waits(&self) -> &[bool] {
        &self.waits
    }

    /// Releases all waiting agents. Returns whether there were any.
    pub(crate) fn go_on(&mut self) -> bool {
        let any = self.waits.contains(&true);
        self.waits.fill(false);
        any
    }
}
