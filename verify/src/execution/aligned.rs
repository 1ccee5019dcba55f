//! Turns that agents begin together.
//!
//! In which order agents go on is free (`canonical`), and some orders drift: who is ahead of whom at the head of a turn is the
//! same again after some turns of its own, which have nothing to do with what slots and barriers have come to. So where
//! states are to be back soon, nobody goes on in another turn of an outermost loop while somebody can in the one before.
//! Then all that a turn set going has come to its end when the next one begins, as far as the kernel lets it.

use std::sync::Arc;

use warpline_sim::ir::{Program, VarId};
use warpline_sim::protocol::{AgentId, World};

/// Agents of a run that begin turns together.
#[derive(Clone)]
pub(crate) struct AlignedTurns {
    /// For each instruction, the outermost loop that it is in, and the index of that.
    of: Arc<[Option<(u32, VarId)>]>,
    /// The turn that each agent is in.
    now: Vec<Option<(u32, i64)>>,
    /// Whether it has only begun it, and waits for the others.
    waits: Vec<bool>,
}

impl AlignedTurns {
    pub(crate) fn of(prog: &Program, agents: usize) -> AlignedTurns {
        let outermost = |pc: u32| prog.loops.iter().find(|l| (l.head..l.end).contains(&pc));
        let of = (0..prog.code.len()).map(|pc| outermost(pc as u32).and_then(|l| Some((l.head, l.index()?))));
        AlignedTurns { of: of.collect(), now: vec![None; agents], waits: vec![false; agents] }
    }

    /// Whether an agent that came to this instruction is in another turn than before: then it waits.
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

    /// Lets all go on who wait; whether anybody did.
    pub(crate) fn go_on(&mut self) -> bool {
        let any = self.waits.contains(&true);
        self.waits.fill(false);
        any
    }
}
